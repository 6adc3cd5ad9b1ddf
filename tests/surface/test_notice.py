"""Everybody whose work is inside the package is named, with licence and version."""

from __future__ import annotations

import re
from pathlib import Path

from secondface.models.manifest import Manifest, load_manifests

_LICENCE_NAMES = {
    "Apache-2.0": "Apache License 2.0", "CC0-1.0": "CC0 1.0", "MIT": "MIT License",
    "BSD-2-Clause": "BSD 2-Clause License",
}  # fmt: skip


def _entry(notice: str, manifest: Manifest) -> str:
    paragraphs = re.split(r"\n\s*\n", notice)
    found = [paragraph for paragraph in paragraphs if manifest.file in paragraph]
    assert len(found) == 1, manifest.file
    return " ".join(found[0].split())


def test_each_model_is_credited(root: Path) -> None:
    notice = (root / "NOTICE").read_text("utf-8")
    for manifest in load_manifests():
        entry = _entry(notice, manifest)
        assert f"{manifest.source.package} {manifest.source.version}" in entry
        assert _LICENCE_NAMES[manifest.licence] in entry


def test_sample_media_are_credited(root: Path) -> None:
    assert "Copyright (c) 2026 Prompt Haus" in (root / "NOTICE").read_text("utf-8")


def test_licence_is_apache_2(root: Path) -> None:
    licence = (root / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
