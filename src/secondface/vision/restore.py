"""Super-resolution and denoising: whole frames, face crops, and the rule that spends them where they pay.

Decides which model sees which pixels at which size; must not know files, settings or the request.
"""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np

from secondface.frames import RGB8, Box, Face, Float, Frame, Mask01, Session, Sessions
from secondface.spec.catalog import ENLARGERS, Denoise
from secondface.vision.sharpness import blockiness, match_sharpness, noise_sigma, sharpened, sharpness, to_rgb8
from secondface.vision.tiles import Checkpoint, run_tiled

_INPUT, _BORDER, _TILE = "Input1", 7, 160
_CRISP, _SOFT = 0.85, 0.6
"""Above CRISP there is nothing to restore; between the two a model loses more detail than it brings."""
_GRAIN = 2.6
"""Noise, in levels of 255, from which the strong model gains more than it loses."""
_SMALLEST_SIDE = 16
_LARGEST_REDRAWN_PX = 768
"""A face that is larger holds no finer detail than its source had; tiles beyond this cost minutes for nothing."""


def auto_strength(rgb: RGB8, *, is_still: bool, reference_sharpness: float = _CRISP) -> float:
    """The `auto` rule for a face region [h,w,3]: how far to restore it, 0..1.

    A still's face is restored as far as it is softer than `reference_sharpness`; grain rules it out, as it would be
    sharpened too, and a face without grain in a grainy picture looks pasted. Video is left alone: one 128-pixel tile
    costs 176 ms on a CPU thread, four frames' time, and the swap already samples the source at full detail.
    """
    if not is_still or min(rgb.shape[:2]) < _SMALLEST_SIDE or noise_sigma(rgb) > _GRAIN:
        return 0.0
    lack = min(reference_sharpness, _CRISP) - sharpness(rgb)
    return float(np.clip(lack / 0.15, 0, 1))


def choose_denoise(rgb: RGB8) -> Denoise:
    """Which model helps: strong from noise of about 3 levels up, light for visible JPEG blocks, none for clean pixels.

    Measured on six portraits: strong gains 3 dB at sigma 4 and 7 dB at sigma 10, but loses 1.5 dB on clean pixels;
    light gains about 1 dB on JPEG qualities 20 to 80 and nothing on noise.
    """
    if noise_sigma(rgb) > _GRAIN:
        return "strong"
    return "light" if blockiness(rgb) > 0.45 else "none"


