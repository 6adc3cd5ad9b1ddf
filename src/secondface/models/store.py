"""Where model files lie and whether they are what their manifests say.

Decides which bytes may be loaded; must not know ONNX Runtime.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from secondface.errors import ModelCorrupt, ModelMissing, SecondfaceError
from secondface.models.manifest import Manifest, embedded_folder, installed_folder, load_manifests

State = Literal["ready", "missing", "corrupt"]


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One row of `secondface models list`: a manifest and what its file on this machine is worth."""

    manifest: Manifest
    state: State
    detail: str = ""


def resolve(name: str) -> Manifest:
    """The manifest of that name. Raises ModelMissing."""
    for manifest in load_manifests():
        if manifest.name == name:
            return manifest
    known = ", ".join(manifest.name for manifest in load_manifests())
    raise ModelMissing(f"{name} (here: {known})", model=name)


def read_verified(manifest: Manifest) -> bytes:
    """The model's bytes, read once and checked against its size and sha256. Raises ModelMissing, ModelCorrupt."""
    folder = installed_folder(manifest.source) if manifest.source.installed else embedded_folder()
    if folder is None:
        raise ModelMissing(f"{manifest.source.package} {manifest.source.version}", model=manifest.name)
    try:
        blob = (folder / manifest.file).read_bytes()
    except FileNotFoundError as error:
        raise ModelMissing(manifest.file, model=manifest.name) from error
    except OSError as error:
        raise ModelCorrupt(f"{manifest.file}: {error.strerror}", model=manifest.name) from error
    if len(blob) != manifest.size_bytes:
        raise ModelCorrupt(
            f"{manifest.file} has {len(blob)} bytes instead of {manifest.size_bytes}.", model=manifest.name
        )
    if hashlib.sha256(blob).hexdigest() != manifest.sha256:
        raise ModelCorrupt(f"{manifest.file} has another sha256.", model=manifest.name)
    return blob


def describe() -> list[ModelStatus]:
    """The state of every known model, each file read and hashed."""
    return [_status(manifest) for manifest in load_manifests()]


def _status(manifest: Manifest) -> ModelStatus:
    try:
        read_verified(manifest)
    except ModelMissing as error:
        return ModelStatus(manifest, "missing", error.detail)
    except SecondfaceError as error:
        return ModelStatus(manifest, "corrupt", error.detail)
    return ModelStatus(manifest, "ready")
