"""A picture and a clip in, a clip out: the same frames at the same times, the same sound."""

from __future__ import annotations

from pathlib import Path

import av

from tests.scenarios.conftest import World


def times(path: Path) -> list[float | None]:
    with av.open(str(path)) as clip:
        return [frame.time for frame in clip.decode(video=0)]


def sound(path: Path) -> list[bytes]:
    with av.open(str(path)) as clip:
        return [bytes(packet) for packet in clip.demux(audio=0) if packet.size]


def test_a_clip_keeps_its_frames_times_and_sound(secondface: World) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "out.mp4", "--json")
    assert told.code == 0, told.err
    out = secondface.folder / "out.mp4"
    assert times(out) == times(secondface.clip)
    assert sound(out) == sound(secondface.clip)

    report = told.object
    assert (report["frames"], report["faces"], report["swapped_frames"]) == (60, 1, 60)
    assert sum(report["phases_ms"].values()) == report["wall_ms"]
    assert 0 < report["device_active_ms"] <= report["phases_ms"]["run"]
    receipt = report["receipt"]
    assert receipt["total_micros"] == receipt["charged_s"] * receipt["price_micros_per_s"]
    assert sum(line["length_ms"] for line in receipt["lines"]) == report["wall_ms"]
    assert secondface.files() == {"out.mp4"}
