from __future__ import annotations

import av
import pytest

from secondface.media.layouts import layout_of, stand_in


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
    ("name", "depth", "is_rgb", "expected"),
    [("nv12", 8, False, "yuv420p"), ("p010le", 10, False, "yuv420p10le"), ("pal8", 8, True, "gbrp"),
     ("rgb48le", 16, True, "gbrp12le"), ("vuya", 8, False, "yuv444p")],
)  # fmt: skip
def test_stand_ins_lose_least(name: str, depth: int, is_rgb: bool, expected: str) -> None:
    assert stand_in(name, depth, is_rgb).name == expected


@pytest.mark.parametrize(
    ("name", "turned"),
    [("yuv420p", "yuv420p"), ("yuv422p", "yuv440p"), ("yuv440p10le", "yuv422p10le"), ("yuv411p", None)],
)
def test_a_quarter_turn_swaps_the_subsampling(name: str, turned: str | None) -> None:
    found = layout_of(name)
    assert found is not None
    after = found.turned()
    assert (after.name if after else None) == turned
