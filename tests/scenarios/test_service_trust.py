"""An operator's day: keys of two people, codes, a deletion with its receipt, and an audit that nobody can change."""

from __future__ import annotations

import json

import pyotp
from pyotp.totp import TOTP

from tests.scenarios.conftest import Service, World


def test_a_key_is_enrolled_and_its_codes_taken_away(secondface: World, service: Service) -> None:
    made = secondface("keys", "create", "developer", "--person", "Ann", "--json", **service.environment).object
    assert made["person"] == "Ann"
    told = secondface("keys", "one-time-codes", made["id"], **service.environment)
    assert told.code == 0 and told.out.startswith("otpauth://totp/"), told.err
    assert isinstance(pyotp.parse_uri(told.out.split()[0]), TOTP)
    assert made["id"] in secondface("keys", "one-time-codes", made["id"], "--off", **service.environment).out
    listed = secondface("approvals", "list", **service.environment)
    assert (listed.code, listed.out.strip()) == (0, "No job waits for approval.")
    refused = secondface("approvals", "confirm", "job_none", "--one-time-code", "123456", **service.environment)
    assert refused.code == 9 and "job_missing" in refused.err


def test_from_a_deleted_job_to_an_audit_that_was_changed(secondface: World, service: Service) -> None:
    run = secondface(
        "run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png", "--json", **service.environment
    )  # fmt: skip
    assert run.code == 0, run.err
    job = run.object["job"]["id"]
    told = secondface("jobs", "delete", job, "--json", **service.environment)
    [receipt] = told.object["data"]
    assert receipt["what"] == ["inputs", "output"] and len(receipt["files"]) == 4
    gone = secondface("jobs", "result", job, "-o", "again.png", **service.environment)
    assert gone.code == 9 and "data_deleted" in gone.err
    assert "its files were deleted" in secondface("jobs", "show", job, **service.environment).out

    here = {"SECONDFACE_DATA_DIR": str(service.folder)}
    exported = secondface("audit", "export", "-o", "audit.jsonl", **service.environment)
    assert exported.code == 0, exported.err
    assert secondface("audit", "export", "-o", "audit.jsonl", **service.environment).code == 3
    whole = secondface("audit", "verify", "audit.jsonl", **here)
    assert whole.code == 0 and "The audit is whole." in whole.out, whole.out + whole.err
    assert secondface("audit", "verify", **here).code == 0
    assert secondface("audit", "verify", **service.environment).code == 0
    key = secondface("audit", "key", **here).out.strip()
    assert secondface("audit", "verify", "audit.jsonl", "--public-key", key).code == 0
    stranger = secondface("audit", "verify", "audit.jsonl", "--json")
    assert (stranger.code, stranger.object["flaw"]) == (1, "unknown_key")

    path = secondface.folder / "audit.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    row = json.loads(lines[3])
    lines[3] = lines[3].replace(row["kind"], "job.approved")
    path.write_text("".join(lines), "utf-8")
    found = secondface("audit", "verify", "audit.jsonl", **here)
    assert found.code == 1 and "Entry 3 cannot be trusted" in found.out
    missing = secondface("audit", "verify", SECONDFACE_DATA_DIR=str(secondface.folder / "nowhere"))
    assert missing.code == 3 and not (secondface.folder / "nowhere").exists()
