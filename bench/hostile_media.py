"""Damaged and lying media through the caged probe and decoders: crashes, hangs, faults, escapes, time and memory.

Many inputs share a child; one that ends its child is named by its seed and the rest goes to another. Usage:
    python -m bench.hostile_media [--inputs 20000] [--first-seed 1]
    python -m bench.hostile_media --replay SEED [--keep FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.caged_decode import DECODE
from bench.clips import MEDIA
from bench.mutations import Mutant, Original, mutant
from bench.tables import machine, told
from secondface import processors
from secondface.media.cage import Cage, protections
from secondface.media.caged_task import CagedTask, Outcome
from secondface.media.signatures import signature_of

BATCH = 40
MOST_S, MOST_GROWTH_MB = 5.0, 300
BATCH_CAGE = Cage(memory_bytes=1 << 30, cpu_s=120, wall_s=240, open_files=128)
ALONE_CAGE = Cage(memory_bytes=1 << 30, cpu_s=5, wall_s=10, open_files=128)
_LARGEST_ORIGINAL = 1 << 20
_TRAP_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one input. `outcome` is "works", an error's code, or begins with crash, hang or fault."""

    mutant: Mutant
    outcome: str
    cpu_s: float = 0.0
    growth_mb: float = 0.0


def originals(media: Path = MEDIA) -> list[Original]:
    """Sound files of all kinds, and the broken ones, which hold references to other files too."""
    paths = sorted(path for folder in ("formats", "broken") for path in (media / folder).iterdir())
    read = (Original(path.name, path.read_bytes()) for path in paths if path.stat().st_size < _LARGEST_ORIGINAL)
    return [each for each in read if each.content]


