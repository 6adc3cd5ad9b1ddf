"""`run` with a service named: its workers do the work, and the bill is the one of its ledger."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

from PIL import Image

from secondface.sdk import Client
from tests.scenarios.conftest import Service, World


def small(world: World, *, shade: int = 0) -> tuple[Path, Path]:
    """Two small pictures; another shade is another input, so that no result of an earlier job fits."""
    for name, sample in (("me.jpg", world.person_a), ("photo.png", world.person_b)):
        with Image.open(sample) as picture:
            smaller = picture.convert("RGB").resize((256, 256))
            smaller.putpixel((0, 0), (shade, 0, 0))
            smaller.save(world.folder / name)
    return world.folder / "me.jpg", world.folder / "photo.png"


def test_a_picture_comes_back_with_a_receipt_that_equals_the_ledger(secondface: World, service: Service) -> None:
    me, photo = small(secondface)
    told = secondface(
        "run", "-s", me, "-t", photo, "-o", "out.webp", "--json", "--max-cost", "0.05", **service.environment
    )
    assert told.code == 0, told.err
    with Image.open(secondface.folder / "out.webp") as picture:
        assert (picture.format, picture.size) == ("WEBP", (256, 256))
    job, receipt = told.object["job"], told.object["receipt"]
    assert job["state"] == "succeeded"
    assert receipt["final"]
    ledger = secondface("ledger", "--json", "--limit", "200", **service.environment).object["data"]
    moved = {entry["kind"]: entry["postings"] for entry in ledger if entry["subject"] == job["id"]}
    assert moved["hold"]["held"] == job["hold_micros"]
    assert moved["capture"]["revenue"] == receipt["total_micros"] == job["cost_micros"] > 0
    given_back = moved.get("release", {"wallet": 0})["wallet"]
    assert job["hold_micros"] == receipt["total_micros"] + given_back
    assert secondface("verify", "out.webp").code == 0
    assert not list(secondface.folder.glob("*.part"))


def test_the_same_job_again_is_free_and_marked_as_the_first(secondface: World, service: Service) -> None:
    words = ("run", "-s", secondface.person_a, "-t", secondface.person_b, "--pipeline", "face_swap,denoise", "--json")
    told = [secondface(*words, "-o", name, **service.environment) for name in ("one.png", "two.png")]
    assert [each.code for each in told] == [0, 0], told[-1].err
    first, again = (each.object for each in told)
    assert first["job"]["id"] != again["job"]["id"]
    assert again["receipt"]["total_micros"] == 0 < first["receipt"]["total_micros"]
    one, two = (secondface.folder / name for name in ("one.png", "two.png"))
    assert two.read_bytes() == one.read_bytes()
    roots = {"SECONDFACE_TRUSTED_ROOTS_FILE": str(service.folder / "signing" / "root.pem")}
    marks = secondface("verify", "two.png", "--json", **roots).object
    assert marks["layers"] == {"watermark": "intact", "metadata": "intact", "signature": "intact"}
    assert (marks["signed"], marks["job"]) == ("trusted", first["job"]["id"])


def test_people_see_the_receipt(secondface: World, service: Service) -> None:
    me, photo = small(secondface)
    told = secondface("--server", service.url, "--key", service.key, "run", "-s", me, "-t", photo, "-o", "out.png")
    assert told.code == 0, told.err
    for words in ("out.png", "job_", "Receipt", "device s x", "¥"):
        assert words in told.out
    assert told.err == ""


def test_several_targets_become_several_jobs(secondface: World, service: Service) -> None:
    me, photo = small(secondface, shade=9)
    (secondface.folder / "in").mkdir()
    photo.rename(secondface.folder / "in" / "a.png")
    (secondface.folder / "in" / "b.png").write_bytes(b"no picture at all")
    told = secondface("run", "-s", me, "-t", "in", "-o", "out", **service.environment)
    assert told.code == 7, told.err
    assert "a.png" in told.out
    assert "b.png" in told.err
    assert [path.name for path in (secondface.folder / "out").iterdir()] == ["a.png"]


def test_a_job_is_left_to_itself_and_fetched_later(secondface: World, service: Service) -> None:
    me, photo = small(secondface, shade=20)
    told = secondface("run", "-s", me, "-t", photo, "-o", "out.png", "--detach", **service.environment)
    assert told.code == 0, told.err
    job = told.out.strip()
    fetched = secondface("jobs", "result", job, "-o", "late.png", "--wait", **service.environment)
    assert fetched.code == 0, fetched.err
    assert "late.png" in secondface.files()
    assert "out.png" not in secondface.files()
    lines = secondface("jobs", "events", job, "--json", **service.environment).out.splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert (kinds[0], kinds[-1]) == ("job.accepted", "job.succeeded")
    assert "device worked" in secondface("jobs", "receipt", job, **service.environment).out
    assert job in secondface("jobs", "list", "--state", "succeeded", **service.environment).out


def test_a_signal_cancels_the_job(secondface: World, service: Service) -> None:
    with Client(service.url, service.key) as client:
        before = {job.id for job in client.jobs().data}
        run = secondface.start(
            "--server", service.url, "--key", service.key, "run", "-s", secondface.person_a, "-t", secondface.clip,
            "-o", "out.mp4", "--pipeline", "denoise:level=strong,face_swap",
        )  # fmt: skip
        until = time.monotonic() + 60
        while not (made := [job for job in client.jobs().data if job.id not in before]) and time.monotonic() < until:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
        assert run.returncode == 130, err
        assert "code cancelled" in err
        assert client.wait_until_ended(made[0].id).state == "cancelled"
    assert secondface.files() == set()


def test_a_key_that_may_not_see_bills_gets_its_result_all_the_same(secondface: World, service: Service) -> None:
    me, photo = small(secondface)
    with Client(service.url, service.key) as client:
        key = client.create_key("developer").key
    told = secondface("--server", service.url, "--key", key, "run", "-s", me, "-t", photo, "-o", "out.png", "--json")
    assert told.code == 0, told.err
    assert told.object["receipt"] is None
    assert told.object["job"]["state"] == "succeeded"
    assert "out.png" in secondface.files()


def test_a_quote_costs_nothing(secondface: World, service: Service) -> None:
    told = secondface("quote", "-s", secondface.person_a, "-t", secondface.clip, "--json", **service.environment)
    assert told.code == 0, told.err
    quote = told.object
    assert (quote["frames"], quote["width"], quote["height"], quote["tier"]) == (60, 640, 360, "cpu")
    assert 0 < quote["expected_micros"] <= quote["upper_micros"]
