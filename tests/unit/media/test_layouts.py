from __future__ import annotations

from typing import Literal

import av
import pytest

from secondface.media.layouts import Family, layout_of, stand_in


@pytest.mark.parametrize("name", ["yuv420p", "yuvj422p", "yuv440p10le", "yuv411p", "yuv410p", "yuva444p12le", "gray",
                                  "gray10le", "gbrp", "gbrap10le", "yuv420p16le"])  # fmt: skip
def test_layouts_agree_with_ffmpeg(name: str) -> None:
    found, known = layout_of(name), av.VideoFormat(name)
    assert found is not None
    assert found.plane_count == len(known.components)
    assert found.depth == known.components[0].bits
    assert found.plane_size(0, 641, 361) == (641, 361)
    if found.family == "yuv":
        assert found.plane_size(1, 641, 361) == (known.chroma_width(641), known.chroma_height(361))


@pytest.mark.parametrize("name", ["nv12", "rgb24", "pal8", "yuyv422", "yuv420p10be", "rgb48le", "monow", "p010le"])
def test_other_formats_are_not_taken_for_planes(name: str) -> None:
    assert layout_of(name) is None


@pytest.mark.parametrize(
    ("family", "depth", "shifts", "expected"),
    [("yuv", 8, (1, 1), "yuv420p"), ("yuv", 10, (1, 0), "yuv422p10le"), ("rgb", 2, (0, 0), "gbrp"),
     ("rgb", 32, (0, 0), "gbrp16le"), ("gray", 1, (0, 0), "gray"), ("gray", 11, (0, 0), "gray12le"),
     ("yuv", 8, (2, 0), "yuv411p")],
)  # fmt: skip
def test_stand_ins_lose_nothing(family: Family, depth: int, shifts: tuple[int, int], expected: str) -> None:
    assert stand_in(family, depth, *shifts).name == expected


@pytest.mark.parametrize("depth", [8, 10])
@pytest.mark.parametrize("name", ["yuv420p", "yuvj422p", "yuv444p12le", "yuv411p", "gray16le", "gbrp9le", "yuva420p"])
def test_another_depth_keeps_the_planes(name: str, depth: Literal[8, 10]) -> None:
    before = layout_of(name)
    assert before is not None
    after = before.at_depth(depth)
    assert after.depth == depth
    assert (after.family, after.shift_x, after.shift_y, after.alpha) == (
        before.family, before.shift_x, before.shift_y, before.alpha,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "tag", "full"),
    [("yuv420p", 0, False), ("yuv420p", 2, True), ("yuvj420p", 0, True), ("gray", 0, True), ("gray", 1, False),
     ("gbrp", 0, True)],
)  # fmt: skip
def test_untagged_range_is_what_players_take(name: str, tag: int, full: bool) -> None:
    found = layout_of(name)
    assert found is not None
    assert found.is_full_range(tag) is full


@pytest.mark.parametrize(
    ("name", "turned"),
    [("yuv420p", "yuv420p"), ("yuv422p", "yuv440p"), ("yuv440p10le", "yuv422p10le"), ("yuv411p", None)],
)
def test_a_quarter_turn_swaps_the_subsampling(name: str, turned: str | None) -> None:
    found = layout_of(name)
    assert found is not None
    after = found.turned()
    assert (after.name if after else None) == turned