def examined(task: CagedTask, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """The verdict on each, in order; a child that dies is replaced."""
    left = list(mutants)
    while left:
        outcome = _call(task, left, BATCH_CAGE)
        peak = outcome.peak_bytes if len(left) == 1 else 0
        for each, line in zip(left, outcome.lines, strict=False):
            said, cpu_s, peak_so_far = json.loads(line)
            growth = max(0, peak_so_far - peak) / 2**20 if peak else 0.0
            peak = max(peak, peak_so_far)
            yield Verdict(each, said.partition(": ")[0] if said.startswith("works") else said, cpu_s, growth)
        done = len(outcome.lines)
        if done < len(left):
            yield _death(task, left[done], outcome)
            done += 1
        left = left[done:]


def _death(task: CagedTask, culprit: Mutant, outcome: Outcome) -> Verdict:
    """What the input does to a child of its own."""
    alone = _call(task, [culprit], ALONE_CAGE)
    if alone.lines:
        said, cpu_s, _ = json.loads(alone.lines[0])
        return Verdict(culprit, f"crash in company, alone {said}", cpu_s)
    hangs = alone.overran or alone.signal_name == "SIGXCPU"
    how = "hang" if hangs else f"crash: {alone.signal_name or alone.status} ({outcome.signal_name or outcome.status})"
    return Verdict(culprit, how, alone.cpu_s)


def _call(task: CagedTask, mutants: Sequence[Mutant], cage: Cage) -> Outcome:
    with ExitStack() as held:
        files: list[tuple[int, str]] = []
        for each in mutants:
            descriptor = os.memfd_create(f"seed {each.seed}")
            held.callback(os.close, descriptor)
            os.write(descriptor, each.content)
            files.append((descriptor, each.name))
        return task.call(files, None, cage)


class Traps:
    """A file and a port that nothing may touch: whoever opens or connects is counted."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "secret.mp4"
        self.file.write_bytes(b"secret")
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setblocking(False)
        self.port: int = self._server.getsockname()[1]
        library = ctypes.CDLL(None, use_errno=True)
        self._watch: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        opened = 0x20
        library.inotify_add_watch(self._watch, os.fsencode(self.file), ctypes.c_uint32(opened))

    def close(self) -> None:
        """Put the traps away."""
        self._server.close()
        os.close(self._watch)

    def bait(self) -> list[Original]:
        """Files that ask a reader to open the trap."""
        # of one length, so that a seed makes the same damage again
        url, path = f"http://127.0.0.1:{self.port:05}/x.ts", str(self.file).rjust(_TRAP_LENGTH, "/")
        texts = {
            "list.m3u8": f"#EXTM3U\n#EXTINF:1,\n{path}\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n",
            "concat.txt": f"ffconcat version 1.0\nfile {path}\nfile {url}\n",
            "picture.svg": f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{path}"/><image href="{url}"/></svg>',
            "stream.sdp": f"v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {self.port} RTP/AVP 96\n",
            "manifest.mpd": f'<?xml version="1.0"?><MPD><Period><BaseURL>{url}</BaseURL></Period></MPD>',
        }
        # behind a header that is let in, which must not be enough
        dressed = {f"{name}.mp4": "\0\0\0\x14ftypqt  \0\0\0\0qt  " + text for name, text in texts.items()}
        return [Original(name, text.encode()) for name, text in (texts | dressed).items()]

    def sprung(self) -> int:
        """How often the traps were touched."""
        count = 0
        try:
            while os.read(self._watch, 4096):
                count += 1
        except BlockingIOError:
            pass
        try:
            self._server.accept()[0].close()
            count += 1
        except BlockingIOError:
            pass
        return count


def _summary(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    def row(title: str, own: Sequence[Verdict]) -> dict[str, Any]:
        outcomes = Counter(each.outcome.partition(":")[0].partition(" ")[0] for each in own)
        bad = outcomes["crash"] + outcomes["hang"] + outcomes["fault"]
        return {
            "inputs": title, "number": len(own), "work": outcomes["works"],
            "refused": len(own) - outcomes["works"] - bad, "faults": outcomes["fault"], "crashes": outcomes["crash"],
            "hangs": outcomes["hang"], "slowest s": max((each.cpu_s for each in own), default=0.0),
            "most MB": max((each.growth_mb for each in own), default=0.0),
        }  # fmt: skip

    def kind(each: Verdict) -> str:
        signature = signature_of(each.mutant.content[:4096])
        return "no known format" if signature is None else signature.format_name

    kinds = sorted({kind(each) for each in verdicts})
    return [row("all", verdicts), *(row(name, [each for each in verdicts if kind(each) == name]) for name in kinds)]


def _remarkable(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    found = [
        each
        for each in verdicts
        if each.outcome.startswith(("crash", "hang", "fault")) or each.cpu_s > MOST_S or each.growth_mb > MOST_GROWTH_MB
    ]
    return [
        {"seed": str(each.mutant.seed), "file": each.mutant.name, "damage": each.mutant.kind, "outcome": each.outcome,
         "s": each.cpu_s, "MB": each.growth_mb} for each in found
    ]  # fmt: skip


def replay(seed: int, keep: Path | None, media: Path) -> None:
    """Make the input of `seed` again, look at it alone, and keep it as a file when asked."""
    with tempfile.TemporaryDirectory() as folder, closing(Traps(Path(folder))) as traps:
        again = mutant(seed, [*originals(media), *traps.bait()])
    if keep is not None:
        keep.write_bytes(again.content)
    with closing(CagedTask(DECODE)) as task:
        print(again.name, again.kind, len(again.content), "bytes:", _call(task, [again], ALONE_CAGE))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--media", type=Path, default=MEDIA, help="a folder with formats/ and broken/")
    parser.add_argument("--replay", type=int, metavar="SEED")
    parser.add_argument("--keep", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        replay(options.replay, options.keep, options.media)
        return 0
    before, started = machine(), time.perf_counter()
    for each in protections():
        print(f"{'on ' if each.active else 'OFF'} {each.name}: {each.detail}")
    seeds = range(options.first_seed, options.first_seed + options.inputs)
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Traps(Path(folder))) as traps,
        closing(CagedTask(DECODE)) as task,
        ThreadPoolExecutor(processors.usable()) as workers,
    ):
        stock = [*originals(options.media), *traps.bait()]

        def batch(first: int) -> list[Verdict]:
            return list(examined(task, [mutant(seed, stock) for seed in seeds[first : first + BATCH]]))

        verdicts = [each for batches in workers.map(batch, range(0, len(seeds), BATCH)) for each in batches]
        sprung = traps.sprung()
    found = _remarkable(verdicts)
    tables: dict[str, Sequence[dict[str, Any]]] = {"Damaged and lying media": _summary(verdicts)}
    if found:
        tables["Seeds to look at"] = found
    told("hostile_media", tables, before)
    print(f"{len(verdicts)} inputs in {time.perf_counter() - started:.0f} s; traps touched: {sprung}")
    return 1 if sprung or found else 0


if __name__ == "__main__":
    sys.exit(main())
