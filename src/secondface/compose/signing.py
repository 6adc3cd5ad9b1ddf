"""From settings to the key that signs outputs, and to the roots in which signatures are trusted here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from secondface.errors import InvalidSetting
from secondface.provenance.certificates import SigningKey, operators_key, own_key, own_roots, read_roots
from secondface.provenance.credentials import Credentials, State
from secondface.provenance.signing import ContentSigner
from secondface.provenance.verdicts import Verification
from secondface.settings import Settings
from secondface.spec.trust_views import LayersView, MarksView, SignatureView


def content_signer(settings: Settings) -> ContentSigner:
    """Signs with the operator's key, else with that of this machine's own authority, which is made when there is none.

    The same one for the same settings. Raises SigningUnavailable, InvalidSetting.
    """
    names = settings.signing_chain_file, settings.signing_key_file
    return _signer(_folder(settings), *_both(names), settings.timestamp_server)


def signing_key(settings: Settings) -> SigningKey:
    """The key of `content_signer`. Raises SigningUnavailable, InvalidSetting."""
    return _key(_folder(settings), *_both((settings.signing_chain_file, settings.signing_key_file)))


def key_files(settings: Settings) -> dict[str, str]:
    """The settings by which another process signs with the same key. Raises SigningUnavailable, InvalidSetting."""
    folder = _folder(settings)
    if settings.signing_chain_file:
        chain, key = Path(settings.signing_chain_file).absolute(), Path(settings.signing_key_file).absolute()
    else:
        own_key(folder)
        chain, key = folder / "chain.pem", folder / "key.pem"
    return {"signing_chain_file": str(chain), "signing_key_file": str(key)}


def trusted_roots(settings: Settings) -> bytes:
    """The roots of signatures that are trusted here, as PEM: of our own key, and those that the settings name.

    Where nothing was ever signed nothing is made. Raises SigningUnavailable, InvalidSetting.
    """
    roots = own_roots(_folder(settings))
    if settings.signing_chain_file:
        roots += signing_key(settings).roots
    if settings.trusted_roots_file:
        roots += read_roots(Path(settings.trusted_roots_file))
    return roots


def _folder(settings: Settings) -> Path:
    return settings.data_dir.absolute() / "signing"


def _both(names: tuple[str, str]) -> tuple[str, str]:
    if bool(names[0]) != bool(names[1]):
        raise InvalidSetting("signing_chain_file and signing_key_file belong together: name both or none.")
    return names


def _key(folder: Path, chain_file: str, key_file: str) -> SigningKey:
    return operators_key(Path(chain_file), Path(key_file)) if chain_file else own_key(folder)


@lru_cache(maxsize=4)
def _signer(folder: Path, chain_file: str, key_file: str, timestamp_server: str) -> ContentSigner:
    return ContentSigner(_key(folder, chain_file, key_file), timestamp_server)


def marks_view(found: Verification) -> MarksView:
    """A verdict in the words of the service."""
    return MarksView(
        ai_made=found.ai_made, sound=found.is_sound, format_name=found.format_name,
        layers=LayersView.model_validate(found.layers), watermark=found.watermark,
        signature=None if found.signed is None else _signature_view(found.signed, found.credentials or Credentials()),
        producer=found.label.content_producer if found.label else None, produce_id=found.produce_id, job=found.job,
        digital_source_type=found.digital_source_type, problems=found.problems,
    )  # fmt: skip


def _signature_view(verdict: State, signed: Credentials) -> SignatureView:
    return SignatureView(
        verdict=verdict, signer=signed.signer, issuer=signed.issuer, signed_at=signed.signed_at,
        generator=signed.generator, actions=signed.actions, ingredients=signed.ingredients, failures=signed.failures,
    )  # fmt: skip
