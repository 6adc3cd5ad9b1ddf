"""Runs in a cage: the same output as without, nothing else of this machine in reach, and no end that hurts others."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from secondface import observe
from secondface.fleet.attempt import Attempt, Terms, Workplace
from secondface.fleet.caged_runs import RUN
from secondface.fleet.pixel_room import PixelRoom
from secondface.fleet.runs import DirectRuns
from secondface.media.cage import worker_cage_reason
from tests.unit.fleet import break_out
from tests.unit.fleet.caged_shop import BACK_ENDS, ROOT, Shop, opened
from tests.unit.fleet.workshop import check_usage, wall

SECRET = "a key that nobody may see"
AIMS = (
    "the database", "the signing key", "the key of links", "another job", "another worker's job", "a stored file"
)  # fmt: skip

pytestmark = pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")


@pytest.fixture(scope="module", params=BACK_ENDS)
def real(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Shop]:
    yield from opened(tmp_path_factory.mktemp("real"), walls=request.param, task=RUN)


@pytest.fixture(scope="module", params=BACK_ENDS)
def hostile(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Shop]:
    yield from opened(tmp_path_factory.mktemp("hostile"), walls=request.param)


# ---- what it is for --------------------------------------------------------------------------------------------------


def test_a_job_gives_the_same_bytes_in_a_cage(real: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secondface.fleet.attempt.produce_id_of_job", lambda _job: "0" * 32)
    direct = real.run(real.attempt(DirectRuns()))
    caged = real.run(real.attempt())
    assert (caged.state, direct.state) == ("succeeded", "succeeded")
    assert real.output(caged) == real.output(direct)
    usage = caged.attempts[0].usage
    check_usage(usage)
    assert usage.device_active_ms > 0
    assert (usage.frames, usage.faces) == (1, 1)
    assert usage.peak_resident_bytes > 1 << 20
    assert real.people.packed, "the next job of the account finds its people"
    again = real.run(real.attempt())
    assert real.output(again) == real.output(direct)


@pytest.mark.parametrize("name", ["out.jpg", "out.webp", "out.avif", "out.tiff"])
def test_every_kind_of_picture_can_be_written(real: Shop, name: str) -> None:
    job = real.run(real.attempt(output_name=name))
    assert (job.state, job.error) == ("succeeded", None)


def test_a_refusal_is_the_callers_as_ever(real: Shop) -> None:
    job = real.run(real.attempt(target=wall()))
    assert (job.state, job.error, job.attempts[0].fault) == ("failed", "no_face_in_target", "caller")
    assert job.attempts[0].usage.device_active_ms > 0
    assert real.shop.results(job.id) == []


def test_a_file_that_is_no_picture_is_refused_in_the_cage(real: Shop) -> None:
    job = real.run(real.attempt(target=b"\x89PNG\r\n\x1a\n" + bytes(60)))
    assert (job.state, job.attempts[0].fault) == ("failed", "caller")


def test_a_fault_of_a_model_ends_this_attempt_only(real: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = real.attempt()
    monkeypatch.setattr("secondface.pipeline.batching.SeatSession.run", lambda *_: 1 / 0)
    job = real.run(attempt)
    assert (job.state, job.attempts[0].error, job.attempts[0].fault) == ("queued", "internal_fault", "provider")
    real.shop.requests.cancel(real.shop.owner, job.id)


def test_several_runs_at_once_share_the_device(real: Shop) -> None:
    before_ns = real.sessions.device.busy_ns
    attempts = [real.attempt() for _ in range(4)]
    threads = [threading.Thread(target=each.run, args=(real.workroom.attempt(each.name),)) for each in attempts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jobs = [real.shop.job(each.grant.lease.job_id) for each in attempts]
    assert {job.state for job in jobs} == {"succeeded"}
    usages = [job.attempts[0].usage for job in jobs]
    for usage in usages:
        check_usage(usage)
    whole_ms = (real.sessions.device.busy_ns - before_ns) // 1_000_000
    assert whole_ms - len(usages) <= sum(usage.device_active_ms for usage in usages) <= whole_ms


def test_what_a_run_logs_and_counts_reaches_the_worker(real: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    observe.configure(sys.stderr, "debug")
    try:
        assert real.run(real.attempt()).state == "succeeded"
    finally:
        observe.configure()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (stored,) = [line for line in lines if line["event"] == "run.store"]
    assert stored["caged"] is True and stored["elapsed_ms"] > 0


# ---- what it keeps in ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen(hostile: Shop) -> dict[str, Any]:
    """What the code in the cage could do, and could not."""
    files = {
        "the database": hostile.data / "service.db", "the signing key": hostile.data / "signing" / "key.pem",
        "the key of links": hostile.data / "links.key",
        "another job": hostile.data / "work" / "w1" / "other-1" / "in" / "0-target.png",
        "another worker's job": hostile.data / "work" / "w2" / "job-1" / "out" / "out.png",
        "a stored file": hostile.data / "objects" / "uploads" / "x",
    }  # fmt: skip
    assert tuple(files) == AIMS
    for path in files.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
        path.chmod(0o666)
    files["the database"].unlink()
    with closing(sqlite3.connect(files["the database"])) as database:
        database.execute("create table jobs (id)")
    for path in (hostile.data.parents[1], *(each for each in hostile.data.rglob("*") if each.is_dir())):
        path.chmod(0o755)
    os.environ["SECONDFACE_TEST_SECRET"] = SECRET
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            aims = {
                "paths": {name: str(path) for name, path in files.items()}, "data": str(hostile.data),
                "worker": os.getpid(), "port": server.getsockname()[1], "secret": SECRET,
            }  # fmt: skip
            job = hostile.does("escape", **aims)
    finally:
        del os.environ["SECONDFACE_TEST_SECRET"]
    assert files["the signing key"].read_text() == SECRET
    return hostile.found(job)


@pytest.mark.parametrize("door", break_out.escapes({"worker": 0, "port": 0, "data": "", "paths": dict.fromkeys(
    AIMS, "")}))  # fmt: skip
def test_code_in_the_cage_cannot(seen: dict[str, Any], door: str) -> None:
    assert seen[door] != "open"


def test_code_in_the_cage_has_its_own_files_and_nobodys_name(seen: dict[str, Any]) -> None:
    assert seen["own input"] > 0 and seen["own output"] == 1
    assert seen["secret"] is False, "no variable of the worker came along"
    assert (seen["user"] != 0) or os.getuid() != 0, "root becomes nobody"
    # its result, its line, the memory, the people and six lanes
    assert seen["held"] == 10


@pytest.mark.parametrize("case", ["link", "pipe"])
def test_what_it_leaves_is_not_followed(hostile: Shop, case: str) -> None:
    key = hostile.data / "secret"
    key.write_text(SECRET)
    job = hostile.does(case, to=str(key))
    assert (job.state, job.attempts[0].error) == ("queued", "internal_fault")
    assert hostile.shop.results(job.id) == []
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("words", [{}, {"marks_of": {"produce_id": "0" * 32}}], ids=["none", "another job's"])
def test_an_output_without_its_marks_is_not_handed_out(hostile: Shop, words: dict[str, Any]) -> None:
    job = hostile.does("unmarked", **words)
    assert job.attempts[0].error == "mark_missing"
    assert hostile.shop.results(job.id) == []
    if not job.ended:
        hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize(
    "words",
    [
        {"model": "face_mesh_478", "inputs": [["input_1", [64, 192, 192, 3]]]},
        {"model": "face_mesh_478", "inputs": [["input_1", [1, 192, 192, 1 << 40]]]},
        {"model": "face_mesh_478", "inputs": [["input_1", [1, 192, 192, -3]]]},
        {"model": "face_mesh_478", "inputs": [["other", [1, 192, 192, 3]]]},
        {"model": "face_mesh_478", "inputs": "everything"},
        {"model": "face_id_dlib128", "inputs": [["input", [33, 3, 150, 150]]]},
        {"model": "../../etc/passwd"}, {"model": 7}, {}, [], "words",
    ],
)  # fmt: skip
def test_models_take_only_what_their_manifests_say(hostile: Shop, words: object) -> None:
    answer = hostile.found(hostile.does("ask", words=words))["answer"]
    assert answer["error"] in ("model_failed", "model_missing", "internal_fault")


def test_no_model_computes_and_no_work_counts_outside_of_the_run(hostile: Shop) -> None:
    job = hostile.does("work early")
    assert hostile.found(job)["answer"]["error"] == "model_failed"
    assert job.attempts[0].usage.device_active_ms == 0


@pytest.mark.parametrize(
    "words",
    [
        ["work", 1_000_000], ["phase", "boot"], ["phase", "run", 1], ["progress", -1, 0, 0], ["progress", "1", 0, 0],
        ["progress", 1 << 60, 0, 0], ["progress", 0, 1 << 60, 0], ["progress", 0, 0, 1 << 60],
        ["log", "event", "fatal", {}], ["measure", "counter", "n", "1", {}], ["measure", "counter", 1, 1, {}],
        ["measure", "histogram", "n", float("nan"), {}], ["measure", "counter", "n", float("inf"), {}], {}, 7,
    ],
)  # fmt: skip
def test_a_word_out_of_place_ends_the_run(hostile: Shop, words: object) -> None:
    job = hostile.does("say", words=words)
    assert job.attempts[0].error == "internal_fault"
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("code", ["lease_lost", "cancelled", "storage_unavailable", "worker_lost", "nonsense", 7])
def test_an_error_that_no_run_can_have_is_not_believed(hostile: Shop, code: object) -> None:
    job = hostile.does("end", words={"error": code, "detail": "x" * 10_000})
    assert (job.attempts[0].error, job.attempts[0].fault) == ("internal_fault", "provider")
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("words", [{"report": {"frames": -1}}, {"report": []}, [], 7, {}, {"report": None}])
def test_a_report_that_is_none_is_our_fault(hostile: Shop, words: object) -> None:
    job = hostile.does("end", words=words)
    assert job.attempts[0].fault == "provider"
    assert job.state == "queued"
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


@pytest.mark.parametrize("to", ["line", "lane"])
def test_words_that_are_nested_without_end_break_nothing(hostile: Shop, to: str) -> None:
    job = hostile.does("nest", to=to)
    assert job.attempts[0].fault == "provider"
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


def test_more_frames_than_can_be_are_not_put_on_a_bill(hostile: Shop) -> None:
    job = hostile.does("boast", frames=1 << 60)
    assert (job.attempts[0].error, job.attempts[0].usage.frames) == ("internal_fault", 0)
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


def test_who_asks_nonsense_for_ever_does_not_fill_the_log(hostile: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    observe.configure(sys.stderr, "debug")
    try:
        hostile.does("ask for ever")
    finally:
        observe.configure()
    assert capsys.readouterr().err.count("worker.fault") == 1


# ---- how it ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["crash", "leave", "abort", "end by a signal without a name"])
def test_a_run_that_dies_is_tried_again_alone_and_is_poison_the_second_time(hostile: Shop, what: str) -> None:
    job = hostile.does(what)
    assert (job.state, job.suspect, job.attempts[0].cause) == ("queued", True, "crashed")
    grant = hostile.shop.claim()
    assert grant.alone
    place = Workplace(hostile.shop.desk, hostile.shop.objects, PixelRoom(10**9), Terms(), runs=hostile.runs)
    again = hostile.run(Attempt(grant, place, hostile.sessions.seat(), hostile.people))
    assert (again.state, again.error) == ("failed", "input_poisonous")
    assert hostile.shop.requests.receipt(hostile.shop.owner, job.id)[1].total_micros == 0
    assert hostile.does("fill").state == "succeeded"


@pytest.mark.parametrize("what", ["spin", "sleep", "chatter"])
def test_a_cancel_ends_it_at_once(hostile: Shop, what: str) -> None:
    attempt, thread = hostile.begins(what)
    eventually(lambda: what == "chatter" or attempt.usage().device_active_ms > 0)
    hostile.shop.requests.cancel(hostile.shop.owner, attempt.grant.lease.job_id)
    began_s = time.monotonic()
    attempt.beat()
    thread.join(30)
    assert time.monotonic() - began_s < 2, "it takes a tenth of a second where nothing else is busy"
    assert hostile.shop.job(attempt.grant.lease.job_id).state == "cancelled"
    active_ms = attempt.usage().device_active_ms
    time.sleep(0.1)
    assert attempt.usage().device_active_ms == active_ms


def test_a_run_that_reads_no_answers_does_not_hold_the_worker(hostile: Shop) -> None:
    attempt, thread = hostile.begins("hear nothing")
    thread.join(60)
    assert not thread.is_alive()
    job = hostile.shop.job(attempt.grant.lease.job_id)
    assert job.attempts[0].error == "internal_fault"
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)


def test_a_run_that_is_stopped_writes_nothing_any_more(hostile: Shop) -> None:
    attempt, thread = hostile.begins("litter")
    eventually(lambda: attempt.usage().device_active_ms > 0)
    hostile.shop.requests.cancel(hostile.shop.owner, attempt.grant.lease.job_id)
    attempt.beat()
    thread.join(30)
    assert not (hostile.data / "work" / "w1" / attempt.name).exists()


def test_when_all_that_starts_runs_is_killed_the_next_job_starts_it_again(hostile: Shop) -> None:
    attempt, thread = hostile.begins("sleep")
    eventually(lambda: attempt.usage().device_active_ms > 0)
    forking = hostile.runs.process_id
    assert forking is not None
    for process in (psutil.Process(forking), *psutil.Process(forking).children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # the first takes others with it
            process.kill()
    thread.join(30)
    job = hostile.shop.job(attempt.grant.lease.job_id)
    assert (job.state, job.attempts[0].fault) == ("queued", "provider")
    hostile.shop.requests.cancel(hostile.shop.owner, job.id)
    assert hostile.does("fill").state == "succeeded"


def test_nothing_is_left_of_many_runs(hostile: Shop) -> None:
    """Descriptors, threads, processes, files and memory are as before, whether a run ends well or not."""

    def left() -> tuple[int, int, int]:
        gc.collect()
        mine = psutil.Process()
        lanes = [each for each in threading.enumerate() if each.name.startswith("lane-")]  # others may come and go
        # Not all children: servers that other tests share are somebody else too.
        eventually(lambda: not any(map(_is_run, psutil.Process(hostile.runs.process_id).children(recursive=True))))
        return mine.num_fds(), len(lanes), len(list((hostile.data / "work" / "w1").iterdir()))

    def round_of() -> None:
        for what in ("fill", "leave", "link"):
            job = hostile.does(what, to="/etc/passwd")
            if not job.ended:
                hostile.shop.requests.cancel(hostile.shop.owner, job.id)

    round_of()
    before, memory = left(), psutil.Process().memory_info().rss
    for _ in range(8):
        round_of()
    descriptors, threads, folders = left()
    assert (threads, folders) == before[1:] == (0, before[2])
    assert descriptors < before[0] + 8, "one more for each run would be 24"
    assert psutil.Process().memory_info().rss - memory < 16 << 20


def _is_run(process: psutil.Process) -> bool:
    """Whether it is a run, and not what starts them: those have not become somebody else."""
    try:
        return process.num_threads() > 0 and os.getuid() == 0 and process.uids().real != 0
    except psutil.Error:
        return False


_WORKER = """
import json, os, signal, sys, time
from pathlib import Path
import psutil
from tests.unit.fleet.caged_shop import Shop
folder, walls = Path(sys.argv[1]), sys.argv[2] == "True"
shop = Shop(folder, walls=walls)
with shop.workroom:
    attempt, _ = shop.begins("sleep")
    while not attempt.usage().device_active_ms:
        time.sleep(0.01)
    print(json.dumps([each.pid for each in psutil.Process().children(recursive=True)]), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("walls", BACK_ENDS)
def test_a_worker_that_is_killed_leaves_no_orphan(tmp_path: Path, walls: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WORKER, str(tmp_path), str(walls)], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    numbers = json.loads(done.stdout)
    assert len(numbers) >= 2
    eventually(lambda: not any(map(_lives, numbers)), 10)


def _lives(number: int) -> bool:
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.01)
