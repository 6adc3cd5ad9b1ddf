"""Jobs, receipts, entries and events of a service as people read them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, get_args

import pytest

from secondface.cli.job_views import event_line, moment, show_entries, show_job, show_job_receipt, show_jobs
from secondface.cli.language import speak
from secondface.cli.screen import Screen
from secondface.domain import ledger
from secondface.spec.views import EventView, JobStateName, JobView, LedgerEntryView, ReceiptLineView, ReceiptView

JOB = JobView(
    id="job_01m8nyme4kcpr0acj6g2d8v6zf", state="queued", tier="a10g", priority=0, created_ms=1_790_000_000_000,
    ended_ms=None, waiting="no_worker", done_frames=0, total_frames=60, attempts=0, cause=None, error=None,
    currency="CNY", price_micros=3_000, hold_micros=39_000, max_cost_micros=None, cost_micros=0, deadline_ms=None,
    expected_active_ms=100, links={},
)  # fmt: skip


def receipt(**changes: Any) -> ReceiptView:
    lines = (
        ReceiptLineView(attempt=1, item="device", length_ms=4_000, charged_ms=0, reason="provider_pays"),
        ReceiptLineView(attempt=2, item="device", length_ms=9_600, charged_ms=9_600, reason="device_worked"),
    )
    values: dict[str, Any] = {
        "job": JOB.id, "final": True, "currency": "CNY", "price_micros": 3_000, "lines": lines, "charged_ms": 9_600,
        "charged_s": 10, "total_micros": 30_000, "waived_micros": 0,
    }  # fmt: skip
    return ReceiptView(**(values | changes))


def test_an_id_is_never_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    show_jobs(Screen(), (JOB,))
    told = capsys.readouterr().out
    assert JOB.id in told
    assert "0/60" in told


def test_a_job_says_why_it_waits(capsys: pytest.CaptureFixture[str]) -> None:
    show_job(Screen(), JOB)
    told = capsys.readouterr().out
    assert "no worker is free" in told
    assert "¥0.039" in told


def test_a_job_that_cost_nothing_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    job = JOB.model_copy(update={"state": "succeeded", "waiting": None, "cause": "cached"})
    show_job(Screen(), job)
    show_jobs(Screen(), (job,))
    told = capsys.readouterr().out
    assert "the result of an earlier, equal job" in told
    assert "earlier" in told.rsplit("note", 1)[-1]


def test_a_receipt_of_several_attempts(capsys: pytest.CaptureFixture[str]) -> None:
    show_job_receipt(Screen(), receipt(), "a10g")
    told = capsys.readouterr().out
    assert "device worked (1)  4000 ms  not charged: our fault" in told
    assert "10 device s x ¥0.003 per s (a10g) = ¥0.03" in told
    assert "waived" not in told


def test_what_goes_beyond_the_promise_is_shown_as_waived(capsys: pytest.CaptureFixture[str]) -> None:
    show_job_receipt(Screen(), receipt(total_micros=20_000, waived_micros=10_000, final=False), "a10g")
    told = capsys.readouterr().out
    assert "Receipt so far" in told
    assert "= ¥0.03\n" in told
    assert "¥0.01; charged: ¥0.02" in told


def test_an_entry_says_from_where_to_where(capsys: pytest.CaptureFixture[str]) -> None:
    entry = LedgerEntryView(
        number=4, kind="capture", subject=JOB.id, at_ms=1_790_000_000_000, currency="CNY",
        postings={"held": -30_000, "revenue": 30_000},
    )  # fmt: skip
    show_entries(Screen(), [entry])
    told = capsys.readouterr().out
    assert JOB.id in told
    assert "¥0.03" in told
    assert "set aside → revenue" in told


def test_in_chinese_no_word_of_states_or_ledger_stays_english(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGUAGE", "zh")
    purses = [
        ledger.wallet("a"), ledger.held("a"), ledger.revenue("a"), ledger.funding("a"), ledger.SUPPLIER,
        ledger.DEVICE_COST,
    ]  # fmt: skip
    try:
        speak("zh")
        kinds = get_args(LedgerEntryView.model_fields["kind"].annotation)
        for kind, sign in product(kinds, (1, -1)):  # each purse gives once and takes once
            postings = {name.partition(":")[0]: sign * 30_000 * (-1) ** at for at, name in enumerate(purses)}
            entry = LedgerEntryView(number=4, kind=kind, subject="7", at_ms=0, currency="CNY", postings=postings)
            show_entries(Screen(), [entry])
        states = get_args(JobStateName)
        show_jobs(Screen(), tuple(JOB.model_copy(update={"id": "7", "state": state}) for state in states))
    finally:
        speak("en")
    told = capsys.readouterr().out
    assert told.count("→") == 2 * len(kinds)
    assert re.findall("[A-Za-z]{2,}", told) == []


def test_a_line_of_an_event() -> None:
    event = EventView(number=3, kind="job.progress", at_ms=0, facts={"done": 40, "total": 100, "by": None})
    assert event_line(event) == f"{moment(0)}  job.progress  done 40, total 100"
    event = EventView(number=4, kind="attempt.ended", at_ms=0, facts={"charged": False, "tier": "cpu"})
    assert event_line(event) == f"{moment(0)}  attempt.ended  charged no, tier cpu"
