"""A service with a scanner: a large video passes in little memory, harm is refused, and without it nothing passes."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.clamd import EICAR, NAME, clamd
from tests.scenarios.conftest import World
from tests.scenarios.test_serve import serving, upload

pytestmark = pytest.mark.slow

_MIB = 1 << 20
_VIDEO_MIB = 300


def large_video(clip: bytes, mib: int, end: bytes = b"") -> Iterator[bytes]:
    """The sample clip with a large box of MP4 that players pass over, in which nothing repeats."""
    yield clip
    yield struct.pack(">I4s", 8 + mib * _MIB + len(end), b"free")
    noise = random.Random(1)
    for _ in range(mib):
        yield noise.randbytes(_MIB)
    yield end


def stored_files(world: World) -> list[Path]:
    return [path for path in (world.folder / "data" / "objects" / "files" / "uploads").rglob("*") if path.is_file()]


def parts(world: World) -> list[Path]:
    return list((world.folder / "data" / "objects" / "parts").iterdir())


@pytest.mark.timeout(1_200)
def test_a_large_video_passes_in_little_memory_and_its_twin_with_harm_at_the_end_does_not(secondface: World) -> None:
    with clamd() as running:
        secondface.environment["SECONDFACE_SCANNER"] = running.socket
        secondface.environment["SECONDFACE_SCANNER_ANSWER_S"] = "900"  # for the busiest of machines
        with serving(secondface) as (client, _key):
            server = psutil.Process(secondface.started[-1].pid)
            source = upload(client, secondface.person_b.read_bytes())
            before = server.memory_info().rss
            for mib, end, status, code in ((_VIDEO_MIB, b"", 200, None), (20, EICAR, 422, "malware_found")):
                made = client.post("/v1/uploads", json={}).json()
                sent = client.put(
                    made["url"], content=large_video(secondface.clip.read_bytes(), mib, end),
                    headers={"Authorization": ""}, timeout=1_000,
                )  # fmt: skip
                assert (sent.status_code, sent.json().get("code")) == (status, code), sent.text
                if not end:
                    words = {"sources": [source], "target": {"upload": made["id"]}}
                    offer = client.post("/v1/quotes", json=words)
                    assert offer.status_code == 200, offer.text
                    assert server.memory_info().rss - before < 96 * _MIB
                else:
                    assert NAME in sent.json()["detail"]
            peak_kib = int(next(
                line.split()[1] for line in Path(f"/proc/{server.pid}/status").read_text().splitlines()
                if line.startswith("VmHWM")
            ))  # fmt: skip
            assert peak_kib * 1024 - before < 128 * _MIB
            assert sorted(path.stat().st_size >= _VIDEO_MIB * _MIB for path in stored_files(secondface)) == [
                False,
                True,
            ]
            assert parts(secondface) == []


def test_when_the_scanner_dies_nothing_passes_and_when_it_is_back_all_does(secondface: World) -> None:
    with clamd() as running:
        secondface.environment["SECONDFACE_SCANNER"] = running.address
        with serving(secondface) as (client, _key):
            assert client.get("/readyz").status_code == 200
            known = upload(client, secondface.person_b.read_bytes())
            running.process.kill()
            running.process.wait(30)
            refused = client.post("/v1/verify", files={"file": secondface.person_a.read_bytes()})
            assert (refused.status_code, refused.json()["code"]) == (503, "scanner_unavailable")
            assert refused.json()["fault"] == "provider"
            assert len(stored_files(secondface)) == 1
            assert client.post("/v1/verify", json=known).status_code == 200  # there was a word on this one
