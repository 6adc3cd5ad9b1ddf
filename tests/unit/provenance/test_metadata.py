"""What an output is to carry and what a finished file is found to hold."""

import pickle

import pytest

from secondface.errors import InvalidSetting, MarkMissing
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.metadata import metadata_marks, read_marks, require_marks
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE, TC260

MARKS = metadata_marks("run-42", "example-studio")


def test_a_still_carries_both_marks_in_its_packet() -> None:
    found = read_marks(MARKS.xmp, {})
    assert found.label == AigcLabel(content_producer="example-studio", produce_id="run-42")
    assert found.digital_source_type == DIGITAL_SOURCE_TYPE
    assert found.problems == ()
    assert found.says_ai_made
    require_marks(found, MARKS, is_still=True)


def test_a_video_carries_the_label_as_a_tag_in_any_case_or_with_a_prefix() -> None:
    for key in ("AIGC", "aigc", "com.example.AIGC"):
        require_marks(read_marks(None, {"title": "x", key: MARKS.tags["AIGC"]}), MARKS, is_still=False)


def test_an_unmarked_file_says_nothing() -> None:
    found = read_marks(None, {"title": "holiday"})
    assert not found.says_ai_made
    with pytest.raises(MarkMissing, match="AIGC label is missing"):
        require_marks(found, MARKS, is_still=False)


def test_two_labels_are_one_too_many() -> None:
    found = read_marks(MARKS.xmp, MARKS.tags)
    assert found.problems == ("2 AIGC labels where one belongs",)
    with pytest.raises(MarkMissing, match="where one belongs"):
        require_marks(found, MARKS, is_still=True)


def test_another_runs_label_is_not_ours() -> None:
    with pytest.raises(MarkMissing):
        require_marks(read_marks(metadata_marks("run-41").xmp, {}), MARKS, is_still=True)


def test_a_still_needs_the_source_type_too() -> None:
    packet = MARKS.xmp.replace(b"compositeWithTrained", b"digitalArtTrained")
    with pytest.raises(MarkMissing, match="digital source type") as caught:
        require_marks(read_marks(packet, {}), MARKS, is_still=True)
    assert pickle.loads(pickle.dumps(caught.value)).facts == caught.value.facts


@pytest.mark.parametrize("packet", [b"garbage", f'<x xmlns:T="{TC260}"><T:AIGC>{{</T:AIGC></x>'.encode()])
def test_damage_is_reported_not_raised(packet: bytes) -> None:
    found = read_marks(packet, {})
    assert found.label is None
    assert len(found.problems) == 1


def test_a_producer_with_a_space_is_refused_before_the_run() -> None:
    with pytest.raises(InvalidSetting):
        metadata_marks("run-42", "two words")
