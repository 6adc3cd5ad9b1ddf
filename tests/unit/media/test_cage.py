"""Real attempts from inside the cage, each of which must fail, and children that end in every bad way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from secondface.errors import CageUnavailable, InternalFault, MediaCorrupt
from secondface.media.cage import Cage, can_cage, protections
from secondface.media.cage_check import checked_protections
from secondface.media.caged_task import CagedTask, Outcome
from secondface.media.landlock import landlock_version
from secondface.media.probe import answer_of
from secondface.media.syscall_filter import filter_reason
from tests.unit.media import escapes

pytestmark = pytest.mark.skipif(not can_cage(), reason="only Linux can cage a process")
needs_landlock = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(filter_reason() is not None, reason=f"no seccomp here: {filter_reason()}")

SMALL = Cage(memory_bytes=256 << 20, cpu_s=1, wall_s=3)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    secret = tmp_path_factory.mktemp("cage") / "key.pem"
    secret.write_text("secret")
    handed = secret.with_name("clip.mp4")
    handed.write_text("the file that was given")
    task = CagedTask("tests.unit.media.escapes:attempt")
    os.environ["SECONDFACE_TEST_KEY"] = "secret"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, handed.open("rb") as file:
            argument = {"secret": str(secret), "port": server.getsockname()[1]}
            outcome = task.call([(file.fileno(), handed.name)], argument, Cage(memory_bytes=512 << 20))
    finally:
        del os.environ["SECONDFACE_TEST_KEY"]
        task.close()
    assert outcome.status == 0, outcome
    assert secret.read_text() == "secret"
    assert {path.name for path in secret.parent.iterdir()} == {"key.pem", "clip.mp4"}
    yield dict(json.loads(line) for line in outcome.lines)


@pytest.mark.skipif(not landlock_version() and filter_reason() is not None, reason="neither Landlock nor seccomp")
@pytest.mark.parametrize("escape", escapes.FILES)
def test_no_other_file_can_be_touched(results: dict[str, object], escape: str) -> None:
    if filter_reason() is not None and escape in ("see a file's size", "truncate a file"):
        pytest.skip("only seccomp stops this, and this machine has none")
    assert results[escape] != "escaped"


@needs_seccomp
@pytest.mark.parametrize("escape", escapes.NETWORK)
def test_no_socket_can_be_made(results: dict[str, object], escape: str) -> None:
    assert results[escape] == "PermissionError"


@needs_seccomp
@pytest.mark.parametrize("escape", escapes.PROCESSES)
def test_no_second_process_can_be_started_or_reached(results: dict[str, object], escape: str) -> None:
    assert results[escape] == ("OSError" if escape == "clone3" else "PermissionError")


@needs_seccomp
@pytest.mark.parametrize("escape", escapes.POWERS)
def test_no_limit_can_be_left(results: dict[str, object], escape: str) -> None:
    # Python has its own words for some refusals
    other = {"two gigabytes": "MemoryError", "a higher limit": "ValueError", "an alarm of its own": "itimer_error"}
    assert results[escape] == other.get(escape, "PermissionError")


def test_nothing_else_came_in(results: dict[str, object]) -> None:
    assert results["handed"] == "the file that was given"
    assert results["descriptors"] == [3, 4]
    assert "SECONDFACE_TEST_KEY" not in str(results["variables"])
    assert results["user"] != 0, "root becomes nobody"


@pytest.fixture(scope="module")
def unruly() -> Iterator[CagedTask]:
    task = CagedTask("tests.unit.media.escapes:misbehave")
    yield task
    task.close()


def _end(task: CagedTask, argument: object) -> Outcome:
    return task.call([], argument, SMALL, most_bytes=1 << 16)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("crash", "ended by SIGSEGV"),
        ("exit", "gave no answer"),
        ("spin", "could not be understood within 1 s"),
        ("sleep", "could not be understood within 1 s"),
        ("chatter", "gave no answer"),
        ("nonsense", "answered nonsense"),
        ("lie", "answered nonsense"),
        ("a word", "answered nonsense"),
        ({"code": "media_corrupt"}, "answered nonsense"),
        ({"code": "disk_full", "detail": ""}, "answered nonsense"),
        ({"code": "media_corrupt", "detail": "red \x1b[31m\n" + "x" * 900}, "red \N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_child_that_ends_badly_is_a_damaged_file(unruly: CagedTask, argument: object, words: str) -> None:
    started = time.monotonic()
    outcome = _end(unruly, argument)
    assert time.monotonic() - started < 15
    with pytest.raises(MediaCorrupt) as raised:
        answer_of("clip.mp4", outcome, SMALL)
    assert words in raised.value.detail
    assert len(raised.value.detail) < 600


def test_a_fault_of_ours_is_no_damage(unruly: CagedTask) -> None:
    with pytest.raises(InternalFault, match="ZeroDivisionError: inside"):
        answer_of("clip.mp4", _end(unruly, "raise"), SMALL)


def test_memory_has_an_end(unruly: CagedTask) -> None:
    outcome = _end(unruly, "eat")
    assert outcome.lines[-1].startswith(b'{"fault": "MemoryError')
    assert outcome.peak_bytes < 500 << 20


def test_calls_do_not_wait_for_each_other(unruly: CagedTask) -> None:
    with unruly.begin([], "sleep", Cage(memory_bytes=256 << 20, cpu_s=1, wall_s=50)) as slow:
        assert [_end(unruly, number).lines for number in range(5)] == [(b"%d" % number,) for number in range(5)]
        slow.kill()
        outcome = slow.outcome()
    assert outcome is not None
    assert (outcome.signal_name, outcome.overran) == ("SIGKILL", False), "it was still asleep"


def test_the_forking_process_comes_back(unruly: CagedTask) -> None:
    assert _end(unruly, 1).lines == (b"1",)
    assert unruly.process_id is not None
    os.kill(unruly.process_id, signal.SIGKILL)
    assert _end(unruly, 2).lines == (b"2",)


def test_a_task_that_cannot_load_is_said() -> None:
    task = CagedTask("tests.unit.media.escapes:missing")
    with pytest.raises(CageUnavailable):
        task.call([], None, SMALL)
    task.close()


def test_closing_ends_the_children() -> None:
    task = CagedTask("tests.unit.media.escapes:misbehave")
    task.start()
    number = task.process_id
    assert number is not None
    task.close()
    assert task.process_id is None
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


_DOOMED = """
import os, signal, threading, time
from secondface.media.cage import Cage
from secondface.media.caged_task import CagedTask
task = CagedTask("tests.unit.media.escapes:misbehave")
threading.Thread(target=task.call, args=([], "sleep", Cage(wall_s=300)), daemon=True).start()
while task.call([], "ready", Cage()).lines != (b'"ready"',):
    pass
