"""The public surface is a list; whoever changes it changes this list knowingly."""

from __future__ import annotations

import secondface
from secondface import sdk


def test_public_names() -> None:
    assert sorted(secondface.__all__) == ["__version__", "run", "swap", "verify"]


def test_each_public_name_is_there_and_explained() -> None:
    for name in secondface.__all__:
        value = getattr(secondface, name)
        assert isinstance(value, str) or (value.__doc__ and value.__module__.startswith("secondface"))


def test_names_of_the_sdk() -> None:
    assert sorted(sdk.__all__) == [
        "AnswerUnreadable", "AsyncClient", "Client", "JobWords", "Picture", "Retries", "ServiceRefused",
        "ServiceUnreachable", "WebhookInvalid", "verify_webhook",
    ]  # fmt: skip
    assert all(getattr(sdk, name).__doc__ for name in sdk.__all__)
