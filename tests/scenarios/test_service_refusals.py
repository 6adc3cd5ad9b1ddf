"""What a service refuses, as the command line tells it: title, remedy, code, and an exit code that scripts can use."""

from __future__ import annotations

import pytest
from PIL import Image

from tests.scenarios.conftest import Service, World


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("jobs", "show", "job_none"), 9, "job_missing"),
        (("--key", "sf_wrong", "jobs", "list"), 8, "key_unknown"),
        (("--server", "http://127.0.0.1:9", "prices"), 6, "service_unreachable"),
        (("--server", "here", "prices"), 3, "invalid_option"),
        (("--server", "", "jobs", "list"), 3, "invalid_option"),
    ],
)
def test_refusals(
    secondface: World, service: Service, arguments: tuple[str, ...], code: int, word: str
) -> None:  # fmt: skip
    told = secondface(*arguments, **service.environment)
    assert told.code == code, told.err
    assert f"code {word}" in told.err


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--device", "cpu"), 3, "speaks of this machine"),
        (("--max-cost", "cheap"), 3, "write an amount"),
        (("--max-cost", "0.0001"), 3, "below the price"),
        (("--tier", "moonlight"), 3, "moonlight"),
    ],
)
def test_options_that_a_service_cannot_take(
    secondface: World, service: Service, options: tuple[str, ...], code: int, words: str
) -> None:
    told = secondface(
        "run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png", *options, **service.environment
    )
    assert told.code == code, told.err
    assert words in told.err
    assert secondface.files() == set()


@pytest.mark.parametrize(
    "option", [("--max-cost", "1"), ("--detach",), ("--deadline", "5"), ("--one-time-code", "123456")]
)
def test_options_that_only_a_service_can_take(secondface: World, option: tuple[str, ...]) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png", *option)
    assert told.code == 3
    assert "give --server" in told.err


def test_a_target_without_a_face_fails_as_on_this_machine(secondface: World, service: Service) -> None:
    Image.new("RGB", (200, 200), "gray").save(secondface.folder / "wall.png")
    told = secondface(
        "run", "-s", secondface.person_a, "-t", "wall.png", "-o", "out.png", **service.environment
    )  # fmt: skip
    assert told.code == 5, told.err
    assert "code no_face_in_target" in told.err
    assert secondface.files() == {"wall.png"}


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(secondface: World, service: Service) -> None:
    told = secondface("prices", HTTP_PROXY="http://127.0.0.1:9", http_proxy="http://127.0.0.1:9", **service.environment)
    assert told.code == 0, told.err


def test_the_keys_of_a_service(secondface: World, service: Service) -> None:
    made = secondface("keys", "create", "viewer", "--name", "board", "--days", "1", "--json", **service.environment)
    key = made.object["key"]
    assert secondface("--key", key, "jobs", "list", **service.environment).code == 0
    refused = secondface("--key", key, "keys", "list", **service.environment)
    assert (refused.code, "code scope_missing" in refused.err) == (8, True)
    assert "board" in secondface("keys", "list", **service.environment).out
    assert secondface("keys", "revoke", made.object["id"], **service.environment).code == 0
    assert secondface("--key", key, "jobs", "list", **service.environment).code == 8


def test_prices_usage_and_refusals_in_chinese(secondface: World, service: Service) -> None:
    told = secondface("--lang", "zh", "prices", **service.environment)
    assert "每秒价格" in told.out
    assert "a10g" in told.out
    assert "余额" in secondface("--lang", "zh", "usage", **service.environment).out
    assert "没有指定服务" in secondface("--lang", "zh", "--server", "", "ledger").err
