"""From the options of `run` to the request."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest

from secondface.cli.run_options import RunOptions, request_of
from secondface.errors import InvalidOption, OutputExists
from secondface.settings import Settings
from secondface.spec.schemas import RunRequest

NOTHING: dict[str, Any] = {
    "source": ("a.jpg",), "target": ("t.mp4",), "output": "o.mp4", "faces": "auto", "mapping": (), "same_person": False,
    "allow_no_face": False, "restore": None, "pipeline": None, "shape": None, "label": None, "acknowledge": None,
    "max_faces": None, "begin": None, "end": None, "rate": None, "scale": None, "codec": None, "encoder": None,
    "decoder": None, "quality": None, "preset": None, "depth": None, "hdr": None, "audio": None, "volume": None,
    "still_quality": None, "lossless": False, "keep_metadata": False, "device": None, "tier": None, "market": None,
    "yes": False, "quiet": False, "json": False,
}  # fmt: skip


def request(**options: Any) -> RunRequest:
    given = NOTHING | options
    return request_of(cast("RunOptions", given), Settings(), given["target"][0], given["output"])


def steps(made: RunRequest) -> list[tuple[str, dict[str, object]]]:
    return [(step.name, step.parameters.model_dump(exclude_defaults=True)) for step in made.plan().steps]


def test_plain_options() -> None:
    made = request()
    assert [person.images for person in made.sources] == [(Path("a.jpg"),)]
    assert made.restore == "auto"
    marks = ["label", "watermark", "metadata"]
    assert [name for name, _ in steps(made)] == ["analyse", "face_swap", "face_restore", *marks]
    assert made.limits.max_pixels is None


def test_same_person_combines_the_pictures() -> None:
    made = request(source=("a.jpg", "b.jpg"), same_person=True)
    assert [person.images for person in made.sources] == [(Path("a.jpg"), Path("b.jpg"))]


def test_shape_is_the_default_pipeline_with_a_parameter() -> None:
    assert ("face_swap", {"shape": 0.3}) in steps(request(shape=0.3))
    assert ("face_restore", {"strength": 0.5}) in steps(request(shape=0.3, restore="0.5"))
    assert "face_restore" not in dict(steps(request(shape=0.3, restore="off")))


@pytest.mark.parametrize(("word", "value"), [("off", "off"), ("auto", "auto"), ("0.25", 0.25), ("1", 1.0)])
def test_restore_words(word: str, value: str | float) -> None:
    assert request(restore=word).restore == value


@pytest.mark.parametrize(
    "options",
    [
        {"restore": "much"},
        {"restore": "2"},
        {"label": "off"},
        {"label": "zh", "acknowledge": "me"},
        {"acknowledge": "me"},
        {"shape": 0.5, "pipeline": "face_swap"},
        {"restore": "1", "pipeline": "face_swap"},
        {"shape": 0.5, "source": ()},
    ],
)
def test_what_does_not_fit_together_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        request(**options)


def test_the_label_can_be_off_with_an_acknowledgement() -> None:
    made = request(label="off", acknowledge="The player shows it.")
    assert made.plan().label_waiver == "The player shows it."
    assert [name for name, _ in steps(made)][-1] == "metadata"


@pytest.mark.parametrize(("word", "languages"), [("zh", "zh"), ("en", "en"), ("both", "zh+en"), (None, "zh+en")])
def test_label_languages(word: str | None, languages: str) -> None:
    assert ("label", {} if languages == "zh+en" else {"languages": languages}) in steps(request(label=word))


def test_a_pipeline_keeps_its_own_label_unless_told_otherwise() -> None:
    assert request(pipeline="face_swap").label is None
    assert ("label", {"languages": "en"}) in steps(request(pipeline="face_swap", label="en"))


def test_settings_give_the_defaults() -> None:
    settings = Settings(restore="off", label="zh", max_faces=2, max_megapixels=9)
    made = request_of(cast("RunOptions", NOTHING), settings, "t.mp4", "o.mp4")
    assert ("label", {"languages": "zh"}) in steps(made)
    assert (made.restore, made.limits.max_faces, made.limits.max_pixels) == ("off", 2, 9_000_000)


def test_what_was_not_said_about_video_is_left_to_the_media() -> None:
    assert request().video.model_fields_set == set()
    assert request().still.model_fields_set == {"quality", "lossless"}


def test_words_about_video() -> None:
    made = request(rate="29.97", scale="50%", begin="1:02.5", end="f2000", audio="off", depth="10", quality="20").video
    assert made.rate == Fraction(30000, 1001)
    assert made.scale is not None
    assert made.scale.of(1280, 720) == (640, 360)
    assert (str(made.begin), str(made.end)) == ("62.5", "f2000")
    assert (made.audio, made.depth, made.quality) == (False, 10, 20)


@pytest.mark.parametrize(
    "options",
    [
        {"rate": "fast"}, {"scale": "720p"}, {"begin": "later"}, {"begin": "5", "end": "4"}, {"audio": "loud"},
        {"volume": "-1"}, {"volume": "2", "audio": "off"}, {"depth": "12"}, {"hdr": "no"}, {"quality": "good"},
        {"quality": "64"}, {"codec": "divx"}, {"encoder": "h264 -y"}, {"preset": "../fast"}, {"still_quality": "0"},
        {"max_faces": 0},
    ],
)  # fmt: skip
def test_wrong_words_about_the_output_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        request(**options)


def test_the_output_cannot_be_an_input() -> None:
    with pytest.raises(OutputExists):
        request(output="t.mp4")
