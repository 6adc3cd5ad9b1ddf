"""Pictures of two fields become pictures of one moment.

Decides how (bwdif, one picture out for each one in) and that each keeps its own time; pictures that say they are
progressive pass untouched. Must not know containers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import av
import av.error
from av.filter import Graph

NOTE = "interlaced: deinterlaced, one picture for each"
_TICK = Fraction(1, 1000)
"""The filter wants times that rise; it gets a count of its own, for a file's may be missing or stand still."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the filter does not hand through as it was."""

    pts: int | None
    dts: int | None
    duration: int
    time_base: Fraction | None
    colours: tuple[int, int, int, int]

    @staticmethod
    def of(picture: av.VideoFrame) -> _Kept:
        colours = (picture.colorspace, picture.color_range, picture.color_primaries, picture.color_trc)
        return _Kept(picture.pts, picture.dts, picture.duration, picture.time_base, colours)

    def onto(self, picture: av.VideoFrame) -> av.VideoFrame:
        picture.time_base = cast("Fraction", self.time_base)
        picture.pts, picture.dts, picture.duration = self.pts, self.dts, self.duration
        (picture.colorspace, picture.color_range, picture.color_primaries, picture.color_trc) = self.colours
        return picture


class Deinterlacer:
    """One run of pictures through the filter, which is made anew when their size or format changes."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._shape: tuple[int, int, str] | None = None
        self._waiting: deque[_Kept] = deque()
        self._count = 0

    def feed(self, pictures: Iterable[av.VideoFrame]) -> Iterator[av.VideoFrame]:
        """All of `pictures`, in order; memory holds three at most."""
        for picture in pictures:
            shape = (picture.width, picture.height, picture.format.name)
            if shape != self._shape:
                yield from self._flush()
                self._graph, self._shape = self._filter(picture), shape
            self._waiting.append(_Kept.of(picture))
            picture.pts, picture.time_base = self._count, _TICK
            self._count += 1
            assert self._graph is not None
            self._graph.vpush(picture)
            yield from self._ready()
        yield from self._flush()

    def _flush(self) -> Iterator[av.VideoFrame]:
        if self._graph is not None:
            self._graph.vpush(None)
            yield from self._ready()

    def _ready(self) -> Iterator[av.VideoFrame]:
        assert self._graph is not None
        while self._waiting:
            try:
                picture = self._graph.vpull()
            except (av.error.BlockingIOError, av.error.EOFError):
                return
            yield self._waiting.popleft().onto(picture)

    @staticmethod
    def _filter(picture: av.VideoFrame) -> Graph:
        graph = Graph()
        source = graph.add_buffer(
            width=picture.width, height=picture.height, format=picture.format, time_base=_TICK
        )  # fmt: skip
        graph.link_nodes(source, graph.add("bwdif", "send_frame:auto:interlaced"), graph.add("buffersink")).configure()
        return graph
