from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from secondface.errors import MarkMissing, OutputNotWritable
from secondface.media.part_file import PartFile

_HOLD = """
import sys, time
from pathlib import Path
from secondface.media.part_file import PartFile
part = PartFile(Path(sys.argv[1]))
part.path.write_bytes(b"half of it")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out.mp4"


def held_elsewhere(target: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", _HOLD, str(target)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_output_appears_whole(target: Path) -> None:
    target.write_bytes(b"before")
    part = PartFile(target)
    part.path.write_bytes(b"after")
    assert target.read_bytes() == b"before"
    part.commit()
    assert target.read_bytes() == b"after"
    part.discard()
    assert names(target.parent) == {"out.mp4"}


def test_what_a_check_refuses_never_gets_the_name(target: Path) -> None:
    part = PartFile(target)
    part.path.write_bytes(b"unmarked")

    def check(path: Path) -> None:
        assert path.read_bytes() == b"unmarked"
        raise MarkMissing

    with pytest.raises(MarkMissing):
        part.commit(check)
    part.discard()
    assert names(target.parent) == set()


def test_a_killed_run_leaves_nothing_after_the_next(target: Path) -> None:
    with held_elsewhere(target) as child:
        child.send_signal(signal.SIGKILL)
    assert len(names(target.parent)) == 1
    part = PartFile(target)
    assert part.path.read_bytes() == b""
    part.discard()
    assert names(target.parent) == set()


def test_a_run_that_lives_keeps_its_part(target: Path) -> None:
    with held_elsewhere(target) as child:
        with pytest.raises(OutputNotWritable, match="another run"):
            PartFile(target)
        assert [path.read_bytes() for path in target.parent.iterdir()] == [b"half of it"]
        child.kill()


def test_two_parts_of_one_process_do_not_share(target: Path) -> None:
    part = PartFile(target)
    with pytest.raises(OutputNotWritable, match="another run"):
        PartFile(target)
    part.discard()
    PartFile(target).discard()


def test_links_and_pipes_under_the_name_are_not_touched(target: Path) -> None:
    precious = target.with_name("precious")
    precious.write_bytes(b"mine")
    name = PartFile(target).path
    name.unlink()
    name.symlink_to(precious)
    with pytest.raises(OutputNotWritable):
        PartFile(target)
    name.unlink()
    os.mkfifo(name)
    with pytest.raises(OutputNotWritable, match="plain file"):
        PartFile(target)
    assert precious.read_bytes() == b"mine"


def test_a_hard_link_under_the_name_loses_only_that_name(target: Path) -> None:
    precious = target.with_name("precious")
    precious.write_bytes(b"mine")
    name = target.with_name("out.mp4.secondface.part")
    os.link(precious, name)
    part = PartFile(target)
    part.path.write_bytes(b"new")
    part.commit()
    assert precious.read_bytes() == b"mine"


def test_many_at_once_agree_on_one_owner(target: Path) -> None:
    target.with_name("out.mp4.secondface.part").write_bytes(b"stale")
    owners: list[PartFile] = []
    start = threading.Barrier(8)

    def claim() -> None:
        start.wait()
        try:
            owners.append(PartFile(target))
        except OutputNotWritable:
            return

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(owners) == 1
    owners[0].path.write_bytes(b"whole")
    owners[0].commit()
    assert target.read_bytes() == b"whole"
