"""The same from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import secondface as library
from secondface.errors import BadRequest, Cancelled, InvalidOption, NoFaceInTarget, OutputNotWritable
from tests.scenarios.conftest import World


class Now:
    """A wish to stop that is there from the beginning."""

    @staticmethod
    def is_set() -> bool:
        return True


def same_but_for_the_watermark(first: np.ndarray, second: np.ndarray) -> bool:
    """Each run has an id of its own in its watermark, which moves a pixel by two levels at most."""
    return bool(np.abs(first.astype(np.int16) - second.astype(np.int16)).max() <= 4)


def test_swap_takes_paths_and_arrays_alike(secondface: World) -> None:
    from_paths = library.swap(secondface.person_a, str(secondface.person_b))
    pixels = [np.asarray(Image.open(path).convert("RGB")) for path in (secondface.person_a, secondface.person_b)]
    from_arrays = library.swap(pixels[0], pixels[1])
    assert from_paths.shape == pixels[1].shape
    assert same_but_for_the_watermark(from_paths, from_arrays)
    assert np.array_equal(pixels[1], np.asarray(Image.open(secondface.person_b).convert("RGB"))), "the input changed"


def test_swap_raises_our_errors() -> None:
    nobody = np.full((200, 200, 3), 90, np.uint8)
    with pytest.raises(NoFaceInTarget):
        library.swap(World.person_a, nobody)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        5,
        b"a.jpg",
        *(np.zeros(shape, np.uint8) for shape in ((64, 64), (64, 64, 4), (1, 64, 64, 3), (0, 64, 3))),
        np.zeros((64, 64, 3), np.float32),
        np.zeros((64, 64, 3), np.uint16),
    ],
)
def test_swap_says_what_a_picture_is(wrong: object) -> None:
    for source, target in ((wrong, World.person_b), (World.person_a, wrong)):
        with pytest.raises(InvalidOption, match="RGB array"):
            library.swap(source, target)  # type: ignore[arg-type]


def test_words_that_are_no_options() -> None:
    for words in ({"restor": "off"}, {"device": "gpu"}):
        with pytest.raises(InvalidOption, match=r"restor|gpu"):
            library.swap(World.person_a, World.person_b, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [
        {"source": None},
        {"source": b"a.jpg"},
        {"source": [None]},
        {"source": np.zeros((64, 64, 3), np.uint8)},
        {"target": None},
        {"target": b"t.mp4"},
        {"target": 5},
        {"output": None},
        {"faces": 0},
        {"faces": ["largest"]},
        {"mapping": "person_a.jpg=0"},
        {"mapping": [0]},
        {"mapping": 7},
        {"pipeline": 5},
        {"label": "zh"},
        {"restore": "much"},
        {"video": {"rate": "fast"}},
        {"still": 1},
        {"limits": {"max_faces": 0}},
        {"device": ["cpu"]},
        {"on_progress": 5},
        {"cancel": True},
        {"restor": "off"},
    ],
    ids=str,
)
def test_run_says_which_word_is_wrong(words: dict[str, object], tmp_path: Path) -> None:
    given: dict[str, object] = {"source": World.person_a, "target": World.clip, "output": tmp_path / "out.mp4"} | words
    with pytest.raises(BadRequest) as refused:
        library.run(**given)  # type: ignore[arg-type]
    assert refused.value.detail
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [{"faces": 0}, {"restore": 2}, {"label": 5}, {"pipeline": 5}, {"device": 5}, {"mapping": ["0=0"]}], ids=str
)
def test_swap_says_which_word_is_wrong(words: dict[str, object]) -> None:
    with pytest.raises(InvalidOption):
        library.swap(World.person_a, World.person_b, **words)  # type: ignore[arg-type]


def test_run_takes_paths_and_texts_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    library.run(World.person_a, World.person_b, tmp_path / "path.png", restore="off")
    library.run([str(World.person_a)], str(World.person_b), "text.png", restore="off")
    first, second = (np.asarray(Image.open(tmp_path / name)) for name in ("path.png", "text.png"))
    assert same_but_for_the_watermark(first, second)


def test_run_reports_and_tells_progress(tmp_path: Path) -> None:
    told: list[int] = []
    report = library.run(
        World.person_a, World.clip, tmp_path / "out.mp4", on_progress=lambda progress: told.append(progress.done)
    )
    assert report.frames == report.swapped_frames == told[-1] == 60
    assert told == sorted(told)


def test_run_can_be_stopped_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        library.run(World.person_a, World.clip, tmp_path / "out.mp4", cancel=Now())
    assert list(tmp_path.iterdir()) == []


def test_run_looks_at_the_output_first(tmp_path: Path) -> None:
    with pytest.raises(OutputNotWritable):
        library.run(World.person_a, World.clip, tmp_path / "gone" / "out.mp4")
