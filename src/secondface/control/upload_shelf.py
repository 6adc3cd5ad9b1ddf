"""Where uploads of accounts are put: no account holds more bytes there than its plan allows.

A file takes its share before a byte of it is read where its sender says how long it is, else as it grows. Shares of one
account are taken in turn, so that two senders never take the same room. Files go in many ways; a share whose file is
gone is given back by the sweep, and at once where somebody needs the room. Must not know HTTP.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace

from secondface.control.uploads import PLACE, account_of
from secondface.domain.ports import Clock, Ids, ObjectStore, Stored, Transactions, UnitOfWork
from secondface.domain.uploads import UploadShare
from secondface.errors import AccountMissing, ObjectMissing, SecondfaceError, UploadsFull
from secondface.observe import log

_AHEAD_BYTES = 4 << 20
"""Taken at once of a file whose length nobody said, so that not every block of it is a transaction."""
_BLOCK_BYTES = 1 << 20
"""A shorter block is the last one, for nothing is taken ahead behind it."""
_TOUCH_MS = 300_000


class UploadShelf:
    """Puts uploads into the object store, each within what its account may hold."""

    def __init__(
        self, transactions: Transactions, objects: ObjectStore, clock: Clock, ids: Ids, *, idle_ms: int = 3_600_000
    ) -> None:  # fmt: skip
        """`idle_ms`: a file that has not grown for so long is on its way no more."""
        self._transactions, self._objects, self._clock, self._ids = transactions, objects, clock, ids
        self._idle_ms = idle_ms

    def require_room(self, account: str, size_bytes: int) -> None:
        """Refuse what has no room as things are. Nothing is set aside. Raises UploadsFull, AccountMissing."""
        if self._lacks(account, size_bytes) is not None:
            self._forget_gone(account)
            if (lack := self._lacks(account, size_bytes)) is not None:
                raise lack

    def put(
        self, key: str, chunks: Iterable[bytes], content_type: str, *, most_bytes: int, announced_bytes: int = 0
    ) -> Stored:  # fmt: skip
        """As ObjectStore.put. Raises UploadsFull and AccountMissing too: the former before it reads any of `chunks`
        where the announced bytes have no room."""
        share = UploadShare(id=self._ids.new("shr"), account=account_of(key), key=key)
        counted = self._counted(share, chunks, min(announced_bytes, most_bytes))
        try:
            stored = self._objects.put(key, counted, content_type, most_bytes=most_bytes)
        except BaseException:
            self._give_back(share)
            raise
        self._settle(share)
        return stored

    def step(self) -> int:
        """Give back shares whose files are gone, and count files that have none; returns how many were either."""
        with self._transactions.view() as work:
            shares = work.uploads.all()
        known = {each.key for each in shares}
        changed = sum(self._forget_gone(account) for account in {each.account for each in shares})
        return changed + sum(self._count(key) for key in self._objects.keys(PLACE) if key not in known)

    # ---- one file ----------------------------------------------------------------------------------------------------

    def _counted(self, share: UploadShare, chunks: Iterable[bytes], announced_bytes: int) -> Generator[bytes]:
        """The chunks, each handed on once there is room for it."""
        if announced_bytes:
            share = self._take(share, announced_bytes, 0)
        size, touched_ms = 0, self._clock.elapsed_ms()
        for chunk in chunks:
            size += len(chunk)
            if size > share.size_bytes:
                share = self._take(share, size, _AHEAD_BYTES if len(chunk) >= _BLOCK_BYTES else 0)
                touched_ms = self._clock.elapsed_ms()
            elif self._clock.elapsed_ms() - touched_ms >= _TOUCH_MS:  # or it would count as abandoned
                share = self._take(share, share.size_bytes, 0)
                touched_ms = self._clock.elapsed_ms()
            yield chunk

    def _take(self, share: UploadShare, size_bytes: int, ahead_bytes: int) -> UploadShare:
        """The share with that size, and some more where there is room. Raises UploadsFull, AccountMissing."""
        taken = self._tried(share, size_bytes, ahead_bytes)
        if isinstance(taken, UploadsFull) and self._forget_gone(share.account):
            taken = self._tried(share, size_bytes, ahead_bytes)
        if isinstance(taken, UploadsFull):
            raise taken
        return taken

    def _tried(self, share: UploadShare, size_bytes: int, ahead_bytes: int) -> UploadShare | UploadsFull:
        with self._transactions.begin() as work:
            work.accounts.lock(share.account)  # or two would see the same room
            room, most = _room(work, share.account, share.id)
            if size_bytes > room:
                return _full(size_bytes, room, most)
            size = min(size_bytes + ahead_bytes, room)
            taken = replace(share, size_bytes=size, touched_ms=work.now_ms())
            work.uploads.save(taken)
            return taken

    def _settle(self, share: UploadShare) -> None:
        """Let the share be as large as the file is, and speak for the key alone: what was there before is replaced."""
        with self._transactions.begin() as work:
            work.accounts.lock(share.account)  # the last of several senders of one key finds what stayed
            others = [each.id for each in work.uploads.of_key(share.key) if each.stored]
            try:
                size = self._objects.head(share.key).size_bytes
            except ObjectMissing:  # somebody deleted it meanwhile
                work.uploads.drop([*others, share.id])
                return
            work.uploads.drop(others)
            work.uploads.save(replace(share, size_bytes=size, stored=True, touched_ms=work.now_ms()))

    def _give_back(self, share: UploadShare) -> None:
        """Its file did not come. Why is what the caller wants to hear, whatever becomes of the share."""
        try:
            with self._transactions.begin() as work:
                work.uploads.drop([share.id])
        except SecondfaceError as error:
            log("uploads.share_kept", "warning", key=share.key, error=error.code)  # until the sweep finds it abandoned

    # ---- all of them -------------------------------------------------------------------------------------------------

    def _lacks(self, account: str, size_bytes: int) -> UploadsFull | None:
        with self._transactions.view() as work:
            room, most = _room(work, account)
        return _full(size_bytes, room, most) if size_bytes > room else None

    def _forget_gone(self, account: str) -> int:
        """Give back the account's shares whose files were deleted, or that nobody sends any more; how many."""
        with self._transactions.view() as work:
            shares, now_ms = work.uploads.all(account), work.now_ms()
        there = set(self._objects.keys(f"{PLACE}{account}/"))  # after the shares: what those tell of was there by then
        gone = [
            each.id
            for each in shares
            if each.abandoned(now_ms, self._idle_ms) or (each.stored and each.key not in there)
        ]
        if gone:
            with self._transactions.begin() as work:
                work.uploads.drop(gone)
        return len(gone)

    def _count(self, key: str) -> int:
        """Give a file a share that has none: it came before there were shares."""
        account = account_of(key)
        with self._transactions.begin() as work:
            if work.accounts.lock(account) is None or work.uploads.of_key(key):
                return 0
            try:
                size = self._objects.head(key).size_bytes
            except ObjectMissing:
                return 0
            share = UploadShare(id=self._ids.new("shr"), account=account, key=key, size_bytes=size, stored=True)
            work.uploads.save(replace(share, touched_ms=work.now_ms()))
        return 1


def _room(work: UnitOfWork, account: str, besides: str = "") -> tuple[int, int]:
    """Bytes that the account may still take, beside one share of it, and how many it may hold in all."""
    holder = work.accounts.get(account)
    if holder is None:
        raise AccountMissing(account, account=account)
    most = holder.plan.max_upload_bytes
    return most - work.uploads.held_bytes(account, besides), most


def _full(size_bytes: int, room: int, most: int) -> UploadsFull:
    return UploadsFull(
        f"{size_bytes} bytes have no room: of {most} that the plan allows, {max(0, room)} are free.",
        size_bytes=size_bytes, free_bytes=max(0, room), most_bytes=most,
    )  # fmt: skip