forking = task.process_id
with open(f"/proc/{forking}/task/{forking}/children") as children:
    print(forking, children.read(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_outlives_a_parent_that_is_killed() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", _DOOMED], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    numbers = [int(number) for number in done.stdout.split()]
    assert len(numbers) == 2, "the forking process and the one that sleeps"
    deadline = time.monotonic() + 10
    while any(_lives(number) for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [number for number in numbers if _lives(number)] == []


def _lives(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


_WORKER = """
import json, os, socket, sys, threading
from pathlib import Path
from secondface.media.cage import Cage, enter
job, database, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
if sys.argv[4] == "unprivileged" and os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(1234, 1234, 1234)
    os.setresuid(1234, 1234, 1234)
enter(Cage(output_bytes=1 << 20, readable=(job / "in",), writable=(job / "out",)))

def tried(what):
    try:
        what()
    except OSError as cause:
        return type(cause).__name__
    return "done"

def program():
    os.posix_spawn("/bin/true", ["true"], {})

def connected():
    socket.socket().connect(("127.0.0.1", port))

def too_long():
    (job / "out/long").write_bytes(bytes(2 << 20))

thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
print(json.dumps({
    "read input": tried((job / "in/clip").read_bytes),
    "write input": tried(lambda: (job / "in/clip").write_bytes(b"")),
    "write output": tried(lambda: (job / "out/clip").write_bytes(b"x")),
    "rename output": tried(lambda: (job / "out/clip").rename(job / "out/done")),
    "read database": tried(database.read_bytes),
    "other job": tried(lambda: list(job.parent.iterdir())),
    "socket": tried(connected),
    "program": tried(program),
    "fork": tried(os.fork),
    "too long": tried(too_long),
    "kill": tried(lambda: os.kill(os.getppid(), 0)),
}))
"""


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize("user", ["root", "unprivileged"])
def test_a_worker_in_the_cage_has_its_folders_and_nothing_else(tmp_path: Path, user: str) -> None:
    job, database = tmp_path / "job", tmp_path / "jobs.sqlite"
    for folder in ("in", "out"):
        (job / folder).mkdir(parents=True)
        (job / folder).chmod(0o777)
    (job / "in/clip").write_bytes(b"clip")
    database.write_bytes(b"rows")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = subprocess.run(
            [sys.executable, "-c", _WORKER, str(job), str(database), str(server.getsockname()[1]), user],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    refused = "PermissionError"
    assert json.loads(done.stdout) == {
        "read input": "done", "write input": refused, "write output": "done", "rename output": "done",
        "read database": refused, "other job": refused, "socket": refused, "program": refused, "fork": refused,
        "too long": "OSError", "kill": refused,
    }  # fmt: skip
    assert database.read_bytes() == b"rows"
    assert (job / "out/done").read_bytes() == b"x"


_LAYER = """
import os, sys
from secondface.media import landlock, syscall_filter
syscall_filter.process_control(38, 1)
landlock.restrict_files() if sys.argv[1] == "landlock" else syscall_filter.allow_decoding()
try:
    os.open(sys.argv[2], os.O_RDONLY)
except PermissionError:
    os.write(1, b"refused")
"""


@pytest.mark.parametrize(
    "layer", [pytest.param("landlock", marks=needs_landlock), pytest.param("seccomp", marks=needs_seccomp)]
)
def test_each_layer_alone_keeps_files_closed(tmp_path: Path, layer: str) -> None:
    secret = tmp_path / "key"
    secret.touch()
    done = subprocess.run([sys.executable, "-c", _LAYER, layer, str(secret)], capture_output=True, check=False)
    assert done.stdout == b"refused", done.stderr


def test_the_protections_are_told() -> None:
    told = {each.name: each for each in protections()}
    assert told["Landlock"].active == bool(landlock_version())
    assert told["seccomp"].active == (filter_reason() is None)
    assert all(each.detail for each in told.values())


@needs_seccomp
def test_the_doors_are_tried() -> None:
    tried = [each for each in checked_protections() if each.name.startswith("no ")]
    assert [each.name for each in tried] == ["no other file", "no socket", "no second process"]
    assert all(each.active for each in tried), tried


def test_an_open_door_is_seen() -> None:
    # outside of the cage all are open
    script = "from secondface.media.cage_check import *; print(*try_doors(None))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "{'other file': True, 'socket': True, 'second process': True}\n"
