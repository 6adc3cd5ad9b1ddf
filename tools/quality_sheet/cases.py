"""Which pictures and clips are swapped with whom, and within which bounds the figures have to stay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROFILE_YAW = 0.6
"""Of the report's yaw figure, 0 for frontal and about 0.9 for a full profile: beyond this a face is turned away."""
SMALLEST_JUDGED_PX = 90
"""Faces narrower than this need not be recognised as the source."""
MEDIAN_IDENTITY = 0.42
"""Most median distance between output and source over the judged pairs."""

PAIR_BOUNDS = {
    "mouth_change": 0.02, "eye_r_change": 0.02, "eye_l_change": 0.02, "yaw_change": 0.03,
    "seam_ratio": 1.1, "tone_delta_lab": 3.0,
}  # fmt: skip
CLIP_BOUNDS = {"jitter_ratio": 1.05, "flicker_ratio": 1.05}
LEAST_SWAPPED_SHARE = 0.97


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a target picture, by a part of the file name that no other portrait has."""

    source: str
    target: str
    judged: bool = True
    remark: str = ""

    @property
    def name(self) -> str:
        return f"{self.source} > {self.target}"


@dataclass(frozen=True, slots=True)
class ClipRun:
    """A clip and its sources, which go to its people from left to right."""

    sources: tuple[str, ...]
    clip: str

    @property
    def name(self) -> str:
        return f"{' + '.join(self.sources)} > {self.clip}"


def _judged(*names: tuple[str, str]) -> tuple[Pair, ...]:
    return tuple(Pair(source, target) for source, target in names)


PAIRS = _judged(
    ("P010", "P009_selfie_smile"), ("P006_woman", "P010"), ("P007_man_afro", "P005_man_beard_older_front"),
    ("P002_woman", "collins_smile"), ("P001_woman_short", "P006_selfie"), ("P009_woman", "P002_woman"),
    ("P002_woman", "P007_man_afro"), ("P010", "P009_threequarter"), ("P006_woman", "older_selfie"),
    ("P001_woman_short", "P009_woman"), ("older_front", "P007_man_afro"), ("P009_woman", "michael_collins"),
    ("P007_man_afro", "P001_woman_short"), ("older_front", "P010"), ("P010", "P001_woman_short"),
    ("P002_woman", "P006_woman"),
)  # fmt: skip
"""Frontal and three-quarter targets, mixed skin tones, both sexes."""

HARD_PAIRS = (
    Pair("P010", "P007_glasses", False, "glasses"),
    Pair("P006_woman", "hand_over_mouth", False, "hand over the mouth"),
    Pair("P001_woman_short", "eyes_closed", False, "eyes closed"),
    Pair("older_front", "lowlight", False, "low light and noise"),
    Pair("P002_woman", "motionblur", False, "motion blur"),
    Pair("P001_woman_short", "P009_profile", False, "profile"),
    Pair("older_front", "P007_profile", False, "profile"),
    Pair("P007_man_afro", "lincoln", False, "black and white, beard"),
    Pair("P010", "tiny_96px", False, "41 pixels wide"),
    Pair("P009_threequarter", "P010", False, "source in three-quarter view, smiling"),
    Pair("P009_selfie_smile", "P001_woman_short", False, "source smiling"),
    Pair("older_selfie", "P006_woman", False, "outdoor source"),
    Pair("lincoln", "P007_man_afro", False, "black and white source"),
    Pair("P007_glasses", "P006_selfie", False, "source with glasses"),
)
"""Shown with their figures, not held against the bounds."""

CLIP_RUNS = (
    ClipRun(("michael_collins",), "real_intel_headpose_male_480x270_p12.mp4"),
    ClipRun(("P001_woman_short",), "real_tos_actor_800x332_p24.mp4"),
    ClipRun(("P007_man_afro",), "real_tos_actor_800x332_p24.mp4"),
    ClipRun(("P010",), "synth_talk_P006_360p25.mp4"),
    ClipRun(("P002_woman",), "synth_talk_P006_720p25.mp4"),
    ClipRun(("P001_woman_short",), "synth_talk_P009_480p30_lightchange.mp4"),
    ClipRun(("P006_woman", "P009_woman"), "synth_two_speakers_P010_P002_720p25.mp4"),
    ClipRun(("P009_woman", "P006_woman"), "synth_two_speakers_P010_P002_720p25.mp4"),
)


def portrait(media: Path, part: str) -> Path:
    """The one portrait whose name holds `part`."""
    found = sorted(path for path in (media / "portraits").iterdir() if part in path.name)
    if len(found) != 1:
        raise LookupError(f"{part!r} names {len(found)} portraits: {', '.join(path.name for path in found)}")
    return found[0]
