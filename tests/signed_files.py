"""Small outputs of every format with all their marks, made by the package's own writers; no model is needed."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
import cv2
import numpy as np

from secondface.frames import RGB8
from secondface.media.animation_output import AnimationWords, AnimationWriter
from secondface.media.images import write_still
from secondface.media.read import VideoReader
from secondface.media.still_frames import StillFrame
from secondface.media.write import VideoWriter
from secondface.pipeline.sealing import Seal
from secondface.provenance.certificates import SigningKey, own_key
from secondface.provenance.metadata import metadata_marks
from secondface.provenance.signing import ContentSigner, Ingredient, Statement

PRODUCE_ID = "0123456789abcdef0123456789abcdef"
STILLS = ("jpg", "png", "webp", "avif", "gif", "tiff")
ANIMATIONS = ("moving.gif", "moving.apng", "moving.webp")
VIDEOS = ("mp4", "mov", "mkv", "webm")
SIGNED = (*STILLS, *ANIMATIONS, "mp4", "mov")
SAID = Statement(
    PRODUCE_ID, "2026-11-30T04:00:00Z", ("analyse", "face_swap"),
    (Ingredient("target", "image/jpeg"), Ingredient("source", "image/png")), job="job_1",
)  # fmt: skip


@lru_cache(maxsize=1)
def picture(width: int = 96, height: int = 64) -> RGB8:
    """Something with structure, so that every codec has bytes to write."""
    noise = np.random.default_rng(7).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    return np.asarray(cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)


def plain_clip(path: Path, frames: int = 6) -> Path:
    """A clip of nobody's, without marks."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for shift in range(frames):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.roll(picture(), 4 * shift, axis=1))))
        container.mux(stream.encode())
    return path


def key_in(folder: Path) -> SigningKey:
    return own_key(folder / "signing")


def marked(path: Path, signer: ContentSigner | None, said: Statement = SAID) -> Path:
    """An output at `path` as a run leaves it, signed where there is a signer."""
    seal = Seal(metadata_marks(said.produce_id, "Example-Studio"), said, signer)
    name = path.name
    if name.endswith(ANIMATIONS):
        with AnimationWriter(path, (96, 64), 0, words=AnimationWords(seal.marks.xmp)) as writer:
            for number in range(3):
                writer.write(StillFrame(np.roll(picture(), 8 * number, axis=1), index=number), Fraction(1, 10))
            writer.close(seal.closing(is_still=True))
    elif path.suffix[1:] in VIDEOS:
        clip = plain_clip(path.with_name(f"of-{name}.mp4"))
        with VideoReader(clip) as reader, VideoWriter(path, reader, tags=seal.marks.tags) as writer:
            for frame in reader.frames():
                writer.write(frame)
            writer.close(seal.closing(is_still=False))
        clip.unlink()
    else:
        write_still(path, picture(), xmp=seal.marks.xmp, check=seal.closing(is_still=True))
    return path
