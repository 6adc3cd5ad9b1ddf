"""No secret comes out again: not where settings are shown, in logs, errors, figures or files; bytes are searched."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.scenarios.conftest import World

_PATHS = (
    "/metrics", "/readyz", "/openapi.json", "/v1/webhooks", "/v1/webhooks/deliveries", "/v1/account", "/v1/nothing",
    "/v1/admin/audit", "/v1/admin/accounts", "/v1/admin/accounts/default/keys",
)  # fmt: skip
PASSWORD, KEY = "pass-w0rd-of-the-books", "sf_key-that-nobody-may-see"


def test_no_command_shows_a_secret(secondface: World) -> None:
    kept = secondface.folder / "key"
    kept.write_text(KEY)
    secondface.environment["SECONDFACE_DATABASE"] = f"postgresql://app:{PASSWORD}@127.0.0.1:1/x"
    secondface.environment["SECONDFACE_API_KEY_FILE"] = str(kept)
    secondface.environment["SECONDFACE_DATA_DIR"] = str(secondface.folder / "data")
    for words in (
        ("config", "show"), ("config", "show", "--json"), ("doctor", "--security"), ("doctor", "--security", "--json"),
        ("serve", "--port", "0", "--debug"), ("serve", "--port", "0", "--json"),
        ("keys", "list", "--server", "http://127.0.0.1:1", "--debug"),
    ):  # fmt: skip
        told = secondface(*words)
        assert PASSWORD not in told.out + told.err, words
        assert KEY not in told.out + told.err, words
    assert "app:***@127.0.0.1:1/x" in secondface("config", "show").out
    written = [path for path in secondface.folder.rglob("*") if path.is_file() and path != kept]
    found = [path for path in written for each in (PASSWORD, KEY) if each.encode() in path.read_bytes()]
    assert not found


@pytest.mark.slow
def test_a_running_service_shows_none_either(secondface: World) -> None:
    folder = secondface.folder / "data"
    secondface.environment["SECONDFACE_DATA_DIR"] = str(folder)
    log = secondface.folder / "stderr"
    with log.open("wb") as heard:
        process = subprocess.Popen(
            secondface.command("serve", "--port", "0", "--json", "--debug"), cwd=secondface.folder,
            env=secondface.environment, stdout=subprocess.PIPE, stderr=heard,
        )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline() or log.read_text())
            shown, hook = _told(said["url"], said["key"])
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            shown += process.stdout.read() + log.read_bytes()
        finally:
            process.kill()
    link = (folder / "links.key").read_bytes()
    forms = (link, link.hex().encode(), base64.b64encode(link), said["key"].encode(), hook.encode(), KEY.encode())
    assert not [form for form in forms if form in shown]
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "links.key"}
    assert any(path.name.startswith("service.db") for path in files)
    # The books hold a digest of the key, and of the webhook what it signs with.
    assert not [path for path, content in files.items() if said["key"].encode() in content or link in content]


def _told(url: str, key: str) -> tuple[bytes, str]:
    """All that the service says to a caller with the key, to one with a wrong one, and to one with none."""
    told: list[bytes] = []
    with httpx.Client(base_url=url, trust_env=False, timeout=60, headers={"Authorization": f"Bearer {key}"}) as client:
        made = client.post("/v1/webhooks", json={"url": "http://127.0.0.1:1/hook"})
        hook = client.post("/v1/webhooks", json={"url": "https://example.org/hook"})
        secret = str(hook.json().get("secret") or "whsec_nothing")
        told.append(made.content)
        for path in _PATHS:
            for bearer in (key, KEY, None):
                answer = client.get(path, headers={"Authorization": f"Bearer {bearer or 0}"})
                told += [answer.content, repr(answer.headers).encode()]
        told.append(client.put(f"/v1/files/uploads/x?expires=9&signature={KEY}").content)
    return b"".join(told), secret


def test_a_file_that_others_may_read_is_told_of(secondface: World) -> None:
    kept = Path(secondface.folder / "key")
    kept.write_text(KEY)
    kept.chmod(0o644)
    secondface.environment["SECONDFACE_API_KEY_FILE"] = str(kept)
    secondface.environment["SECONDFACE_DATA_DIR"] = str(secondface.folder / "data")
    told = secondface("doctor", "--security", "--json")
    [found] = [each for each in told.object["guards"] if str(kept) in each["seen"]]
    assert (found["state"], found["remedy"], told.code) == ("off", f"chmod 600 {kept}", 1)
    chinese = secondface("doctor", "--security", "--lang", "zh")
    assert f"{kept} 对其他用户开放" in chinese.out
    assert "✗  病毒扫描" in chinese.out
