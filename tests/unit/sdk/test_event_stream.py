"""Bytes to events, whatever the pieces are cut like."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondface.sdk.event_stream import EventReader, Message

TEXT = b'retry: 1000\n\nid: 1\nevent: job.accepted\ndata: {"a": 1}\n\n: still here\n\nid: 2\rdata: b\r\ndata: c\r\n\r\n'
MESSAGES = [Message("1", "job.accepted", '{"a": 1}'), Message("2", "message", "b\nc")]


@given(st.lists(st.integers(0, len(TEXT)), max_size=12))
def test_the_same_messages_however_the_stream_is_cut(cuts: list[int]) -> None:
    reader, places = EventReader(), [0, *sorted(cuts), len(TEXT)]
    found = [message for a, b in pairwise(places) for message in reader.feed(TEXT[a:b])]
    assert found == MESSAGES


def test_a_message_that_is_not_finished_is_not_told() -> None:
    assert EventReader().feed(b"id: 3\ndata: half\n") == []


def test_endless_lines_are_refused() -> None:
    reader = EventReader()
    with pytest.raises(ValueError, match="too long"):
        for _ in range(64):
            reader.feed(b"x" * 65_536)
