"""The visible label on the real clips: size and contrast measured on the pixels, also after encoding."""

from itertools import islice
from pathlib import Path

import cv2
import numpy as np
import pytest

from secondface.frames import Box
from secondface.media.read import VideoReader
from secondface.media.write import VideoWriter
from secondface.models.sessions import OrtSessions
from secondface.vision.label import GLYPH_SHARE, LabelPainter
from secondface.vision.track import FaceTracker
from tests.sample_media import MEDIA, needs_media

VIDEOS = MEDIA / "videos"
CLIPS = sorted(VIDEOS.glob("*.mp4")) if VIDEOS.is_dir() else []

pytestmark = needs_media


def light(rgb: np.ndarray) -> np.ndarray:
    display = rgb / 255
    linear = np.where(display <= 0.04045, display / 12.92, ((display + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def contrast(inside: np.ndarray, ink: np.ndarray) -> float:
    """WCAG contrast of the letters' cores against the plate beside them, at its brightest twentieth."""
    rim = 6
    plate = (ink == 0)[rim:-rim, rim:-rim]
    ground = np.quantile(light(inside[rim:-rim, rim:-rim][plate]), 0.95)
    return float((np.median(light(inside[ink > 0.99])) + 0.05) / (ground + 0.05))


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.stem)
def test_the_label_is_readable_steady_and_off_the_face(clip: Path) -> None:
    tracker, painter, boxes = FaceTracker(OrtSessions()), LabelPainter(), set[Box]()
    with VideoReader(clip) as reader:
        for frame in islice(reader.frames(), 12):
            faces, scene = tracker.track(frame)
            box = painter.paint(frame, faces, scene)
            boxes.add(box)
            assert painter.placement is not None
            assert painter.placement.fits
            ink = painter.placement.art.add / 250
            assert contrast(frame.read(box), ink) >= 4.5
            for face in faces:
                x, y = face.points[:, 0], face.points[:, 1]
                under = (x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)
                assert under.mean() < 0.02
    assert len(boxes) == 1


def test_letters_keep_their_height_through_the_encoder(tmp_path: Path) -> None:
    clip = next(clip for clip in CLIPS if "360p" in clip.name)
    painter, path = LabelPainter("en"), tmp_path / "out.mp4"
    with VideoReader(clip) as reader, VideoWriter(path, reader) as writer:
        for frame in islice(reader.frames(), 10):
            painter.paint(frame)
            writer.write(frame)
        writer.close()
    assert painter.placement is not None
    box = painter.placement.box
    with VideoReader(path) as reader:
        *_, last = reader.frames()
        ink = last.read(box).min(axis=2) > 140
        shortest = min(last.width, last.height)
    _, _, parts, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8))
    letters = sorted(
        (part for part in parts[1:] if part[cv2.CC_STAT_AREA] > 20), key=lambda part: part[cv2.CC_STAT_LEFT]
    )
    assert letters[0][cv2.CC_STAT_HEIGHT] >= GLYPH_SHARE * shortest
