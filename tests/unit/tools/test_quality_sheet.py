"""The sheet of figures: what is marked, how pictures are laid out, and what happens without the sample media."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tools.quality_sheet.__main__ import main
from tools.quality_sheet.cases import HARD_PAIRS, PAIRS
from tools.quality_sheet.entries import Entry, Sheet, head, joined
from tools.quality_sheet.figures import Figure, PairMeasure, median_identity
from tools.quality_sheet.page import write_page
from tools.quality_sheet.picture import draw

GOOD = {
    "id_output_source": 0.3, "id_output_target": 0.6, "mouth_change": 0.0, "eye_r_change": 0.0, "eye_l_change": 0.0,
    "yaw_change": 0.0, "seam_ratio": 1.0, "tone_delta_lab": 1.0, "face_px": 200,
}  # fmt: skip


def failing(measure: PairMeasure, *, judged: bool = True) -> list[str]:
    return [row.name for row in measure.rows(judged=judged) if row.holds is False]


@pytest.mark.parametrize(
    ("changed", "stray", "names"),
    [
        ({}, 0, []),
        ({"mouth_change": 0.02, "seam_ratio": 1.1, "yaw_change": 0.03}, 0, []),
        ({"mouth_change": 0.021}, 0, ["mouth_change"]),
        ({"id_output_source": 0.61}, 0, ["id_output_source"]),
        ({"tone_delta_lab": 3.2, "seam_ratio": 1.2}, 0, ["seam_ratio", "tone_delta_lab"]),
        ({}, 1, ["stray pixels"]),
    ],
)
def test_a_figure_is_marked_when_it_is_outside_its_bound(
    changed: dict[str, float], stray: int, names: list[str]
) -> None:
    measure = PairMeasure({**GOOD, **changed}, stray)
    assert failing(measure) == names
    assert failing(measure, judged=False) == []


def test_an_output_without_a_face_fails() -> None:
    assert failing(PairMeasure({"face_in_target": 1, "face_in_output": 0}, 0)) == ["face in output"]


def test_the_median_is_over_all_pairs() -> None:
    pairs = [PairMeasure({**GOOD, "id_output_source": value}, 0) for value in (0.1, 0.41, 0.9)]
    assert median_identity(pairs) == Figure("median id_output_source", "0.410", "<= 0.42", True)


def test_there_are_enough_different_pairs() -> None:
    assert len(set(PAIRS)) == len(PAIRS) >= 16
    assert not set(PAIRS) & set(HARD_PAIRS)


def test_a_head_at_the_edge_is_cut_out_square() -> None:
    mesh = np.random.default_rng(0).uniform(0, 60, (478, 3)).astype(np.float32)
    rgb = np.full((100, 80, 3), 200, np.uint8)
    for shift in (0, 50, -40):
        crop = head(rgb, mesh + np.float32(shift), 64)
        assert crop.shape == (64, 64, 3)
    assert (head(rgb, mesh - np.float32(40), 64)[0, 0] == 128).all()


def test_the_sheet_is_written_with_what_fails(tmp_path: Path) -> None:
    (tmp_path / "crops").mkdir()
    shown = tuple(np.full((64, 64, 3), level, np.uint8) for level in (10, 120, 240))
    figures = (Figure("a < b", "1", "<= 2", True), Figure("seam_ratio", "9", "<= 1.1", False), Figure("plain", "5"))
    entry = Entry("one > two", "glasses & <hat>", (shown,), figures, tmp_path / "pairs" / "out.png")
    sheet = Sheet((Figure("median", "0.4", "<= 0.42", True),), (("Pairs", (entry, entry)), ("Clips", ())))
    assert sheet.failing == ["one > two: seam_ratio 9 (<= 1.1)"] * 2
    draw(sheet, tmp_path / "sheet.png")
    write_page(sheet, tmp_path)
    with Image.open(tmp_path / "sheet.png") as picture:
        colours = picture.convert("RGB").getcolors(1 << 20) or []
        assert picture.width > 1500
    assert (200, 0, 0) in {colour for _, colour in colours}
    page = (tmp_path / "index.html").read_text()
    assert "glasses &amp; &lt;hat&gt;" in page
    assert page.count("class='bad'") == 2
    assert len(list((tmp_path / "crops").iterdir())) == 2


def test_rows_of_pictures_are_put_under_each_other() -> None:
    square = np.zeros((10, 10, 3), np.uint8)
    assert joined([[square, square], [square]], gap=2).shape == (22, 22, 3)


def test_without_sample_media_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["quality_sheet", "--shared", str(tmp_path), "--out", str(tmp_path / "out")])
    assert main() == 0
    assert str(tmp_path) in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
