"""What counts as the address of a caller."""

from __future__ import annotations

import pytest
from fastapi import Request

from secondface.gateway.access import address_of


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:DB8:0::1", "2001:db8::1"),
        ("anything a stranger wrote", "unknown"), ("", "unknown"), (None, "unknown"),
    ],
)  # fmt: skip
def test_an_address_has_one_spelling_and_no_other_text_passes_for_one(peer: str | None, address: str) -> None:
    client = None if peer is None else (peer, 4711)
    assert address_of(Request({"type": "http", "client": client})) == address
