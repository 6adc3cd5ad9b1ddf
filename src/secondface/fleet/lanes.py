"""Calls between a caged process and its worker: short words over a socket, arrays in memory that both see.

Decides where arrays lie and what a call may hold; both ends use this module. A lane is used by one call at a time.
"""

from __future__ import annotations

import fcntl
import json
import math
import mmap
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from secondface.errors import ModelFailed
from secondface.frames import RGB8

MOST_LANES = 6
"""Model calls of one run at once; a stage that works side by side has at most four threads."""
TAKEN_BYTES = 16 << 20
GIVEN_BYTES = 48 << 20
_LANE_BYTES = TAKEN_BYTES + GIVEN_BYTES
MOST_WORDS_BYTES = 1 << 16
_ALIGNED = 64
_MOST_SIDES = 8
Shape: TypeAlias = tuple[int, ...]


def shared_memory() -> int:
    """A descriptor of memory for all lanes, which neither end can make shorter under the other. Raises OSError."""
    descriptor = os.memfd_create("lanes", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(descriptor, MOST_LANES * _LANE_BYTES)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class Arena:
    """The memory as one end sees it."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, MOST_LANES * _LANE_BYTES)
        self._bytes = np.frombuffer(self._memory, np.uint8)

    def write(self, lane: int, arrays: Mapping[str, npt.NDArray[np.generic]], *, given: bool) -> list[list[Any]]:
        """Copy arrays into a lane's part for what is `given` back, or taken; names and shapes. Raises ModelFailed."""
        shapes = [[name, list(array.shape)] for name, array in arrays.items()]
        try:
            for place, array in zip(self.read(lane, shapes, given=given).values(), arrays.values(), strict=True):
                np.copyto(place, array, casting="equiv")
        except TypeError as cause:
            raise ModelFailed(f"arrays of models are float32: {cause}") from cause
        return shapes

    def read(self, lane: int, shapes: Sequence[Sequence[Any]], *, given: bool) -> dict[str, npt.NDArray[np.float32]]:
        """The arrays of those names and shapes as they lie there, not copied. Raises ModelFailed."""
        places = self._places(lane, [sides for _, sides in shapes], 4, given=given)
        return {
            str(name): place.view(np.float32).reshape(shape)
            for (name, _), (place, shape) in zip(shapes, places, strict=True)
        }

    def write_pictures(self, lane: int, pictures: Sequence[RGB8]) -> list[list[int]]:
        """Copy pictures into a lane's part for what is taken; their shapes. Raises ModelFailed."""
        shapes = [list(picture.shape) for picture in pictures]
        for (place, shape), picture in zip(self._places(lane, shapes, 1), pictures, strict=True):
            place.reshape(shape)[...] = picture
        return shapes

    def read_pictures(self, lane: int, shapes: Sequence[object]) -> list[RGB8]:
        """Copies of pictures of those shapes. Raises ModelFailed."""
        return [place.reshape(shape).copy() for place, shape in self._places(lane, shapes, 1)]

    def _places(
        self, lane: int, shapes: Sequence[object], item_bytes: int, *, given: bool = False
    ) -> Iterator[tuple[npt.NDArray[np.uint8], Shape]]:
        """Where arrays of those shapes lie, one behind the other. Raises ModelFailed."""
        begin = lane * _LANE_BYTES + (TAKEN_BYTES if given else 0)
        end = begin + (GIVEN_BYTES if given else TAKEN_BYTES)
        for sides in shapes:
            shape = _checked_shape(sides)
            stop = begin + item_bytes * math.prod(shape)
            if stop > end:
                raise ModelFailed(f"an array of {stop - begin} bytes is larger than the room for it")
            yield self._bytes[begin:stop], shape
            begin = -(-stop // _ALIGNED) * _ALIGNED


def _checked_shape(sides: object) -> Shape:
    """Sides as whole numbers; the other end may say anything."""
    if not isinstance(sides, list) or len(sides) > _MOST_SIDES:  # pyright: ignore[reportUnknownArgumentType]
        raise ModelFailed("a shape is a list of up to eight sides")
    found: list[int] = []
    for side in sides:  # pyright: ignore[reportUnknownVariableType]
        if type(side) is not int or not 0 <= side <= GIVEN_BYTES:  # pyright: ignore[reportUnknownArgumentType]
            raise ModelFailed("a side is a whole number that fits")
        found.append(side)
    return tuple(found)


def send(descriptor: int, words: object) -> None:
    """One message. By write(2), for the calls that belong to sockets are refused inside of a cage. Raises OSError."""
    os.write(descriptor, json.dumps(words, default=str).encode())


def received(descriptor: int) -> Any:
    """The next message, or None when the other end is gone. Raises ValueError for what is no message."""
    try:
        content = os.read(descriptor, MOST_WORDS_BYTES)
    except ConnectionResetError:
        return None
    try:
        return json.loads(content) if content else None
    except RecursionError as error:
        raise ValueError("a message is nested too deeply") from error


def hang_up(descriptor: int) -> None:
    """End a lane, whoever still holds its other end: nobody waits at it any more. The descriptor stays its owner's."""
    lane = socket.socket(fileno=descriptor)
    try:
        with suppress(OSError):
            lane.shutdown(socket.SHUT_RDWR)
    finally:
        lane.detach()
