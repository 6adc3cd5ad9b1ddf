"""Animations in and out: every frame, its delay, its alpha and the loop, through every pair of formats."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from secondface.errors import EncodeFailed, MediaCorrupt, MediaTooLarge, OutputFormatUnsupported, SecondfaceError
from secondface.media.animation_output import AnimationWriter
from secondface.media.animations import AnimationReader, is_animation
from secondface.media.limits import Limits
from secondface.media.png_chunks import SIGNATURE, chunk, chunks
from secondface.media.still_frames import StillFrame
from secondface.media.still_output import StillOptions

SIZE = (64, 48)
DELAYS_MS = (40, 120, 70, 1000)
ENDINGS = ("gif", "webp", "png")


def pictures(count: int = 4, *, colours: int = 6) -> list[np.ndarray]:
    """A few flat colours and a square that moves, so that GIF can hold every pixel as it is."""
    found: list[np.ndarray] = []
    for index in range(count):
        rgb = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
        for band in range(colours):
            rgb[:, band * 11 : band * 11 + 11] = (40 * band, 255 - 40 * band, 90)
        rgb[10:26, 6 + 9 * index : 22 + 9 * index] = (250, 250 - 30 * index, 10)
        found.append(rgb)
    return found


def holes(index: int) -> np.ndarray:
    """Alpha whose hole moves: what was opaque becomes clear again."""
    alpha = np.full((SIZE[1], SIZE[0]), 255, np.uint8)
    alpha[30:44, 4 + 12 * index : 20 + 12 * index] = 0
    return alpha


def write(path: Path, frames: list[StillFrame], delays: tuple[int, ...] = DELAYS_MS, plays: int = 0) -> None:
    with AnimationWriter(path, SIZE, plays, StillOptions(lossless=path.suffix == ".webp")) as writer:
        for frame, delay in zip(frames, delays, strict=True):
            writer.write(frame, Fraction(delay, 1000))
        writer.close()


def frames_of(with_alpha: bool = False, count: int = 4) -> list[StillFrame]:
    return [
        StillFrame(rgb, holes(index) if with_alpha else None, index=index) for index, rgb in enumerate(pictures(count))
    ]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("with_alpha", [False, True])
def test_what_is_written_is_read_back(tmp_path: Path, ending: str, with_alpha: bool) -> None:
    frames = frames_of(with_alpha)
    path = tmp_path / f"a.{ending}"
    write(path, frames, plays=3)
    assert is_animation(path, Limits())
    reader = AnimationReader(path)
    assert reader.timing.delays == tuple(Fraction(delay, 1000) for delay in DELAYS_MS)
    assert reader.timing.plays == 3
    assert (reader.info.width, reader.info.height, reader.info.frame_count) == (*SIZE, 4)
    assert reader.info.duration == Fraction(sum(DELAYS_MS), 1000)
    found = list(reader.frames())
    assert [frame.index for frame in found] == [0, 1, 2, 3]
    times = [(frame.pts or 0) * frame.time_base for frame in found]
    assert times == [Fraction(ms, 1000) for ms in (0, 40, 160, 230)]
    for frame, wanted in zip(found, frames, strict=True):
        assert (frame.alpha is not None) == with_alpha
        shown = np.ones(SIZE[::-1], bool)
        if frame.alpha is not None and wanted.alpha is not None:
            np.testing.assert_array_equal(frame.alpha, wanted.alpha)
            shown = wanted.alpha > 0
        np.testing.assert_array_equal(frame.rgb[shown], wanted.rgb[shown])


@pytest.mark.parametrize("ending", ENDINGS)
def test_pillow_sees_the_same_as_we_do(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    write(path, frames_of(with_alpha=True))
    with Image.open(path) as picture:
        assert getattr(picture, "n_frames", 1) == 4
        assert picture.info.get("loop", 0) == 0
        for index, rgb in enumerate(pictures()):
            picture.seek(index)
            layers = np.asarray(picture.convert("RGBA"))
            assert picture.info["duration"] == DELAYS_MS[index] if ending != "webp" else True
            shown = holes(index) > 0
            np.testing.assert_array_equal(layers[..., 3] > 0, shown)
            np.testing.assert_array_equal(layers[..., :3][shown], rgb[shown])


@pytest.mark.parametrize("plays", [0, 1, 2, 7])
@pytest.mark.parametrize("ending", ENDINGS)
def test_loops_are_counted_alike_in_all_formats(tmp_path: Path, ending: str, plays: int) -> None:
    write(tmp_path / f"a.{ending}", frames_of(), plays=plays)
    assert AnimationReader(tmp_path / f"a.{ending}").timing.plays == plays


def test_delays_that_a_format_cannot_say_do_not_drift(tmp_path: Path) -> None:
    count = 30
    frames = [StillFrame(rgb, index=k) for k, rgb in enumerate(pictures(4) * 8)][:count]
    for ending, tick in (("gif", Fraction(1, 100)), ("webp", Fraction(1, 1000)), ("png", Fraction(0))):
        with AnimationWriter(tmp_path / f"a.{ending}", SIZE, 0) as writer:
            for frame in frames:
                writer.write(frame, Fraction(1001, 30000))
            writer.close()
        delays = AnimationReader(tmp_path / f"a.{ending}").timing.delays
        assert abs(sum(delays) - count * Fraction(1001, 30000)) <= tick / 2
        assert all(abs(delay - Fraction(1001, 30000)) <= tick for delay in delays)


def test_frames_that_do_not_change_still_count(tmp_path: Path) -> None:
    same = [StillFrame(pictures(1)[0], index=index) for index in range(4)]
    for ending in ENDINGS:
        write(tmp_path / f"a.{ending}", same)
        reader = AnimationReader(tmp_path / f"a.{ending}")
        assert len(list(reader.frames())) == 4
        assert reader.timing.delays == tuple(Fraction(delay, 1000) for delay in DELAYS_MS)


@pytest.mark.parametrize("disposal", [0, 1, 2, 3])
def test_disposal_of_gif_is_obeyed(tmp_path: Path, disposal: int) -> None:
    """A square on a clear ground, twice in other places: what stays of the first depends on the disposal."""
    layers: list[Image.Image] = []
    for left in (0, 20, 40):
        picture = Image.new("RGBA", SIZE, (0, 0, 0, 0))
        picture.paste((255, 0, 0, 255), (left, 8, left + 16, 24))
        layers.append(picture)
    path = tmp_path / "a.gif"
    layers[0].save(path, save_all=True, append_images=layers[1:], duration=100, disposal=disposal, optimize=False)
    with Image.open(path) as picture:
        for index, frame in enumerate(AnimationReader(path).frames()):
            picture.seek(index)
            expected = np.asarray(picture.convert("RGBA"))
            alpha = np.full(SIZE[::-1], 255) if frame.alpha is None else frame.alpha
            np.testing.assert_array_equal(alpha, expected[..., 3])
            np.testing.assert_array_equal(frame.rgb[alpha > 0], expected[..., :3][alpha > 0])
    last = list(AnimationReader(path).frames())[-1]
    assert last.alpha is not None and last.alpha[10, 42] == 255
    write(tmp_path / "b.gif", list(AnimationReader(path).frames()), (100, 100, 100))
    for before, after in zip(
        AnimationReader(path).frames(), AnimationReader(tmp_path / "b.gif").frames(), strict=True
    ):  # fmt: skip
        np.testing.assert_array_equal(before.alpha, after.alpha)


def test_hasty_gifs_are_paced_as_browsers_do_but_keep_what_they_say(tmp_path: Path) -> None:
    write(tmp_path / "a.gif", frames_of(), (0, 10, 20, 50))
    reader = AnimationReader(tmp_path / "a.gif")
    assert reader.timing.delays == (0, Fraction(1, 100), Fraction(2, 100), Fraction(5, 100))
    times = [(frame.pts or 0) * frame.time_base for frame in reader.frames()]
    assert times == [0, Fraction(1, 10), Fraction(2, 10), Fraction(22, 100)]


def test_a_picture_that_is_not_part_of_the_animation_is_left_out(tmp_path: Path) -> None:
    cover = Image.fromarray(np.full((SIZE[1], SIZE[0], 3), 7, np.uint8))
    frames = [Image.fromarray(rgb) for rgb in pictures()]
    path = tmp_path / "a.png"
    cover.save(path, save_all=True, append_images=frames, default_image=True, duration=list(DELAYS_MS), loop=2)
    reader = AnimationReader(path)
    assert reader.info.notes == ("the picture that does not belong to the animation is left out",)
    assert reader.timing.plays == 2
    assert reader.timing.delays == tuple(Fraction(delay, 1000) for delay in DELAYS_MS)
    for frame, rgb in zip(reader.frames(), pictures(), strict=True):
        np.testing.assert_array_equal(frame.rgb, rgb)


def test_an_apng_of_16_bit_gray_is_toned_not_cut(tmp_path: Path) -> None:
    ramp = np.repeat(np.linspace(0, 65535, SIZE[0]).astype(np.uint16)[None], SIZE[1], 0)
    rows = zlib.compress(b"".join(b"\0" + row.astype(">u2").tobytes() for row in ramp))
    control = struct.pack(">IIIIHHBB", *SIZE, 0, 0, 1, 10, 0, 0)
    parts = [
        chunk(b"IHDR", struct.pack(">IIBBBBB", *SIZE, 16, 0, 0, 0, 0)), chunk(b"acTL", struct.pack(">II", 2, 0)),
        chunk(b"fcTL", bytes(4) + control), chunk(b"IDAT", rows),
        chunk(b"fcTL", struct.pack(">I", 1) + control), chunk(b"fdAT", struct.pack(">I", 2) + rows),
        chunk(b"IEND", b""),
    ]  # fmt: skip
    (tmp_path / "a.png").write_bytes(SIGNATURE + b"".join(parts))
    for frame in AnimationReader(tmp_path / "a.png").frames():
        assert np.abs(frame.rgb[..., 0].astype(int) - (ramp.astype(int) + 128) // 257).max() <= 1


def test_lossy_webp_with_alpha(tmp_path: Path) -> None:
    layers = [Image.fromarray(np.dstack([rgb, holes(k)])) for k, rgb in enumerate(pictures())]
    path = tmp_path / "a.webp"
    layers[0].save(path, save_all=True, append_images=layers[1:], duration=list(DELAYS_MS), quality=90, loop=1)
    reader = AnimationReader(path)
    assert reader.timing.plays == 1
    for index, frame in enumerate(reader.frames()):
        assert frame.alpha is not None
        np.testing.assert_array_equal(frame.alpha, holes(index))
    with AnimationWriter(tmp_path / "b.webp", SIZE, reader.timing.plays) as writer:
        for frame, delay in zip(reader.frames(), reader.timing.delays, strict=True):
            writer.write(frame, delay)
        writer.close()
    again = AnimationReader(tmp_path / "b.webp")
    assert again.timing == reader.timing
    for before, after in zip(reader.frames(), again.frames(), strict=True):
        np.testing.assert_array_equal(before.alpha, after.alpha)
        assert before.alpha is not None
        difference = np.abs(before.rgb[before.alpha > 0].astype(int) - after.rgb[before.alpha > 0])
        assert difference.mean() < 6


def test_avif_sequences_are_read(tmp_path: Path) -> None:
    frames = [Image.fromarray(rgb) for rgb in pictures()]
    path = tmp_path / "a.avif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=list(DELAYS_MS), quality=95)
    reader = AnimationReader(path)
    assert reader.timing.delays == tuple(Fraction(delay, 1000) for delay in DELAYS_MS)
    for frame, rgb in zip(reader.frames(), pictures(), strict=True):
        assert np.abs(frame.rgb.astype(int) - rgb).mean() < 8


def test_a_gif_keeps_what_does_not_change_to_the_pixel(tmp_path: Path) -> None:
    """Many colours inside one region, few outside: the region may be approximated, the rest may not move at all."""
    noise = np.random.default_rng(2)
    frames: list[StillFrame] = []
    for index in range(4):
        rgb = pictures(1)[0].copy()
        rgb[8:40, 20:60] = noise.integers(0, 256, (32, 40, 3), np.uint8)
        frames.append(StillFrame(rgb, index=index))
    write(tmp_path / "a.gif", frames)
    first: np.ndarray | None = None
    for frame in AnimationReader(tmp_path / "a.gif").frames():
        outside = frame.rgb.copy()
        outside[8:40, 20:60] = 0
        first = outside if first is None else first
        np.testing.assert_array_equal(outside, first)
    assert first is not None
    plain = pictures(1)[0].copy()
    plain[8:40, 20:60] = 0
    assert np.abs(first.astype(int) - plain).max() <= 40


@pytest.mark.parametrize("ending", ENDINGS)
def test_memory_does_not_grow_with_length(tmp_path: Path, ending: str) -> None:
    def peak(count: int) -> int:
        rng = np.random.default_rng(1)
        tracemalloc.start()
        with AnimationWriter(tmp_path / f"{count}.{ending}", (160, 120), 0) as writer:
            for index in range(count):
                writer.write(StillFrame(rng.integers(0, 256, (120, 160, 3), np.uint8), index=index), Fraction(1, 20))
            writer.close()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)  # what is loaded once
    assert peak(40) < 1.3 * peak(8) + 100_000


def test_refusals(tmp_path: Path) -> None:
    write(tmp_path / "a.gif", frames_of())
    with pytest.raises(OutputFormatUnsupported):
        AnimationWriter(tmp_path / "a.jpg", SIZE, 0)
    with pytest.raises(MediaTooLarge):
        AnimationReader(tmp_path / "a.gif", Limits(still_pixels=100))
    Image.fromarray(pictures(1)[0]).save(tmp_path / "still.png")
    assert not is_animation(tmp_path / "still.png", Limits())
    with pytest.raises(MediaCorrupt):
        AnimationReader(tmp_path / "still.png")
    with AnimationWriter(tmp_path / "gone.webp", SIZE, 0) as writer:
        writer.write(frames_of()[0], Fraction(1, 10))
    assert not (tmp_path / "gone.webp").exists() and len(list(tmp_path.glob("*gone*"))) == 0
    with AnimationWriter(tmp_path / "none.png", SIZE, 0) as writer, pytest.raises(EncodeFailed):
        writer.close()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_cut_file_fails_with_an_error_of_ours(tmp_path: Path, ending: str) -> None:
    write(tmp_path / f"a.{ending}", frames_of())
    content = (tmp_path / f"a.{ending}").read_bytes()
    for share in (0.3, 0.6, 0.9):
        (tmp_path / f"b.{ending}").write_bytes(content[: int(len(content) * share)])
        try:
            assert len(list(AnimationReader(tmp_path / f"b.{ending}").frames())) < 4
        except SecondfaceError as error:
            assert f"b.{ending}" in str(error)


def test_an_apng_is_laid_out_as_the_standard_says(tmp_path: Path) -> None:
    write(tmp_path / "a.png", frames_of(), plays=5)
    with (tmp_path / "a.png").open("rb") as file:
        found = list(chunks(file))
    kinds = [each.kind for each in found]
    assert kinds[:4] == [b"IHDR", b"acTL", b"fcTL", b"IDAT"] and kinds[-1] == b"IEND"
    assert struct.unpack(">II", found[1].body) == (4, 5)
    content = io.BytesIO((tmp_path / "a.png").read_bytes()).getvalue()
    numbers: list[int] = []
    at = 8
    while at < len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        body = content[at + 8 : at + 8 + size]
        assert content[at : at + 12 + size] == chunk(kind, body)
        if kind in (b"fcTL", b"fdAT"):
            numbers.append(int.from_bytes(body[:4], "big"))
        at += 12 + size
    assert numbers == list(range(len(numbers)))