class FaceRestorer:
    """The super-resolution models at work; one object may serve several threads.

    checkpoint: called before every tile (about 0.3 s on one CPU thread); it raises to stop the work.
    """

    def __init__(self, sessions: Sessions, checkpoint: Checkpoint | None = None) -> None:
        self._sessions = sessions
        self._checkpoint = checkpoint

    def enlarge2x(self, rgb: RGB8, denoise: Denoise = "none") -> RGB8:
        """The picture [h,w,3] at [2h,2w,3], in tiles with exact joints."""
        session = self._sessions.get(ENLARGERS[denoise])
        return run_tiled(
            rgb,
            lambda tile: _enlarge_tile(session, tile),
            side=_TILE,
            border=_BORDER,
            scale=2,
            checkpoint=self._checkpoint,
        )

    def enlarge_source(self, rgb: RGB8) -> RGB8:
        """A source picture at twice its size, by the model that its own noise or coding blocks call for."""
        return self.enlarge2x(rgb, choose_denoise(rgb))

    def upscale(self, rgb: RGB8, scale: Literal[2, 4] = 2) -> RGB8:
        """The picture 2 or 4 times larger; memory is that of the result plus one tile."""
        larger = self.enlarge2x(rgb)
        return larger if scale == 2 else self.enlarge2x(larger)

    def denoise(self, rgb: RGB8, level: Denoise = "light") -> RGB8:
        """The picture [h,w,3] without noise: enlarged by the denoising model, then averaged back tile by tile."""
        if level == "none":
            return rgb.copy()
        session = self._sessions.get(ENLARGERS[level])
        return run_tiled(
            rgb,
            lambda tile: _halved(_enlarge_tile(session, tile)),
            side=_TILE,
            border=_BORDER,
            scale=1,
            checkpoint=self._checkpoint,
        )

    def restore(self, rgb: RGB8, strength: float = 1.0, denoise: Denoise = "none") -> RGB8:
        """A face crop [h,w,3] cleaned and made crisp, at its own size; strength 0 only denoises.

        Colour and light stay the input's: only detail finer than its blur is replaced.
        """
        clean = self.denoise(rgb, denoise)
        if strength <= 0 or min(rgb.shape[:2]) < _SMALLEST_SIDE:
            return clean
        present = sharpness(clean)
        if present >= _CRISP:
            return clean
        detailed = self._redrawn(clean, present) if present < _SOFT else clean
        crisp = match_sharpness(detailed, min(_CRISP, 1.5 * present))
        return to_rgb8(clean + np.float32(min(strength, 1.0)) * (crisp.astype(np.float32) - clean))

    def restore_face(
        self, frame: Frame, face: Face, strength: float | Literal["auto"] = "auto", denoise: Denoise = "none"
    ) -> Box | None:
        """Restore one face in its frame, faded out at the rim; `auto` treats the frame as a still.

        Returns the box that was written, None when there was nothing to do.
        """
        box = Box.around(face.points, 0.15 * face.size_px).clip(frame.width, frame.height)
        if min(box.width, box.height) < _SMALLEST_SIDE:
            return None
        rgb = frame.read(box)
        share = auto_strength(rgb, is_still=True) if strength == "auto" else strength
        if share <= 0 and denoise == "none":
            return None
        restored = self.restore(rgb, share, denoise)
        weight = _rim_mask(face.points, box)[:, :, None]
        frame.write(box, to_rgb8(rgb + weight * (restored.astype(np.float32) - rgb)))
        return box

    def _redrawn(self, rgb: RGB8, present: float) -> RGB8:
        """Blurred pixels brought down to the size that their detail fills, and enlarged from there by the model."""
        height, width = rgb.shape[:2]
        twice = present < 0.22 and max(height, width) <= 2 * _LARGEST_REDRAWN_PX
        scale = min(0.25 if present < 0.22 else 0.5, _LARGEST_REDRAWN_PX / max(height, width))
        size = max(8, round(width * scale)), max(8, round(height * scale))
        small = np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
        drawn = self.upscale(sharpened(small, 0.5), 4 if twice else 2)
        drawn = np.asarray(cv2.resize(drawn, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
        reach = 1 / max(present, 0.2)  # pixels over which the input's own values are trusted
        difference = rgb.astype(np.float32) - drawn
        return to_rgb8(drawn + cv2.GaussianBlur(difference, (0, 0), reach, borderType=cv2.BORDER_REFLECT_101))


def _enlarge_tile(session: Session, tile: RGB8) -> RGB8:
    """[h+14,w+14,3] -> [2h,2w,3]; the network's valid convolutions eat the border."""
    planes = np.ascontiguousarray(tile.transpose(2, 0, 1)[None], np.float32) / np.float32(255)
    (result,) = session.run({_INPUT: planes}).values()
    return to_rgb8(result[0].transpose(1, 2, 0) * np.float32(255))


def _halved(rgb: RGB8) -> RGB8:
    height, width = rgb.shape[0] // 2, rgb.shape[1] // 2
    return np.asarray(cv2.resize(rgb, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _rim_mask(points: Float, box: Box) -> Mask01:
    """1 inside the face, falling to 0 before the box ends."""
    outline = cv2.convexHull((points[:, :2] - (box.x0, box.y0)).astype(np.int32))
    inside = np.zeros((box.height, box.width), np.uint8)
    cv2.fillConvexPoly(inside, outline, (255,))
    distance = cv2.distanceTransform(cv2.bitwise_not(inside), cv2.DIST_L2, 3)
    reach = max(2.0, 0.12 * float(np.ptp(points[:, 0])))
    return np.asarray(np.clip(1 - distance / reach, 0, 1), np.float32)
