"""The lock files pin everything that is declared, prove it by hash, and name no host."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from secondface.models.manifest import load_manifests
from tests.surface.imports import imported_modules

LOCKS = ["requirements.lock", "requirements-build.lock", "requirements-dev.lock"]


def _pins(path: Path) -> dict[str, list[str]]:
    """Package to versions; more than one where Python versions differ."""
    pins: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", path.read_text("utf-8"), re.MULTILINE):
        pins.setdefault(name, []).append(version)
    return pins


@pytest.mark.parametrize("lock", LOCKS)
def test_names_no_host(root: Path, lock: str) -> None:
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", (root / lock).read_text("utf-8"))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes(root: Path, lock: str) -> None:
    entries = re.split(r"^(?=[a-z0-9])", (root / lock).read_text("utf-8"), flags=re.MULTILINE)
    assert [entry.splitlines()[0] for entry in entries if entry.strip() and "--hash=sha256:" not in entry] == []


def _declared(root: Path) -> set[str]:
    requirements = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in requirements}


def test_every_declared_dependency_is_pinned(root: Path) -> None:
    assert _declared(root) <= set(_pins(root / "requirements.lock"))


def test_every_import_is_declared_and_every_declaration_is_used(root: Path, package_files: list[Path]) -> None:
    providers = packages_distributions()
    imported = {name.split(".")[0] for path in package_files for name in imported_modules(path)}
    imported -= {"secondface", "_typeshed"}  # the latter exists for type checkers only
    used = {provider.lower().replace("_", "-") for name in imported for provider in providers[name]}
    # Of some packages nothing but a model's file is used.
    used |= {manifest.source.package for manifest in load_manifests() if manifest.source.package in _declared(root)}
    # pydantic re-exports its core, which it pins itself.
    assert used - {"pydantic-core"} == _declared(root)


def test_development_tests_what_is_shipped(root: Path) -> None:
    shipped, developed = _pins(root / "requirements.lock"), _pins(root / "requirements-dev.lock")
    assert {name: versions for name, versions in shipped.items() if developed.get(name) != versions} == {}


def test_each_python_gets_its_pyav(root: Path) -> None:
    text = (root / "requirements.lock").read_text("utf-8")
    assert re.search(r"^av==18\.\S+ ; python_full_version < '3\.12'", text, re.MULTILINE)
    assert re.search(r"^av==19\.\S+ ; python_full_version >= '3\.12'", text, re.MULTILINE)
