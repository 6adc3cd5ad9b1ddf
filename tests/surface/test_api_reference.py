"""The reference of the API: complete, with examples that hold, and true under requests that nobody thought of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from pydantic import BaseModel
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from secondface.gateway.problems import BY_CODE, STATUS
from secondface.spec import service as requests
from secondface.spec import views
from tests.surface.live import Live, error_pages, live
from tools.write_error_docs import error_classes

EXAMPLES = 8
"""For each operation, of requests that fit and of those that do not."""

OURS = [error for error in error_classes() if not error.__module__.startswith("secondface.sdk")]
"""What a server can meet; the others are its clients'."""


@pytest.fixture(scope="module")
def server() -> Generator[Live, None, None]:
    with live(refused_per_minute=1_000_000, address_per_minute=1_000_000) as running:
        running.set_account("a", requests_per_minute=1_000_000)
        yield running


def operations(server: Live) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in server.app.openapi()["paths"].items()
        for method, operation in methods.items()
    ]


def test_each_error_has_a_status_and_a_page(root: Path) -> None:
    assert set(STATUS) == set(OURS)
    assert set(BY_CODE) == {error.code for error in OURS}
    assert set(BY_CODE) <= error_pages(root)


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.code)
def test_a_status_says_whose_fault_it_is(error: type[Any]) -> None:
    assert (STATUS[error] >= 500) == (error.fault == "provider") or error.code in ("lease_lost", "invalid_setting")


def test_each_error_explains_itself_over_http(server: Live) -> None:
    for code, kind in BY_CODE.items():
        page = server.client.get(f"/errors/{code}").json()
        assert (page["status"], page["title"]) == (STATUS[kind], kind.title())


def test_each_operation_is_explained_and_named(server: Live) -> None:
    names = [operation["operationId"] for _, _, operation in operations(server)]
    assert len(set(names)) == len(names)
    for method, path, operation in operations(server):
        assert operation.get("description"), (method, path)
        assert operation.get("tags"), (method, path)


def test_every_reference_leads_somewhere(server: Live) -> None:
    document = server.client.get("/openapi.json").json()
    text = json.dumps(document)
    schemas = document["components"]["schemas"]
    for name in {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}:
        assert name in schemas
    assert "HTTPValidationError" not in text


def with_examples() -> list[type[BaseModel]]:
    models = [value for room in (requests, views) for value in vars(room).values()]
    found = [
        model for model in models
        if isinstance(model, type) and issubclass(model, BaseModel) and model.model_config.get("json_schema_extra")
    ]  # fmt: skip
    return sorted(set(found), key=lambda model: model.__name__)


@pytest.mark.parametrize("model", with_examples(), ids=lambda model: model.__name__)
def test_examples_hold(model: type[BaseModel]) -> None:
    extra = model.model_config.get("json_schema_extra")
    assert isinstance(extra, dict)
    [shown] = extra["examples"]  # type: ignore[misc]
    model.model_validate(shown)


@pytest.mark.slow
def test_requests_that_nobody_thought_of(server: Live) -> None:
    """No answer of 500 or more, and none that the reference does not name, for whatever fits or breaks the schema."""
    operator = server.key("a", "operator")
    schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
    schema.config.update(base_url=server.url)
    tried: Counter[str] = Counter()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if operation.path == "/v1/jobs/{job_id}/events":
            continue  # a stream that may last has no place here; it has tests of its own
        for mode in GenerationMode:
            _attempt(operation, mode, operator, tried)
    assert len(tried) == len(operations(server)) - 1


def _attempt(operation: Any, mode: GenerationMode, key: str, tried: Counter[str]) -> None:
    checks = [status_code_conformance, content_type_conformance, response_schema_conformance]
    headers = {"Authorization": f"Bearer {key}"}

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def attempt(case: Case) -> None:
        response = case.call(headers=headers)
        assert response.status_code < 500, (case.as_curl_command(), response.text)
        case.validate_response(response, checks=checks, headers=headers)
        tried[operation.label] += 1

    try:
        attempt()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be broken where nothing is asked for
        tried[operation.label] += 1
