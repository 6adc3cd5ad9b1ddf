"""Gaps are runs of frames without a swap, and stay few however long the video is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from secondface.pipeline.tally import MAX_GAPS, FaceTally


@given(faces=st.lists(st.integers(0, 2), max_size=200))
def test_gaps_and_counts_tell_the_same_story(faces: list[int]) -> None:
    tally = FaceTally()
    for index, number in enumerate(faces):
        tally.swapped(index, number)
    assert tally.faces_swapped == sum(faces)
    assert tally.swapped_frames == sum(number > 0 for number in faces)
    in_gaps = [index for first, last in tally.gaps for index in range(first, last + 1)]
    empty = [index for index, number in enumerate(faces) if number == 0]
    assert in_gaps == empty[: len(in_gaps)]
    assert len(tally.gaps) <= MAX_GAPS
    if len(tally.gaps) < MAX_GAPS:
        assert in_gaps == empty
