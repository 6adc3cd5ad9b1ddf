"""The invisible watermark: how good pictures stay, what it survives, what is imagined, what it costs.

At least 30 pictures (portraits, formats, and pictures made here) and the six clips of the sample media. Usage:
    python -m bench.watermark [--frames 60] [--unmarked 5000] [--encoders h264_23 hevc_28]
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, cast

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.video.stream import VideoStream

from bench.clips import MEDIA, sample
from bench.tables import machine, told
from secondface.errors import SecondfaceError
from secondface.frames import RGB8
from secondface.media.images import read_still
from secondface.vision.watermark import STILL, VIDEO, Watermark, WatermarkReader, find

Grey = npt.NDArray[np.uint8]
LEAST_PSNR_DB = 43.0
MOST_MS = 8.0
LEAST_SIDE = 256
"""Smaller pictures may lose it; the run says so then."""
IDENTITY = 0x5EC0_0DFA_CE00_0000
ENCODERS: Mapping[str, tuple[str, dict[str, str]]] = {
    "h264_18": ("libx264", {"crf": "18", "preset": "veryfast"}),
    "h264_23": ("libx264", {"crf": "23", "preset": "medium"}),
    "h264_28": ("libx264", {"crf": "28", "preset": "medium"}),
    "hevc_28": ("libx265", {"crf": "28", "preset": "fast", "x265-params": "log-level=none"}),
    "av1_35": ("libsvtav1", {"crf": "35", "preset": "8"}),
}


def grey(rgb: RGB8) -> Grey:
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), np.uint8)


def _coded(suffix: str, setting: int, quality: int) -> Callable[[RGB8], RGB8]:
    def change(rgb: RGB8) -> RGB8:
        _, content = cv2.imencode(suffix, rgb[:, :, ::-1], [setting, quality])
        return np.asarray(cv2.imdecode(content, cv2.IMREAD_COLOR), np.uint8)[:, :, ::-1].copy()

    return change


def _halved(rgb: RGB8) -> RGB8:
    height, width = rgb.shape[:2]
    half = cv2.resize(rgb, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(half, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def _cropped(rgb: RGB8) -> RGB8:
    height, width = rgb.shape[:2]
    return np.ascontiguousarray(rgb[height // 20 : height - height // 20, width // 20 : width - width // 20])


CHANGES: Mapping[str, Callable[[RGB8], RGB8]] = {
    "as written": lambda rgb: rgb,
    "JPEG q90": _coded(".jpg", cv2.IMWRITE_JPEG_QUALITY, 90),
    "JPEG q75": _coded(".jpg", cv2.IMWRITE_JPEG_QUALITY, 75),
    "JPEG q50": _coded(".jpg", cv2.IMWRITE_JPEG_QUALITY, 50),
    "WebP q75": _coded(".webp", cv2.IMWRITE_WEBP_QUALITY, 75),
    "half and back": _halved,
    "10 % crop": _cropped,
    "mirror": lambda rgb: np.ascontiguousarray(rgb[:, ::-1]),
}


def pictures() -> Iterator[tuple[str, RGB8]]:
    """Every still of the sample media that can be read, and of the synthetic portraits darker and turned ones."""
    for folder in ("portraits", "groups", "formats"):
        for path in sorted(sample(folder).iterdir()):
            if path.suffix.lower() in {".mp4", ".mov", ".mkv", ".webm", ".ts", ".mpg", ".wmv", ".3gp", ".gif"}:
                continue
            try:
                rgb = read_still(path).frame.read()
            except SecondfaceError:
                continue
            height, width = rgb.shape[:2]
            if min(height, width) < 64 or max(height, width) > 6 * min(height, width):
                continue
            yield path.name, rgb
            if path.name.startswith("synth") and path.name.endswith("front.jpg"):
                yield f"{path.stem} darker", (rgb * 0.4).astype(np.uint8)
                turn = cv2.getRotationMatrix2D((width / 2, height / 2), 12, 1.3)
                turned = cv2.warpAffine(rgb, turn, (width, height), flags=cv2.INTER_CUBIC)
                yield f"{path.stem} turned", np.asarray(turned, np.uint8)


def psnr_db(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    error = float(np.square(one.astype(np.float64) - other).mean())
    return 10 * math.log10(255**2 / error) if error else math.inf


def of_stills() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, (name, rgb) in enumerate(pictures()):
        identity, marked = IDENTITY + number, rgb.copy()
        Watermark(identity, STILL).mark_all([marked], grey(rgb))
        row: dict[str, Any] = {
            "picture": name[:32], "size": f"{rgb.shape[1]}x{rgb.shape[0]}", "PSNR dB": psnr_db(rgb, marked),
        }  # fmt: skip
        for change, apply in CHANGES.items():
            found = find(grey(apply(marked)))
            row[change] = "yes" if found is not None and found.identity == identity else "-"
        rows.append(row)
    large = [row for row in rows if min(map(int, row["size"].split("x"))) >= LEAST_SIDE]
    counts = {change: f"{sum(row[change] == 'yes' for row in large)}/{len(large)}" for change in CHANGES}
    least = min(row["PSNR dB"] for row in rows)
    return rows, {"pictures": f"{len(rows)}, of which {len(large)} from {LEAST_SIDE} px", "least PSNR": least, **counts}


def lumas(path: Path, most: int) -> Iterator[tuple[npt.NDArray[np.uint8], Grey]]:
    """Frames as FFmpeg lays out yuv420p in one array, and the part of it that is luma."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for picture in islice(container.decode(video=0), most):
            planes = np.asarray(picture.to_ndarray(format="yuv420p"), np.uint8)
            yield planes, np.ascontiguousarray(planes[: picture.height])


