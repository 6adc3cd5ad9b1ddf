"""From settings to who judges pictures: the model of this package, or an external service."""

from __future__ import annotations

from pathlib import Path

from secondface.errors import InvalidSetting
from secondface.fleet.guards import Guards
from secondface.pipeline.guard import Guard
from secondface.pipeline.moderation import BuiltInModeration, Moderation
from secondface.settings import Settings
from secondface.spec.moderation import ContentRules

_OWN_MACHINE = ContentRules(hold_permille=None, reviewed=False)
"""Nobody but its user is there to look at a doubt."""


def moderation_of(settings: Settings) -> Moderation:
    """The judge that the settings name. Raises InvalidSetting."""
    if not settings.moderation_url:
        return BuiltInModeration()
    # A run that asks nobody would load a whole HTTP client for nothing: 0.1 s and 8 MB.
    from secondface.fleet.moderation_service import ServiceModeration, ServiceTerms  # noqa: PLC0415

    return ServiceModeration(ServiceTerms(
        url=settings.moderation_url, secret=_secret(settings.moderation_secret_file),
        timeout_s=settings.moderation_timeout_ms / 1000, flags=settings.moderation_when_away == "flag",
    ))  # fmt: skip


def local_guard(settings: Settings) -> Guard | None:
    """Who watches one run on this machine; None where the settings want nobody. Raises InvalidSetting."""
    if settings.local_moderation == "off":
        return None
    return Guards(moderation_of(settings)).guard(_OWN_MACHINE)


def _secret(path: str) -> str:
    if not path:
        raise InvalidSetting("moderation_url needs moderation_secret_file, whose secret signs what is sent there.")
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"moderation_secret_file: {path} cannot be read.") from error
