from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import av
import numpy as np

from secondface.media.deinterlace import Deinterlacer

BASE = Fraction(1, 12800)


def combed(index: int, *, size: tuple[int, int] = (64, 48)) -> av.VideoFrame:
    """A bright bar that moves from field to field; its time is uneven."""
    luma = np.full((size[1], size[0]), 40, np.uint8)
    left = 4 * index
    luma[0::2, left : left + 8] = luma[1::2, left + 2 : left + 10] = 200
    picture = av.VideoFrame(*size, "yuv420p")
    for plane, values in zip(picture.planes, (luma, luma[::2, ::2] * 0 + 128, luma[::2, ::2] * 0 + 128), strict=True):
        view = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)  # type: ignore[arg-type]
        view[:, : values.shape[1]] = values
    picture.pts, picture.time_base, picture.duration = 100 * index * index, BASE, 77
    picture.colorspace, picture.color_trc = 1, 1
    return picture


def flagged(pictures: list[av.VideoFrame]) -> Iterator[av.VideoFrame]:
    """What an encoder and a decoder make of `pictures`: the flag of fields can only be set by a bitstream."""
    encoder = av.CodecContext.create("mpeg2video", "w")
    encoder.width, encoder.height, encoder.pix_fmt = pictures[0].width, pictures[0].height, "yuv420p"  # type: ignore[attr-defined]
    encoder.time_base, encoder.options = Fraction(1, 25), {"flags": "+ilme+ildct", "qscale": "1", "bf": "0"}
    encoder.bit_rate = 8_000_000
    decoder = av.CodecContext.create("mpeg2video", "r")
    decoded: list[av.VideoFrame] = []
    for index, picture in enumerate([*pictures, None]):
        if picture is not None:
            picture.pts, picture.time_base = index, Fraction(1, 25)
        for packet in encoder.encode(picture):  # type: ignore[attr-defined]
            decoded.extend(decoder.decode(packet))  # type: ignore[attr-defined]
    decoded.extend(decoder.decode(None))  # type: ignore[attr-defined]
    for index, picture in enumerate(decoded):
        picture.pts, picture.time_base, picture.duration = 100 * index * index, BASE, 77
        yield picture


def combing(picture: av.VideoFrame) -> float:
    """How much each line differs from the mean of its neighbours."""
    luma = picture.to_ndarray(format="gray").astype(float)
    return float(np.abs(luma[1:-1] - (luma[:-2] + luma[2:]) / 2).mean())


def test_fields_become_pictures_one_for_one_at_their_own_times() -> None:
    pictures = list(flagged([combed(index) for index in range(8)]))
    assert all(picture.interlaced_frame for picture in pictures)
    before = [combing(picture) for picture in pictures]
    whole = list(Deinterlacer().feed(iter(pictures)))
    assert [(each.pts, each.time_base, each.duration) for each in whole] == [
        (100 * index * index, BASE, 77) for index in range(8)
    ]
    assert not any(each.interlaced_frame for each in whole)
    assert max(map(combing, whole)) < 0.1 * min(before)


def test_a_single_picture_comes_out() -> None:
    assert len(list(Deinterlacer().feed(flagged([combed(0)])))) == 1


def test_progressive_pictures_pass_untouched() -> None:
    pictures = [combed(index) for index in range(4)]
    wanted = [picture.to_ndarray() for picture in pictures]
    for picture, expected in zip(Deinterlacer().feed(pictures), wanted, strict=True):
        np.testing.assert_array_equal(picture.to_ndarray(), expected)
        assert (picture.colorspace, picture.color_trc) == (1, 1)


def test_a_change_of_size_loses_no_picture() -> None:
    pictures = [*flagged([combed(index) for index in range(3)]),
                *flagged([combed(index, size=(80, 64)) for index in range(3)])]  # fmt: skip
    assert [each.width for each in Deinterlacer().feed(pictures)] == [64] * 3 + [80] * 3