def encode(frames: Sequence[npt.NDArray[np.uint8]], encoder: str, path: Path, speed: Fraction = Fraction(1)) -> int:
    """Write yuv420p arrays; how many bytes it took."""
    codec, options = ENCODERS[encoder]
    with av.open(str(path), "w") as output:
        stream = cast("VideoStream", output.add_stream(codec, rate=25 * speed, options=options))
        stream.width, stream.height, stream.pix_fmt = frames[0].shape[1], frames[0].shape[0] * 2 // 3, "yuv420p"
        for index, planes in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(planes, "yuv420p")
            picture.pts = index
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    return path.stat().st_size


def frames_until_found(path: Path, most: int) -> int | None:
    reader = WatermarkReader()
    for number, (_, luma) in enumerate(lumas(path, most), 1):
        reader.add(luma)
        if any(each.identity == IDENTITY for each in reader.readings(parts=False)):
            return number
    return None


def of_clip(clip: Path, encoders: Sequence[str], most: int, folder: Path) -> list[dict[str, Any]]:
    plain = [planes for planes, _ in lumas(clip, most)]
    watermark, marked, psnr = Watermark(IDENTITY, VIDEO), list[npt.NDArray[np.uint8]](), list[float]()
    for planes in plain:
        height = planes.shape[0] * 2 // 3
        copy = planes.copy()
        copy[:height] = watermark.mark(np.ascontiguousarray(planes[:height]))
        psnr.append(psnr_db(planes[:height], copy[:height]))
        marked.append(copy)
    rows: list[dict[str, Any]] = []
    tries = [(each, Fraction(1)) for each in encoders] + [("h264_23", Fraction(3, 2))]
    for encoder, speed in tries:
        with_mark, without = (
            encode(frames[:: 1 if speed == 1 else 3], encoder, folder / f"{name}.mp4", speed)
            for name, frames in (("marked", marked), ("plain", plain))
        )
        found = frames_until_found(folder / "marked.mp4", most)
        rows.append({
            "clip": clip.stem[:32], "encoder": encoder + (" at 1.5x, every 3rd frame" if speed != 1 else ""),
            "least PSNR dB": min(psnr), "found after frames": found if found is not None else "-",
            "more bytes %": 100 * (with_mark / without - 1),
        })  # fmt: skip
    return rows


def unmarked(count: int) -> dict[str, Any]:
    """Searches of pictures that hold nothing: parts of the sample pictures, mirrored and scaled, and grain."""
    random = np.random.default_rng(17)
    sources = [grey(rgb) for _, rgb in pictures() if min(rgb.shape[:2]) >= LEAST_SIDE]
    wrong, searched = 0, 0
    for number in range(count):
        source = sources[number % len(sources)]
        side = int(random.integers(128, min(source.shape)))
        top, left = (int(random.integers(0, length - side + 1)) for length in source.shape)
        part = source[top : top + side, left : left + side]
        noisy = np.clip(part + random.normal(0, random.uniform(0, 6), part.shape), 0, 255).astype(np.uint8)
        # the long search through the scales of parts is made for every tenth
        wrong += find(noisy, parts=number % 10 == 0) is not None
        searched += 1
    return {"unmarked pictures": searched, "taken for marked ones": wrong}


def speed(rounds: int = 15) -> dict[str, Any]:
    """Processor milliseconds on one thread."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        row: dict[str, Any] = {}
        for name, size in (("720p", (1280, 720)), ("1080p", (1920, 1080))):
            luma = np.asarray(cv2.resize(grey(next(pictures())[1]), size), np.uint8)
            watermark = Watermark(IDENTITY, VIDEO)
            marked = watermark.mark(luma)
            row[f"mark {name} ms"] = _milliseconds(lambda luma=luma, own=watermark: own.mark(luma), rounds)
            row[f"read {name} ms"] = _milliseconds(lambda luma=marked: find(luma, parts=False), rounds)
        return row
    finally:
        cv2.setNumThreads(threads)


def _milliseconds(work: Callable[[], object], rounds: int) -> float:
    taken: list[float] = []
    for _ in range(rounds):
        began = time.thread_time()
        work()
        taken.append((time.thread_time() - began) * 1000)
    return statistics.median(taken)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=60, help="of each clip")
    parser.add_argument("--unmarked", type=int, default=5000)
    parser.add_argument("--encoders", nargs="+", default=list(ENCODERS), choices=list(ENCODERS))
    options = parser.parse_args(arguments)
    sample("videos")
    before = machine()
    stills, summary = of_stills()
    clips: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for clip in sorted((MEDIA / "videos").glob("*.mp4")):
            clips += of_clip(clip, options.encoders, options.frames, Path(folder))
    costs, imagined = speed(), unmarked(options.unmarked)
    told(
        "watermark",
        {"Stills": stills, "Stills, all": [summary], "Clips": clips, "Speed": [costs], "False alarms": [imagined]},
        before,
    )
    print(f"least PSNR {summary['least PSNR']:.1f} dB (at least {LEAST_PSNR_DB})")
    print(f"1080p {costs['mark 1080p ms']:.1f} ms a frame on one thread (at most {MOST_MS})")


if __name__ == "__main__":
    main()
