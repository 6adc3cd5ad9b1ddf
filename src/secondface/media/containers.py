"""Opening containers through FFmpeg, and FFmpeg's failures as ours.

Decides that only the one local file that was named is ever read (no network, no playlist, no second file);
must not know pixels or codecs.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import av.error
from av.codec.hwaccel import HWAccel
from av.container import InputContainer, OutputContainer

from secondface.errors import (
    DiskFull,
    EncodeFailed,
    FileUnreadable,
    MediaCorrupt,
    MediaEmpty,
    MediaUnsupported,
    OutputNotWritable,
    SecondfaceError,
)
from secondface.media.handed import descriptor_of

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_WRITABLE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG}
)


def local_url(path: Path) -> str:
    """The name under which FFmpeg opens exactly this file, whatever characters its name has."""
    return f"file:{path}"


def open_input(path: Path, format_name: str, hardware: HWAccel | None = None) -> InputContainer:
    """Open `path` as container `format_name`, with every protocol but local files switched off.

    `hardware` decodes its video where it can.
    """
    descriptor = descriptor_of(path)
    options = {"protocol_whitelist": "file", "format_whitelist": format_name}
    if descriptor is not None:
        options |= {"protocol_whitelist": "fd", "fd": str(descriptor)}
    with reading_failures(path):
        if descriptor is not None:
            # FFmpeg begins where the last reader stopped
            os.lseek(descriptor, 0, os.SEEK_SET)
        demuxer = format_name.partition(",")[0]
        # PyAV before 19 gives up on tags that are not UTF-8 unless it is told to let them pass
        lenient: dict[str, Any] = {}
        if hasattr(InputContainer, "metadata_errors"):
            lenient["metadata_errors"] = "surrogateescape"
        url = local_url(path) if descriptor is None else "fd:"
        try:
            return av.open(url, "r", format=demuxer, options=options, hwaccel=hardware, **lenient)
        except av.error.EOFError as cause:
            raise MediaEmpty(f"{path.name}: it ends before its first frame") from cause


def open_output(path: Path, format_name: str, options: Mapping[str, str]) -> OutputContainer:
    """Open `path` for writing as container `format_name`; muxer `options` as FFmpeg names them."""
    with writing_failures(path):
        return av.open(local_url(path), "w", format=format_name, container_options=dict(options))


def legible(tags: Mapping[str, str]) -> dict[str, str]:
    """`tags` as any container can store them: bytes that are no UTF-8 become U+FFFD."""
    return {_legible(key): _legible(value) for key, value in tags.items()}


def _legible(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@contextmanager
def reading_failures(path: Path, where: str = "") -> Generator[None, None, None]:
    """Turn what FFmpeg raises while `path` is read into our errors; `where` says what was being done."""
    try:
        yield
    except SecondfaceError:
        raise
    except (av.error.PermissionError, av.error.FileNotFoundError, av.error.IsADirectoryError) as cause:
        raise FileUnreadable(f"{path.name}: {cause.strerror}") from cause
    except (av.error.DecoderNotFoundError, av.error.DemuxerNotFoundError) as cause:
        raise MediaUnsupported(_detail(path, where, cause)) from cause
    except (av.error.FFmpegError, OSError, ValueError, EOFError) as cause:
        raise MediaCorrupt(_detail(path, where, cause)) from cause
    except MemoryError as cause:
        raise MediaCorrupt(_detail(path, where, cause)) from cause


@contextmanager
def writing_failures(path: Path, where: str = "") -> Generator[None, None, None]:
    """Turn what FFmpeg or the file system raises while `path` is written into our errors."""
    try:
        yield
    except SecondfaceError:
        raise
    except (av.error.FFmpegError, OSError, ValueError, MemoryError) as cause:
        code = cause.errno if isinstance(cause, (av.error.FFmpegError, OSError)) else None
        if code in _FULL:
            raise DiskFull(f"{path}: {os.strerror(code)}") from cause
        if code in _NOT_WRITABLE:
            raise OutputNotWritable(f"{path}: {os.strerror(code)}") from cause
        raise EncodeFailed(_detail(path, where, cause)) from cause


def _detail(path: Path, where: str, cause: BaseException) -> str:
    known = isinstance(cause, (av.error.FFmpegError, OSError)) and cause.strerror
    reason = known or str(cause) or type(cause).__name__
    return f"{path.name}{', ' + where if where else ''}: {reason}"
