"""Signing a finished file: the last mark, for it covers all bytes that the others are part of.

Decides what is said about an output (what was opened, placed and edited, by which program) and that nothing but that
is. Must not know how the output was made, nor choose whose key it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import IO, Any, Literal

from c2pa import Builder, C2paError, C2paSignerInfo, C2paSigningAlg, Signer

from secondface.errors import MarkMissing, SigningUnavailable
from secondface.provenance.aigc import AigcLabel
from secondface.provenance.certificates import SigningKey
from secondface.provenance.credentials import RUN, Credentials, context_of, read_credentials
from secondface.provenance.timestamps import TimestampRelay
from secondface.provenance.xmp import DIGITAL_SOURCE_TYPE

Role = Literal["target", "source"]
NOTE_WITHOUT_TIMESTAMP = "the timestamp server did not answer as it should: signed without a timestamp"
_AIGC = "TC260:AIGC"


@dataclass(frozen=True, slots=True)
class Ingredient:
    """An input, by its part in the output. Neither its name nor anything of its pixels is told."""

    role: Role
    media_type: str
    label: AigcLabel | None = None
    """The AIGC label that it came with."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What is signed about one output."""

    produce_id: str
    made_at: str
    """When, as ISO 8601 in UTC."""
    steps: tuple[str, ...]
    inputs: tuple[Ingredient, ...]
    job: str = ""
    """The service's id of the job that the output is of."""


class ContentSigner:
    """Signs with one key; safe in any thread."""

    def __init__(self, key: SigningKey, timestamp_server: str = "") -> None:
        """Raises SigningUnavailable for a key that the library does not take."""
        self._key = key
        self._context = context_of(key.roots)
        self._plain = _signer(key)
        self._stamping: Signer | None = None
        if timestamp_server:
            relay = TimestampRelay(timestamp_server)
            relay.start()
            self._stamping = _signer(key, relay.address)

    @property
    def owner(self) -> str:
        """Whose signature it is."""
        return self._key.owner

    def sign(self, media_type: str, finished: IO[bytes], signed: IO[bytes], said: Statement) -> tuple[str, ...]:
        """Write `finished` to the empty file `signed`, with the statement in it. Returns notes; raises MarkMissing."""
        notes: tuple[str, ...] = ()
        if self._stamping is not None:
            try:
                self._signed(self._stamping, media_type, finished, signed, said)
            except C2paError:
                signed.seek(0)
                signed.truncate()
                notes = (NOTE_WITHOUT_TIMESTAMP,)
            else:
                return ()
        try:
            self._signed(self._plain, media_type, finished, signed, said)
        except C2paError as error:
            raise MarkMissing(f"it could not be signed: {error}") from error
        return notes

    def require_signed(self, media_type: str, finished: IO[bytes], said: Statement) -> None:
        """Raise MarkMissing unless a finished file holds the statement, whole and signed by this key."""
        finished.seek(0)
        try:
            found = read_credentials(finished, media_type, self._context)
        except ValueError as error:
            raise MarkMissing(str(error)) from error
        reason = _unlike_reason(found, said, self._key)
        if reason is not None:
            raise MarkMissing(reason)

    def _signed(
        self, signer: Signer, media_type: str, finished: IO[bytes], signed: IO[bytes], said: Statement
    ) -> None:  # fmt: skip
        finished.seek(0)
        builder = Builder(_manifest(media_type, said), context=self._context)
        try:
            builder.sign(signer, media_type, finished, signed)
        finally:
            builder.close()


def _signer(key: SigningKey, timestamp_server: str | None = None) -> Signer:
    stamping = timestamp_server.encode() if timestamp_server else None
    try:
        return Signer.from_info(C2paSignerInfo(C2paSigningAlg.ES256, key.chain, key.key, stamping))
    except C2paError as error:
        raise SigningUnavailable(f"the key cannot sign: {error}") from error


def _manifest(media_type: str, said: Statement) -> dict[str, Any]:
    program = {"name": "secondface", "version": version("secondface")}
    labels = {f"input-{number}": each for number, each in enumerate(said.inputs)}
    by_role = {role: [label for label, each in labels.items() if each.role == role] for role in ("target", "source")}
    actions: list[dict[str, Any]] = []
    for action, role in (("c2pa.opened", "target"), ("c2pa.placed", "source")):
        if by_role[role]:
            parameters = {"ingredientIds": by_role[role]}
            actions.append({"action": action, "when": said.made_at, "parameters": parameters})
    how = {"description": f"by AI: {', '.join(said.steps)}"}
    edited = {"action": "c2pa.edited", "when": said.made_at, "softwareAgent": program, "parameters": how}
    actions.append({**edited, "digitalSourceType": DIGITAL_SOURCE_TYPE})
    return {
        "claim_generator_info": [program],
        "title": said.produce_id,
        "format": media_type,
        "ingredients": [_ingredient(label, each) for label, each in labels.items()],
        "assertions": [
            {"label": "c2pa.actions.v2", "data": {"actions": actions}},
            {"label": RUN, "data": {"produce_id": said.produce_id, "job": said.job}},
        ],
    }


def _ingredient(label: str, given: Ingredient) -> dict[str, Any]:
    """Declared, not read: an input's own manifest may hold a picture of somebody, and it is a stranger's bytes."""
    return {
        "title": given.role,
        "format": given.media_type,
        "relationship": "parentOf" if given.role == "target" else "componentOf",
        "label": label,
        **({"metadata": {_AIGC: dict(given.label.values())}} if given.label else {}),
    }


def _unlike_reason(found: Credentials | None, said: Statement, key: SigningKey) -> str | None:
    if found is None:
        return "the content credentials are missing"
    if found.state == "invalid":
        return f"the signature does not hold: {', '.join(found.failures)}"
    expected = (said.produce_id, key.owner)
    return None if (found.produce_id, found.signer) == expected else "the content credentials are of something else"
