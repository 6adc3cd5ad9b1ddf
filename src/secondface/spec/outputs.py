"""How an output is written: codec, quality, size, frame rate, the part that is kept, sound; and the words for them.

Decides what the words mean, exactly: 29.97 is 30000/1001. Must not open a file nor know an encoder.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from secondface.errors import InvalidOption

MAX_SIDE = 16_384
MAX_RATE = 1_000
_NTSC = {"23.976": 24, "23.98": 24, "29.97": 30, "47.952": 48, "47.95": 48, "59.94": 60, "119.88": 120}
"""Decimal names of rates that are in truth a whole number times 1000/1001."""
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d(?:\.\d{1,9})?)", re.ASCII)
_FRAME = re.compile(r"f(\d{1,9})", re.ASCII)
_SIDE = re.compile(r"-1|\d{1,5}", re.ASCII)
_RATIO = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Moment(_Value):
    """A place in a video: seconds from its start, or the number of a frame."""

    seconds: Fraction | None = Field(default=None, ge=0)
    frame: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_way(self) -> Moment:
        if (self.seconds is None) == (self.frame is None):
            raise InvalidOption("A moment is a time in seconds or the number of a frame.")
        return self

    @classmethod
    def parse(cls, text: str) -> Moment:
        """Read `12.5`, `01:02.5`, `00:01:02.500` or `f120`. Raises InvalidOption."""
        word = text.strip().lower()
        if frame := _FRAME.fullmatch(word):
            return cls(frame=int(frame[1]))
        if _NUMBER.fullmatch(word):
            return cls(seconds=Fraction(word))
        if clock := _CLOCK.fullmatch(word):
            hours, minutes, seconds = clock.groups()
            return cls(seconds=int(hours or 0) * 3600 + int(minutes) * 60 + Fraction(seconds))
        raise InvalidOption(f"{text!r} is no moment: write seconds (12.5), a time (00:01:02.500) or a frame (f120).")

    def __str__(self) -> str:
        return f"f{self.frame}" if self.frame is not None else f"{float(self.seconds or 0):g}"


class Scale(_Value):
    """The size of the output: both sides, one side with the other in proportion, or a share of the input."""

    width: int | None = Field(default=None, ge=2, le=MAX_SIDE)
    height: int | None = Field(default=None, ge=2, le=MAX_SIDE)
    percent: Fraction | None = Field(default=None, gt=0, le=800)

    @model_validator(mode="after")
    def _one_way(self) -> Scale:
        if (self.percent is None) == (self.width is None and self.height is None):
            raise InvalidOption("A size is one or two sides in pixels, or a percentage.")
        return self

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read `1280x720`, `-1x720`, `1280x-1` or `50%`. Raises InvalidOption."""
        word = text.strip().lower().replace("×", "x")
        percent, sides = word.removesuffix("%"), word.split("x")
        if word != percent and _NUMBER.fullmatch(percent) and 0 < Fraction(percent) <= 800:
            return cls(percent=Fraction(percent))
        if len(sides) == 2 and sides != ["-1", "-1"] and all(map(_is_side, sides)):
            width, height = (None if side == "-1" else int(side) for side in sides)
            return cls(width=width, height=height)
        raise InvalidOption(
            f"{text!r} is no size: write 1280x720, -1x720 (the width in proportion) or 50%; sides go to {MAX_SIDE}."
        )

    def of(self, width: int, height: int) -> tuple[int, int]:
        """Width and height for an input of that size; sides that are worked out are even, as most codecs want them."""
        if self.percent is not None:
            return _even(width * self.percent / 100), _even(height * self.percent / 100)
        if self.width is None:
            return _even(Fraction((self.height or 0) * width, height)), self.height or 0
        return self.width, self.height or _even(Fraction(self.width * height, width))


def _is_side(word: str) -> bool:
    return word == "-1" or (_SIDE.fullmatch(word) is not None and 2 <= int(word) <= MAX_SIDE)


def _even(side: Fraction) -> int:
    return max(2, round(side / 2) * 2)


