"""What hostile code would do in the worker's own cage. Runs there, as the task of CagedRuns."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from secondface.fleet import caged_run
from secondface.fleet.lanes import Arena, received, send
from secondface.media.caged_process import Given
from secondface.media.handed import descriptor_of
from secondface.provenance.metadata import metadata_marks

_SYSCALL = ctypes.CDLL(None, use_errno=True).syscall
_PTRACE = 101
LATE_MODULES = caged_run.LATE_MODULES


def _ptrace(number: int) -> None:
    if _SYSCALL(ctypes.c_long(_PTRACE), ctypes.c_long(16), ctypes.c_long(number), None, None) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _forget_parent() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(1, 0, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def escapes(aims: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Each door by what is behind it."""
    worker, port = int(aims["worker"]), int(aims["port"])
    paths = {f"read {name}": Path(path) for name, path in aims["paths"].items()}
    return {
        **{name: path.read_bytes for name, path in paths.items()},
        **{name.replace("read", "change"): lambda path=path: path.open("ab") for name, path in paths.items()},
        "list the data folder": lambda: list(Path(aims["data"]).iterdir()),
        "list the other jobs": lambda: list(Path.cwd().parent.iterdir()),
        "climb out": lambda: list(Path("../../..").iterdir()),
        "change an input": lambda: Path("in/0-target.png").write_bytes(b""),
        "add an input": lambda: Path("in/more").write_bytes(b""),
        "move the folder": lambda: Path("out").rename("elsewhere"),
        "link to the database": lambda: os.link(aims["paths"]["the database"], "out/link"),
        "a network socket": lambda: socket.socket().connect(("127.0.0.1", port)),
        "a local socket": lambda: socket.socket(socket.AF_UNIX),
        "trace the worker": lambda: _ptrace(worker),
        "trace the parent": lambda: _ptrace(os.getppid()),
        "signal the worker": lambda: os.kill(worker, 0),
        "signal the parent": lambda: os.kill(os.getppid(), 0),
        "the worker's variables": Path(f"/proc/{worker}/environ").read_bytes,
        "the parent's variables": Path(f"/proc/{os.getppid()}/environ").read_bytes,
        "the worker's memory": Path(f"/proc/{worker}/mem").open,
        "the system's users": Path("/etc/passwd").read_bytes,
        "a second process": _fork,
        "outlive the parent": _forget_parent,
        "a program": lambda: os.execv("/bin/true", ["true"]),
        "become root": lambda: os.setresuid(0, 0, 0) if os.getuid() else Path("/etc/shadow").read_bytes(),
    }


def run_given(given: Given) -> Iterator[object]:  # noqa: C901 - one arm for each deed
    """What the order's speed_key asks for, as JSON."""
    order = json.loads(Path("in/order.json").read_text())
    words = json.loads(order["speed_key"])
    own = given.argument
    line, arena, lane = (descriptor_of(given.paths[at]) for at in (0, 1, 3))
    assert line is not None and arena is not None and lane is not None

    def report(found: object, frames: int = 1) -> dict[str, object]:
        send(line, ["phase", "run"])
        received(line)
        send(lane, {"ask": "check"})
        received(lane)
        return _report(found, own["produce_id"], len(own["inputs"]), frames)

    if words["do"] in ("escape", "ask", "show", "work early"):
        _write_output(order, own)
    match words["do"]:
        case "escape":
            yield report({name: _tried(door) for name, door in escapes(words).items()} | _seen(words))
        case "crash":
            ctypes.string_at(0)
        case "leave":
            os._exit(9)
        case "abort":
            os.abort()
        case "end by a signal without a name":
            signal.raise_signal(signal.SIGRTMIN + 6)
        case "spin":
            _begin(line)
            while True:
                pass
        case "sleep":
            _begin(line)
            time.sleep(600)
        case "chatter":
            while True:
                send(line, ["log", "x" * 1000, "info", {}])
        case "litter":
            _begin(line)
            while True:
                Path("out", str(time.monotonic_ns())).write_bytes(b"")
        case "hear nothing":
            while True:
                send(line, ["phase", "run"])
        case "nest":
            os.write(line if words["to"] == "line" else lane, b"[" * 50_000)
            received(line if words["to"] == "line" else lane)
            yield report({})
        case "boast":
            _write_output(order, own)
            yield report({}, words["frames"])
        case "ask for ever":
            send(line, ["phase", "run"])
            received(line)
            for _ in range(100):
                send(lane, "nonsense")
                received(lane)
            _write_output(order, own)
            yield report({})
        case "say":
            send(line, words["words"])
            received(line)
        case "ask":
            send(line, ["phase", "run"])
            received(line)
            send(lane, words["words"])
            yield report({"answer": received(lane)})
        case "show":
            send(line, ["phase", "run"])
            received(line)
            pictures = [np.full(shape, 200, np.uint8) for shape in words.get("shapes", [])]
            shapes = Arena(arena).write_pictures(0, pictures)
            answers = []
            for each in words["words"]:
                send(lane, {"pictures": shapes, **each})
                answers.append(received(lane))
            if words.get("nonsense"):
                send(line, "nonsense")
                received(line)
            yield _report(answers, own["produce_id"], len(own["inputs"]))
        case "work early":
            send(line, ["work", 1])
            send(lane, {"model": "face_mesh_478", "inputs": [["input_1", [1, 192, 192, 3]]]})
            answer = received(lane)
            send(line, ["work", -1])
            yield report({"answer": answer})
        case "end":
            yield words["words"]
        case "unmarked":
            _write_output(order, own | words.get("marks_of", {}), marked="marks_of" in words)
            yield report({})
        case "link":
            Path("out", order["output_name"]).symlink_to(words["to"])
            yield report({})
        case "pipe":
            os.mkfifo(Path("out", order["output_name"]))
            yield report({})
        case "fill":
            _write_output(order, own)
            yield report({})


def _write_output(order: dict[str, Any], own: dict[str, Any], *, marked: bool = True) -> None:
    info = PngInfo()
    if marked:
        marks = metadata_marks(own["produce_id"], own["content_producer"])
        info.add_itxt("XML:com.adobe.xmp", marks.xmp.decode())
    Image.new("RGB", (8, 8)).save(Path("out", order["output_name"]), pnginfo=info)


def _begin(line: int) -> None:
    send(line, ["phase", "run"])
    received(line)
    send(line, ["work", 1])


def _tried(door: Callable[[], object]) -> str:
    try:
        door()
    except (OSError, MemoryError) as error:
        return type(error).__name__
    return "open"


def _seen(words: dict[str, Any]) -> dict[str, object]:
    secret = words["secret"]
    held = [number for number in range(3, 300) if _is_open(number)]
    return {
        "user": os.getuid(), "held": len(held), "secret": any(secret in value for value in os.environ.values()),
        "own input": len(Path("in/0-target.png").read_bytes()), "own output": Path("out/x").write_bytes(b"x"),
    }  # fmt: skip


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _report(found: object, produce_id: str, inputs: int, frames: int = 1) -> dict[str, object]:
    return {
        "inputs": [{"media_type": "image/png", "label": None}] * inputs,
        "report": {
            "kind": "still", "width": 1, "height": 1, "frames": frames, "faces": 0, "faces_swapped": 0,
            "swapped_frames": 0, "unswapped": [], "notes": [json.dumps(found)], "streams": [], "stages": [],
            "produce_id": produce_id, "watermark": produce_id[:16], "watermark_held": True, "label_waiver": None,
        }
    }  # fmt: skip
