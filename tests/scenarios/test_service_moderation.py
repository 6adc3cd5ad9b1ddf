"""What a service does not swap: a protected person, what its rules refuse, and what waits for a reviewer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from PIL import Image

from secondface.sdk import Client
from tests.scenarios.conftest import Service, World
from tests.scenarios.test_service_run import small


@contextmanager
def account(service: Service, **plan: object) -> Iterator[str]:
    """A key of a funded account with that plan."""
    with httpx.Client(
        base_url=service.url, headers={"Authorization": f"Bearer {service.key}"}, trust_env=False
    ) as http:
        made = http.post("/v1/admin/accounts", json={"name": "strict", "plan": plan}).json()["id"]
        paid = http.post(f"/v1/admin/accounts/{made}/deposits", json={"micros": 10_000_000, "reference": f"r.{made}"})
        assert paid.status_code == 201, paid.text
        yield http.post(f"/v1/admin/accounts/{made}/keys", json={"role": "owner"}).json()["key"]


def test_a_protected_person_is_no_source(secondface: World, service: Service) -> None:
    me, photo = small(secondface, shade=41)
    enrolled = secondface.folder / "enrolled.jpg"  # bytes that no other test sends to this service
    with Image.open(secondface.person_a) as picture:
        picture.save(enrolled, quality=93)
    added = secondface("protected", "add", enrolled, "--note", "a letter", "--json", **service.environment)
    assert added.code == 0, added.err
    entry = added.object["id"]
    try:
        told = secondface("run", "-s", me, "-t", photo, "-o", "out.png", **service.environment)
        assert told.code == 10, told.err
        assert "must not be given to others" in told.err
        assert "the rule protected refuses source 0" in told.err
        with Client(service.url, service.key) as client:
            (job,) = client.jobs(("failed",), limit=1).data
        assert (job.error, [each.rule for each in job.findings]) == ("source_protected", ["protected"])
        with httpx.Client(base_url=service.url, trust_env=False, timeout=60) as http:
            files = {"source": me.read_bytes(), "target": photo.read_bytes()}
            reply = http.post("/v1/swap", files=files, headers={"Authorization": f"Bearer {service.key}"})
        assert (reply.status_code, reply.json()["code"]) == (403, "source_protected")
        stored = [path for path in (service.folder / "objects").rglob("*") if path.is_file()]
        sent = enrolled.read_bytes()
        assert all(path.read_bytes() != sent for path in stored), "the picture of the entry was kept"
        # somebody else is let through meanwhile
        other = secondface("run", "-s", photo, "-t", me, "-o", "other.jpg", **service.environment)
        assert other.code == 0, other.err
    finally:
        assert secondface("protected", "remove", entry, **service.environment).code == 0
    assert secondface("run", "-s", me, "-t", photo, "-o", "out.png", **service.environment).code == 0


def test_a_refusal_says_which_rule_and_which_frame(secondface: World, service: Service) -> None:
    with account(service, nsfw_refuse_permille=1, nsfw_hold_permille=None) as key:
        environment = {**service.environment, "SECONDFACE_API_KEY": key}
        told = secondface(
            "run", "-t", secondface.clip, "-o", "out.mp4", "--pipeline", "colour:auto=true", **environment
        )
        assert told.code == 10, told.err
        assert "the rule nsfw refuses target, frame 0, 0.000 s" in told.err
        assert not (secondface.folder / "out.mp4").exists()
        with Client(service.url, key) as client:
            (job,) = client.jobs().data
            assert (job.state, job.error, job.findings[0].verdict) == ("failed", "content_refused", "refuse")
            assert client.receipt(job.id).total_micros == job.cost_micros > 0, "the input is its caller's"


def test_what_is_in_doubt_waits_for_a_reviewer(secondface: World, service: Service) -> None:
    me, photo = small(secondface, shade=43)
    reviewer = secondface("keys", "create", "reviewer", "--json", **service.environment).object["key"]
    looks = {**service.environment, "SECONDFACE_API_KEY": reviewer}
    with account(service, nsfw_refuse_permille=None, nsfw_hold_permille=1, likeness_required=True) as key:
        environment = {**service.environment, "SECONDFACE_API_KEY": key}
        silent = secondface("run", "-s", me, "-t", photo, "-o", "out.png", "--detach", **environment)
        assert (silent.code, "--likeness-confirmed" in silent.err) == (10, True)
        asked = secondface(
            "run", "-s", me, "-t", photo, "-o", "out.png", "--detach", "--likeness-confirmed", **environment
        )
        job = asked.out.strip()
        with Client(service.url, key) as client:
            until = time.monotonic() + 240
            while (seen := client.job(job)).state not in ("held", "failed", "succeeded"):
                assert time.monotonic() < until
                time.sleep(0.2)
        assert (seen.state, seen.waiting, seen.likeness_confirmed) == ("held", "review", True)
        assert secondface("jobs", "result", job, "-o", "out.png", **environment).code == 9
        listed = secondface("reviews", "list", **looks)
        assert job in listed.out
        assert "nsfw" in secondface("reviews", "show", job, **looks).out
        assert secondface("reviews", "result", job, "-o", "look.png", **looks).code == 0
        with Image.open(secondface.folder / "look.png") as picture:
            assert picture.size == (256, 256)
        done = secondface("reviews", "approve", job, "--reason", "nothing is wrong", **looks)
        assert done.code == 0, done.err
        assert "nothing is wrong" in done.out
        assert secondface("jobs", "result", job, "-o", "out.png", **environment).code == 0
        assert (secondface.folder / "out.png").read_bytes() == (secondface.folder / "look.png").read_bytes()


def test_on_ones_own_machine_a_setting_says_whether_pictures_are_judged(secondface: World) -> None:
    asked = secondface("config", "show", "--json").object["settings"]
    assert {each["name"]: each["value"] for each in asked}["local_moderation"] == "on"
    judge = {"SECONDFACE_MODERATION_URL": "http://127.0.0.1:9/judge"}
    secret = secondface.folder / "secret"
    secret.write_text("whsec_a2tra2tra2tra2tra2tra2tr\n")
    judge["SECONDFACE_MODERATION_SECRET_FILE"] = str(secret)
    words = ("run", "-t", secondface.person_b, "-o", "out.jpg", "--pipeline", "colour:auto=true")
    away = secondface(*words, **judge)
    assert (away.code, "does not answer" in away.err) == (6, True), away.err
    assert not (secondface.folder / "out.jpg").exists()
    assert secondface(*words, **judge, SECONDFACE_LOCAL_MODERATION="off").code == 0