def parse_rate(text: object) -> Fraction:
    """Read frames a second: `25`, `29.97` (30000/1001) or `30000/1001`. Raises InvalidOption."""
    word = str(text).strip()
    rate = Fraction(0)
    if word in _NTSC:
        rate = Fraction(_NTSC[word] * 1000, 1001)
    elif (ratio := _RATIO.fullmatch(word)) and int(ratio[2]):
        rate = Fraction(int(ratio[1]), int(ratio[2]))
    elif _NUMBER.fullmatch(word):
        rate = Fraction(word)
    if not 0 < rate <= MAX_RATE:
        raise InvalidOption(f"{word!r} is no frame rate: write 25, 29.97 or 30000/1001, at most {MAX_RATE}.")
    return rate


def parse_volume(text: object) -> Fraction:
    """Read how loud the sound is: `1` as it is, `0.5` or `50%` half. Raises InvalidOption."""
    word = str(text).strip()
    number = word.removesuffix("%")
    volume = Fraction(-1)
    if _NUMBER.fullmatch(number):
        volume = Fraction(number) / (1 if number == word else 100)
    elif (ratio := _RATIO.fullmatch(word)) and int(ratio[2]):
        volume = Fraction(int(ratio[1]), int(ratio[2]))
    if not 0 <= volume <= 16:
        raise InvalidOption(f"{word!r} is no volume: write 1 for unchanged, 0.5 or 50% for half; 16 is the most.")
    return volume


def _from_words(kind: type[Moment | Scale]) -> BeforeValidator:
    return BeforeValidator(lambda given: kind.parse(given) if isinstance(given, str) else given)


_Rate = Annotated[
    Fraction, BeforeValidator(lambda given: parse_rate(given) if isinstance(given, str | int | float) else given)
]
_Volume = Annotated[
    Fraction, BeforeValidator(lambda given: parse_volume(given) if isinstance(given, str | int | float) else given)
]


class VideoOutput(_Value):
    """How a video is cut and encoded; empty fields are chosen by the container and the input."""

    codec: Literal["h264", "hevc", "vp9", "av1"] | None = None
    encoder: str | None = Field(
        default=None, max_length=32, pattern=r"^[a-z0-9_\-]+$", description="An encoder by FFmpeg's name: h264_nvenc."
    )
    decoder: str | None = Field(
        default=None, max_length=32, pattern=r"^[a-z0-9_\-]+$", description="A decoder by FFmpeg's name: h264_cuvid."
    )
    quality: int | None = Field(
        default=None, ge=0, le=63, description="Constant quality: smaller is better and larger."
    )
    preset: str | None = Field(
        default=None, max_length=32, pattern=r"^[a-z0-9_\-]+$", description="The encoder's speed preset."
    )
    rate: _Rate | None = Field(default=None, description="Constant frames a second, resampled in time: 30000/1001.")
    scale: Annotated[Scale, _from_words(Scale)] | None = Field(default=None, description="1280x720, -1x720 or 50%.")
    begin: Annotated[Moment, _from_words(Moment)] | None = Field(default=None, description="12.5, 00:01:02.5 or f120.")
    end: Annotated[Moment, _from_words(Moment)] | None = Field(default=None, description="The first moment left out.")
    audio: bool = Field(default=True, description="Whether sound is kept.")
    volume: _Volume | None = Field(default=None, description="1 is unchanged; sound is then encoded again.")
    depth: Literal[8, 10] | None = Field(default=None, description="Bits a sample; empty: those of the input.")
    hdr: Literal["keep", "sdr"] = Field(default="keep", description="sdr turns HDR into ordinary colours.")

    @model_validator(mode="after")
    def _consistent(self) -> VideoOutput:
        begin, end = self.begin, self.end
        if begin and end:
            for low, high in ((begin.seconds, end.seconds), (begin.frame, end.frame)):
                if low is not None and high is not None and low >= high:
                    raise InvalidOption(f"Nothing lies from {begin} to {end}: the end must come after the beginning.")
        if not self.audio and self.volume is not None:
            raise InvalidOption("A volume belongs to sound, but audio=off leaves it out.")
        return self


class StillOutput(_Value):
    """How a picture is encoded."""

    quality: int | None = Field(default=None, ge=1, le=100)
    lossless: bool = False
