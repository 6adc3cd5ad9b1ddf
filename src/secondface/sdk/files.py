"""Files on their way to the service and back: streamed, checked, taken up again where they broke off."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from io import BufferedRandom, BufferedWriter
from pathlib import Path

from secondface.errors import DiskFull, FileUnreadable, OutputNotWritable, SecondfaceError
from secondface.sdk.answers import read_as
from secondface.sdk.calls import Answer, Call, Close, FilePart, Flow, Pause, Unreachable, take
from secondface.sdk.problems import AnswerUnreadable, ServiceUnreachable
from secondface.sdk.retries import Retries, call, opened
from secondface.spec.service import UploadRequest, VerifyRequest
from secondface.spec.trust_views import MarksView
from secondface.spec.views import StoredView, UploadView

_PIECE_BYTES = 1 << 20
_WITH_QUESTION_BYTES = 32 << 20
_DIGEST = re.compile(r'(?:W/)?"([0-9a-f]{64})"')


def upload(content: Path | bytes, retries: Retries) -> Flow[StoredView]:
    """Send a file. Raises FileUnreadable, AnswerUnreadable where what arrived is not what was sent, and refusals."""
    size, digest = _facts(content)
    wanted = UploadRequest(size_bytes=size) if size else UploadRequest()
    words = wanted.model_dump(mode="json", exclude_none=True)
    place = read_as(UploadView, (yield from call(Call(method="POST", path="/v1/uploads", words=words), retries)))
    headers = {"content-type": wanted.content_type, "content-length": str(size)}
    sent = yield from call(Call(method=place.method, path=place.url, file=content, headers=headers), retries)
    stored = read_as(StoredView, sent)
    if (stored.size_bytes, stored.sha256) != (size, digest):
        raise AnswerUnreadable("What arrived is not what was sent; did the file change meanwhile?")
    return stored


def verify(content: Path | bytes | StoredView, retries: Retries) -> Flow[MarksView]:
    """Read the marks of a file. A small one goes with the question and is kept nowhere; a large one is uploaded."""
    if not isinstance(content, StoredView) and _length(content) <= _WITH_QUESTION_BYTES:
        part = FilePart("file", content if isinstance(content, bytes) else read_whole(content))
        asked = Call(method="POST", path="/v1/verify", form=(part,))
    else:
        stored = content if isinstance(content, StoredView) else (yield from upload(content, retries))
        words = VerifyRequest(upload=stored.id).model_dump(mode="json")
        asked = Call(method="POST", path="/v1/verify", words=words)
    return read_as(MarksView, (yield from call(asked, retries)))


def download(job_id: str, output: Path, retries: Retries, place: str | None = None) -> Flow[Path]:
    """Fetch a result, or what is at another place, into NAME.part, check it, and give it its name.

    A part that is there already is continued. Raises JobSettled where there is no result, OutputNotWritable, DiskFull.
    """
    part = output.with_name(output.name + ".part")
    tries = 0
    while True:
        before = _size(part)
        try:
            with _written(part) as file:
                whole = yield from _continue(place or f"/v1/jobs/{job_id}/result", file, retries)
        except SecondfaceError as error:
            if error.facts.get("status") == 416 and before:  # the part is of something else, or longer than the file
                part.unlink(missing_ok=True)
                continue
            if not before:
                part.unlink(missing_ok=True)  # nothing came
            raise
        if whole:
            break
        tries = 1 if _size(part) > before else tries + 1
        if tries >= retries.most_tries:
            raise ServiceUnreachable("The download broke off again and again.")
        yield Pause(retries.pause_s(tries))
    with _ours(output):
        part.replace(output)
    return output


def _continue(place: str, file: BufferedRandom, retries: Retries) -> Flow[bool]:
    """Add what is missing; False where it broke off, or where what was there already was of something else."""
    held = file.seek(0, os.SEEK_END)
    headers = {"accept-encoding": "identity", **({"range": f"bytes={held}-"} if held else {})}
    wanted = Call(method="GET", path=place, headers=headers)
    head = yield from opened(wanted, retries)
    if head.status != 206:
        file.truncate(0)  # the whole file comes
    try:
        while True:
            piece = yield from take()
            if isinstance(piece, Unreachable):
                return False
            if piece is None:
                break
            file.write(piece)
    finally:
        file.flush()
    yield Close()
    file.seek(0)
    if hashlib.file_digest(file, "sha256").hexdigest() == _digest(head):
        os.fsync(file.fileno())
        return True
    file.truncate(0)
    return False


def _digest(head: Answer) -> str:
    if match := _DIGEST.fullmatch(head.headers.get("etag", "")):
        return match[1]
    raise AnswerUnreadable("The result comes without its digest (ETag).")


def _facts(content: Path | bytes) -> tuple[int, str]:
    if isinstance(content, bytes):
        return len(content), hashlib.sha256(content).hexdigest()
    try:
        with content.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return file.tell(), digest
    except OSError as error:
        raise FileUnreadable(f"{content}: {error.strerror}", path=str(content)) from error


def _length(content: Path | bytes) -> int:
    if isinstance(content, bytes):
        return len(content)
    try:
        return content.stat().st_size
    except OSError as error:
        raise FileUnreadable(f"{content}: {error.strerror}", path=str(content)) from error


def read_whole(path: Path) -> bytes:
    """A small file. Raises FileUnreadable."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileUnreadable(f"{path}: {error.strerror}", path=str(path)) from error


def pieces(content: Path | bytes) -> Generator[bytes]:
    """A body piece by piece. Raises FileUnreadable."""
    if isinstance(content, bytes):
        yield content
        return
    try:
        with content.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece
    except OSError as error:
        raise FileUnreadable(f"{content}: {error.strerror}", path=str(content)) from error


@contextmanager
def _written(part: Path) -> Generator[BufferedRandom]:
    with _ours(part), part.open("a+b") as file:
        yield file


@contextmanager
def whole(output: Path) -> Generator[BufferedWriter]:
    """A file that is NAME.part until the block has ended, and is gone where that fails.

    Raises OutputNotWritable, DiskFull.
    """
    part = output.with_name(output.name + ".part")
    with _ours(output):
        try:
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(output)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def _ours(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else OutputNotWritable
        raise kind(f"{path}: {error.strerror}", path=str(path)) from error


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
