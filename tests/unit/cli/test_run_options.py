"""From the options of `run` to the request."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from secondface.cli.run import RunOptions, request_of
from secondface.errors import InvalidOption, OutputExists
from secondface.settings import Settings
from secondface.spec.schemas import RunRequest

NOTHING: dict[str, Any] = {
    "source": ("a.jpg",), "target": "t.mp4", "output": "o.mp4", "faces": "auto", "mapping": (), "same_person": False,
    "allow_no_face": False, "restore": None, "pipeline": None, "shape": None, "label": None, "acknowledge": None,
    "codec": None, "crf": None, "preset": None, "quality": None, "lossless": False, "device": None, "tier": None,
    "market": None, "yes": False, "quiet": False, "json": False,
}  # fmt: skip


def request(**options: Any) -> RunRequest:
    return request_of(cast("RunOptions", NOTHING | options), Settings())


def steps(made: RunRequest) -> list[tuple[str, dict[str, object]]]:
    return [(step.name, step.parameters.model_dump(exclude_defaults=True)) for step in made.plan().steps]


def test_plain_options() -> None:
    made = request()
    assert [person.images for person in made.sources] == [(Path("a.jpg"),)]
    assert made.restore == "auto"
    assert [name for name, _ in steps(made)] == ["analyse", "face_swap", "face_restore", "label", "metadata"]
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
    made = request_of(cast("RunOptions", NOTHING), Settings(restore="off", label="zh", max_faces=2, max_megapixels=9))
    assert ("label", {"languages": "zh"}) in steps(made)
    assert (made.restore, made.limits.max_faces, made.limits.max_pixels) == ("off", 2, 9_000_000)


def test_the_output_cannot_be_an_input() -> None:
    with pytest.raises(OutputExists):
        request(output="t.mp4")
