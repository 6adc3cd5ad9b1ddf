"""What is under deploy/: each file means something to the program that reads it, and a service lives under it."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from secondface.media.cage import worker_cage_reason
from secondface.settings import Settings
from tests.surface import container_filter

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SAMPLE = ROOT / "src" / "secondface" / "cli" / "sample"
PARSER = shutil.which("apparmor_parser", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
ANALYZE = shutil.which("systemd-analyze")
ESCAPES = (
    "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "ptrace", "process_vm_readv", "process_vm_writev",
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "keyctl", "add_key", "request_key", "init_module",
    "finit_module", "delete_module", "kexec_load", "reboot", "swapon", "open_by_handle_at", "open_tree", "move_mount",
    "fsopen", "settimeofday", "iopl", "ioperm", "quotactl", "acct", "mknod", "pidfd_getfd", "kcmp", "syslog",
)  # fmt: skip


@pytest.mark.skipif(PARSER is None, reason="apparmor_parser is not installed: apt-get install apparmor")
def test_the_apparmor_profile_is_understood() -> None:
    assert PARSER is not None
    done = subprocess.run(
        [PARSER, "--skip-kernel-load", "--skip-cache", "--warn=all", str(DEPLOY / "apparmor.profile")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = subprocess.run(
        [PARSER, "--names", "--skip-kernel-load", str(DEPLOY / "apparmor.profile")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert names.stdout.split() == ["secondface"]


@pytest.mark.skipif(PARSER is None, reason="apparmor_parser is not installed: apt-get install apparmor")
def test_a_slip_in_the_apparmor_profile_is_seen(tmp_path: Path) -> None:
    assert PARSER is not None
    broken = tmp_path / "profile"
    broken.write_text((DEPLOY / "apparmor.profile").read_text().replace("deny ptrace,", "deny ptrase,"))
    done = subprocess.run([PARSER, "-Q", "-K", str(broken)], capture_output=True, check=False)
    assert done.returncode != 0


def test_the_seccomp_profile_has_the_shape_that_containers_expect() -> None:
    profile = json.loads((DEPLOY / "seccomp.json").read_text())
    assert (profile["defaultAction"], profile["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 1)
    assert {each["architecture"] for each in profile["archMap"]} == {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}
    for rule in profile["syscalls"]:
        assert rule.keys() <= {"names", "action", "args", "comment", "errnoRet"}
        assert rule["action"] in ("SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO")
        assert len(set(rule["names"])) == len(rule["names"]) > 0
        for each in rule.get("args", []):
            assert each.keys() <= {"index", "value", "valueTwo", "op"}
            assert each["op"] in ("SCMP_CMP_EQ", "SCMP_CMP_MASKED_EQ")


def test_the_seccomp_profile_leaves_no_way_out_of_a_container() -> None:
    plain = {name for rule in container_filter.rules() if "args" not in rule for name in rule["names"]}
    allowed = plain - {"clone3"}
    assert allowed.isdisjoint(ESCAPES)
    assert {"socket", "clone", "personality"}.isdisjoint(allowed), "only with certain arguments"


@pytest.mark.skipif(container_filter.unknown_reason() is not None, reason=str(container_filter.unknown_reason()))
def test_the_seccomp_profile_names_real_calls() -> None:
    named = {name for rule in container_filter.rules() for name in rule["names"]}
    assert named - container_filter.numbers().keys() <= {"futex_waitv", "landlock_restrict_self"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """`secondface serve` under the seccomp profile, with a cage required."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("SECONDFACE_")}
    process = subprocess.Popen(
        [
            sys.executable, "-m", "tests.surface.container_filter", str(DEPLOY / "seccomp.json"),
            sys.executable, "-m", "secondface", "serve", "--port", "0", "--json",
        ],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**known, "SECONDFACE_DATA_DIR": str(tmp_path / "data"), "SECONDFACE_WORKER_CAGE": "require"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline() or "{}")
        assert said, process.communicate()[1]
        key = {"Authorization": f"Bearer {said['key']}"}
        with httpx.Client(base_url=said["url"], trust_env=False, timeout=120, headers=key) as client:
            yield client, process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.skipif(container_filter.filter_reason() is not None, reason=str(container_filter.filter_reason()))
@pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")
def test_a_service_lives_under_the_seccomp_profile(service: tuple[httpx.Client, subprocess.Popen[str]]) -> None:
    client, process = service
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE), "the filter is on"
    with (SAMPLE / "person_a.jpg").open("rb") as source, (SAMPLE / "person_b.jpg").open("rb") as target:
        answer = client.post("/v1/swap", files={"source": source, "target": target})
    until = time.monotonic() + 60
    job = answer.json()["id"] if answer.status_code == 202 else None  # a busy machine takes longer than it waits
    while job and answer.status_code in (202, 409) and time.monotonic() < until:
        time.sleep(0.2)
        answer = client.get(f"/v1/jobs/{job}/result")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("image/")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def _unit() -> configparser.RawConfigParser:
    class Repeated(dict[str, object]):
        def __setitem__(self, name: str, value: object) -> None:
            if isinstance(value, list) and isinstance(known := self.get(name), list):
                known.extend(value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            else:
                super().__setitem__(name, value)

    unit = configparser.RawConfigParser(strict=False, dict_type=Repeated)  # type: ignore[arg-type]
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "secondface.service")
    return unit


def test_the_unit_gives_nothing_that_is_not_needed() -> None:
    service = _unit()["Service"]
    assert service["User"] not in ("", "root")
    for switch in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictSUIDSGID", "LockPersonality"):
        assert service[switch] == "yes", switch
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")
    assert service["KillMode"] == "mixed", "the service drains its workers, and no child gets its signal first"
    _check_variables(re.findall(r"SECONDFACE_\w+(?==)", service["Environment"]))


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed: apt-get install systemd")
def test_the_unit_is_understood_and_well_guarded(tmp_path: Path) -> None:
    assert ANALYZE is not None
    unit = tmp_path / "secondface.service"
    text = (DEPLOY / "secondface.service").read_text()
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    verified = subprocess.run([ANALYZE, "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False)
    mine = [line for line in verified.stderr.splitlines() if "secondface.service" in line]
    assert mine == []
    judged = subprocess.run(
        [ANALYZE, "security", "--offline=true", "--threshold=30", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_the_image_runs_as_nobody_special_and_copies_what_there_is() -> None:
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    words = [shlex.split(line) for line in lines if line and not line.startswith("#")]
    users = [line[1] for line in words if line[0] == "USER"]
    assert users and not users[-1].startswith(("0", "root"))
    for line in words:
        if line[0] == "COPY" and not line[1].startswith("--from"):
            assert all((ROOT / each).exists() for each in line[1:-1]), line
        assert line[0] != "ADD"
    _check_variables([each.partition("=")[0] for line in words if line[0] == "ENV" for each in line[1:]])
    assert not re.search(r"(?i)(password|secret|api_key|token)\s*=", "\n".join(lines))


def _check_variables(names: list[str]) -> None:
    """Each of ours is a setting; a slip would be silent."""
    known = {f"SECONDFACE_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in names if name.startswith("SECONDFACE_")} <= known
