"""A plan is what an operator wrote, field by field; what was not written stays as it was."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from secondface.spec.service import PlanFields
from tests.surface.live import Live, live

ACCOUNT = "/v1/admin/accounts/a"
WRITTEN: dict[str, Any] = {
    "max_running": 3, "max_pixels": 1_000_000, "max_frames": 500, "max_faces": 2, "formats": ["png", "mp4"],
    "approval_above_faces": 1, "label_optional": True, "likeness_required": True, "nsfw_hold_permille": 400,
    "nsfw_refuse_permille": None, "requests_per_minute": 5_000, "max_upload_bytes": 3_000_000, "retain_inputs_h": 7,
    "retain_outputs_h": 9,
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live() as running:
        yield running


def plan(server: Live) -> dict[str, Any]:
    return server.call("GET", ACCOUNT, server.key("a", "operator")).json()["plan"]


def write(server: Live, fields: dict[str, Any]) -> None:
    assert server.call("PATCH", ACCOUNT, server.key("a", "operator"), json={"plan": fields}).status_code == 200


def test_every_field_is_tried() -> None:
    assert WRITTEN.keys() == PlanFields.model_fields.keys()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_field_that_is_written_changes_alone(server: Live, name: str) -> None:
    usual = plan(server)
    assert usual[name] != WRITTEN[name]
    write(server, {name: WRITTEN[name]})
    assert plan(server) == usual | {name: WRITTEN[name]}
    write(server, {name: usual[name]})
    assert plan(server) == usual


def test_a_new_account_has_the_plan_that_was_written(server: Live) -> None:
    words = {"name": "New", "plan": WRITTEN}
    made = server.call("POST", "/v1/admin/accounts", server.key("a", "operator"), json=words)
    assert made.json()["plan"] == WRITTEN
