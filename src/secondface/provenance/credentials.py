"""Content credentials (C2PA) as the library reads them from a file, also from one that means harm.

Decides how the library is set up (no network, no thumbnails) and what of a manifest is of interest here.
Must not know where a file came from, or what a verdict about it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, cast

from c2pa import C2paError, Context, Reader, Stream

FORMATS: Mapping[str, str] = {
    "JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "AVIF": "image/avif", "HEIF": "image/heic",
    "GIF": "image/gif", "TIFF": "image/tiff", "mov,mp4,m4a,3gp,3g2,mj2": "video/mp4",
}  # fmt: skip
"""Media types of what can be signed, by the names that Pillow and FFmpeg have for the formats."""
State = Literal["trusted", "unknown", "invalid"]
"""Signed by somebody whom we trust; intact, but by somebody whom we do not know; not what was signed."""

RUN = "secondface.run"
"""Label of the assertion in which an output of ours says which run and which job it is of."""
_STATES: Mapping[str, State] = {"Trusted": "trusted", "Valid": "unknown"}
_UNTRUSTED = "signingCredential.untrusted"
_LONGEST_TEXT, _MOST_ITEMS = 512, 20


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the newest manifest of a file says, and whether it holds."""

    state: State = "invalid"
    failures: tuple[str, ...] = ()
    """C2PA's codes of what does not hold; empty for a state other than `invalid`."""
    title: str = ""
    generator: str = ""
    signer: str = ""
    """Common name of the certificate."""
    issuer: str = ""
    """Organisation of the certificate."""
    signed_at: str = ""
    """What a timestamp server said; empty without one."""
    actions: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    """Digital source types of all actions."""
    ingredients: tuple[str, ...] = ()
    """Titles."""
    produce_id: str = ""
    """Of the run, where it is an output of this program."""
    job: str = ""
    """Of the service, the same."""


def settings_of(roots: bytes) -> dict[str, Any]:
    """The library's settings. By default it would fetch an address that it finds inside of a file."""
    trust = {"trust": {"user_anchors": roots.decode("ascii")}} if roots else {}
    return {
        "version": 1,
        "core": {
            "allowed_network_hosts": [], "decode_identity_assertions": False,
            "backing_store_memory_threshold_in_mb": 64,
        },
        "builder": {"thumbnail": {"enabled": False}},
        "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_after_sign": True},
        **trust,
    }  # fmt: skip


def context_of(roots: bytes) -> Context:
    """What the library reads and signs in; several threads may share it."""
    return Context.from_dict(settings_of(roots))


def read_credentials(file: IO[bytes], media_type: str, context: Context) -> Credentials | None:
    """The credentials inside of a file; None where there are none.

    Raises ValueError for those that cannot be read: damaged, or kept at an address, which is never asked.
    """
    try:
        with Reader(media_type, file, context=context) as reader:
            state = _STATES.get(reader.get_validation_state() or "", "invalid")
            words: Any = json.loads(reader.json())
            results = reader.get_validation_results() or {}
    except C2paError.ManifestNotFound:
        return None
    except (C2paError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(_unread_reason(error)) from error
    return _credentials(state, words, results)


def _unread_reason(error: Exception) -> str:
    if str(error).startswith("Remote"):
        return "its content credentials are kept at an address, which is never asked"
    return f"the content credentials cannot be read: {_short(error)}"


def allow_streams_in_cages() -> None:
    """Have the library's callbacks made once: a caged process may make no more memory executable, only reuse it."""
    Stream(io.BytesIO()).close()


def _credentials(state: State, words: Any, results: Mapping[str, Any]) -> Credentials:
    manifest = _mapping(_mapping(_mapping(words).get("manifests")).get(str(_mapping(words).get("active_manifest"))))
    signature = _mapping(manifest.get("signature_info"))
    generator = next(map(_mapping, _items(manifest.get("claim_generator_info"))), _mapping(None))
    assertions = [_mapping(each) for each in _items(manifest.get("assertions"))]
    run = next((_mapping(each.get("data")) for each in assertions if each.get("label") == RUN), _mapping(None))
    actions = [
        _mapping(action)
        for each in assertions
        if str(each.get("label")).startswith("c2pa.actions")
        for action in _items(_mapping(each.get("data")).get("actions"))
    ]
    failures = _items(_mapping(results.get("activeManifest")).get("failure"))
    codes = [str(_mapping(each).get("code")) for each in failures]
    return Credentials(
        state=state,
        failures=tuple(_short(each) for each in codes if each != _UNTRUSTED),
        title=_short(manifest.get("title") or ""),
        generator=_short(" ".join(str(generator.get(key, "")) for key in ("name", "version"))),
        signer=_short(signature.get("common_name") or ""),
        issuer=_short(signature.get("issuer") or ""),
        signed_at=_short(signature.get("time") or ""),
        actions=tuple(_short(each.get("action") or "") for each in actions),
        source_types=tuple(_short(each["digitalSourceType"]) for each in actions if "digitalSourceType" in each),
        ingredients=tuple(
            _short(_mapping(each).get("title") or "") for each in _items(manifest.get("ingredients"))
        ),
        produce_id=_short(run.get("produce_id") or ""),
        job=_short(run.get("job") or ""),
    )  # fmt: skip


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _items(value: object) -> Sequence[Any]:
    return cast("list[Any]", value)[:_MOST_ITEMS] if isinstance(value, list) else ()


def _short(value: object) -> str:
    """A stranger's words as one short line that changes no terminal."""
    text = str(value)[:_LONGEST_TEXT]
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text).strip()
