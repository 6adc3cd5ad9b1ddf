"""Amounts as people write and read them: `0.30` of a currency is 300000 micro-units, exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from secondface.domain.pricing import MICROS
from secondface.errors import InvalidOption


def parse_money(option: str, word: str) -> int:
    """Micro-units of an amount such as `0.30` or `¥0.3`. Raises InvalidOption."""
    try:
        micros = Decimal(word.strip().lstrip("¥￥$€")) * MICROS
    except InvalidOperation:
        micros = Decimal(-1)
    if not micros.is_finite() or micros < 0 or micros != micros.to_integral_value():
        raise InvalidOption(f"{option} {word!r}: write an amount such as 0.30.", option=option)
    return int(micros)
