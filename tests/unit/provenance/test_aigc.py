"""The AIGC label: seven values of visible ASCII, no invented producer, and foreign labels read without harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import InvalidSetting
from secondface.provenance.aigc import KEYS, AigcLabel

VISIBLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40)


def test_the_json_holds_the_seven_keys_in_order_without_blanks() -> None:
    text = AigcLabel(content_producer="91110000ABCDEFGH1X000000001", produce_id="run-42").to_json()
    assert list(json.loads(text)) == list(KEYS)
    assert json.loads(text)["Label"] == "1"
    assert all("\x21" <= letter <= "\x7e" for letter in text)


def test_an_unset_producer_is_empty_not_invented() -> None:
    assert json.loads(AigcLabel(produce_id="run-42").to_json())["ContentProducer"] == ""


@pytest.mark.parametrize("producer", ["Some Company", "某公司", "tab\there", "new\nline", "nul\x00", "x" * 513])
def test_values_with_spaces_or_beyond_ascii_are_refused(producer: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        AigcLabel(content_producer=producer)
    assert caught.value.facts["key"] == "ContentProducer"


@given(VISIBLE, VISIBLE, VISIBLE)
def test_what_was_written_is_read_back(producer: str, run: str, code: str) -> None:
    label = AigcLabel(content_producer=producer, produce_id=run, reserved_code1=code)
    assert AigcLabel.from_json(label.to_json()) == label


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[]", "null", "1", "{}", '{"Label":1}', '{"Label":""}', '{"Label":"1","ProduceID":["x"]}',
     '{"Label":"1","ContentProducer":"two words"}', "[" * 5000, '{"Label":"' + "1" * 9000 + '"}', '{"Label":"1"'],
)  # fmt: skip
def test_a_broken_label_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ValueError, match="AIGC label"):
        AigcLabel.from_json(text)


@given(st.text(max_size=200))
def test_no_text_does_worse_than_a_value_error(text: str) -> None:
    try:
        AigcLabel.from_json(text)
    except ValueError as error:
        assert "AIGC label" in str(error)


def test_another_producers_label_with_more_fields_is_read() -> None:
    label = AigcLabel.from_json('{"Label":"2","ContentProducer":"other","Extra":[1,2]}')
    assert (label.label, label.content_producer, label.produce_id) == ("2", "other", "")
