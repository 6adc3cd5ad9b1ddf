"""Amounts as people write them: `0.30` of a currency is 300000 micro-units, exactly."""

from __future__ import annotations

import re

from secondface.domain.pricing import MICROS
from secondface.errors import InvalidOption

_AMOUNT = re.compile(r"[¥￥$€]?(\d{1,9})(?:\.(\d{1,6}))?", re.ASCII)


def parse_money(option: str, word: str) -> int:
    """Micro-units of an amount such as `0.30` or `¥0.3`. Raises InvalidOption."""
    found = _AMOUNT.fullmatch(word.strip())
    if found is None:
        raise InvalidOption(f"{option} {word!r}: write an amount such as 0.30.", option=option)
    return int(found[1]) * MICROS + int((found[2] or "").ljust(6, "0"))
