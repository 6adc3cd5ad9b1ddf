"""Values that nobody may read: how they come in, and what is shown in their place.

Decides the forms `NAME` and `NAME_FILE`, how an address with a password is shown, and whose eyes a file or a folder is
open to.
Must not know what a secret is for.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from secondface.errors import InvalidSetting

FILE_ENDING = "_FILE"
_LARGEST_BYTES = 64 << 10
_PASSWORD = re.compile(r"([?&][a-z]*password=)[^&#]*", re.IGNORECASE)


class SecretAddress(SecretStr):
    """An address that may hold a password: shown without it."""

    def _display(self) -> str:
        return without_password(self.get_secret_value())


def without_password(address: str) -> str:
    """An address as it may be shown: what stands between the user's name and the host is left out, whatever it is."""
    scheme, mark, rest = address.partition("://")
    if not address:
        return ""
    if not mark:
        return "***"
    # The last @ counts: a password may hold one that nobody wrote as %40.
    words, at, place = rest.rpartition("@")
    user = words.partition(":")[0]
    shown = f"{user}:***@{place}" if at and ":" in words else rest
    return _PASSWORD.sub(r"\1***", f"{scheme}{mark}{shown}")


def secrets_in_files(environment: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Secrets by setting, from the files that variables such as SECONDFACE_API_KEY_FILE name.

    `variables` gives the plain variable of each setting. Raises InvalidSetting; what is in a file is never said.
    """
    found: dict[str, str] = {}
    for setting, variable in variables.items():
        name = f"{variable}{FILE_ENDING}"
        if not (path := environment.get(name)):
            continue
        if environment.get(variable):
            raise InvalidSetting(f"{variable} and {name} are both set; set one of them.")
        found[setting] = _read(name, Path(path))
    return found


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise InvalidSetting(f"{name}: {path}: {error.strerror}", path=str(path)) from error
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if not text or len(content) > _LARGEST_BYTES:
        raise InvalidSetting(f"{name}: {path} holds no secret in a line of text.", path=str(path))
    return text


def make_private(folder: Path) -> None:
    """Make a folder, with those above it that are not there, for its owner alone. Raises OSError.

    Whatever comes first makes the folder that all the rest then lies in, so everybody makes it like this.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise


def open_to_others(path: Path) -> bool:
    """Whether others than its owner may read or write a file or folder. Raises OSError."""
    return bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO))
