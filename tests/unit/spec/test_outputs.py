"""Words for times, sizes, rates and volumes, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from secondface.errors import InvalidOption
from secondface.spec.outputs import Moment, Scale, VideoOutput, parse_rate, parse_volume


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("12.5", Fraction(25, 2)),
        ("0", Fraction(0)),
        ("00:01:02.500", Fraction(125, 2)),
        ("1:02", Fraction(62)),
        ("100:00:00", Fraction(360_000)),
        ("0.1", Fraction(1, 10)),
    ],
)
def test_times(text: str, seconds: Fraction) -> None:
    assert Moment.parse(text) == Moment(seconds=seconds)


def test_frames() -> None:
    assert Moment.parse("f120") == Moment.parse(" F120 ") == Moment(frame=120)
    assert str(Moment.parse("f120")) == "f120"


@pytest.mark.parametrize("text", ["", "f", "f-1", "-1", "1e3", "1:2:3:4", "1:60", "0:0:61", "nan", "12,5", "f1.5", "٣"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(InvalidOption, match="moment"):
        Moment.parse(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1280x720", (1280, 720)),
        ("-1x720", (1280, 720)),
        ("1280x-1", (1280, 720)),
        ("50%", (960, 540)),
        ("33.3%", (640, 360)),
        ("641X361", (641, 361)),
        ("-1x361", (642, 361)),
    ],
)
def test_sizes_of_full_hd(text: str, size: tuple[int, int]) -> None:
    assert Scale.parse(text).of(1920, 1080) == size


def test_worked_out_sides_are_even_and_never_nothing() -> None:
    assert Scale.parse("1%").of(64, 48) == (2, 2)
    assert Scale.parse("-1x100").of(333, 200) == (166, 100)


@pytest.mark.parametrize(
    "text", ["", "0x0", "-1x-1", "1280", "1280x", "0%", "900%", "50", "1x720", "99999x2", "-2x720"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InvalidOption, match="size"):
        Scale.parse(text)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("25", Fraction(25)),
        ("30000/1001", Fraction(30000, 1001)),
        ("29.97", Fraction(30000, 1001)),
        ("23.976", Fraction(24000, 1001)),
        ("59.94", Fraction(60000, 1001)),
        ("12.5", Fraction(25, 2)),
        ("1/2", Fraction(1, 2)),
    ],
)
def test_rates_are_exact(text: str, rate: Fraction) -> None:
    assert parse_rate(text) == rate
    assert VideoOutput.model_validate({"rate": text}).rate == rate


@pytest.mark.parametrize("text", ["", "0", "-25", "25/0", "1001", "fast", "1/0", "30000/1001/2", "inf"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(InvalidOption, match="rate"):
        parse_rate(text)


def test_volumes() -> None:
    assert [parse_volume(text) for text in ("1", "0.5", "50%", "0", "200%")] == [
        1,
        Fraction(1, 2),
        Fraction(1, 2),
        0,
        2,
    ]
    for text in ("loud", "-1", "17", "%"):
        with pytest.raises(InvalidOption, match="volume"):
            parse_volume(text)


def test_an_output_survives_json() -> None:
    made = VideoOutput.model_validate({"rate": "29.97", "scale": "50%", "begin": "f3", "end": "2.5", "volume": "50%"})
    assert VideoOutput.model_validate_json(made.model_dump_json()) == made
