"""The audit: signed words of how far its chain has come, pruning behind a signed checkpoint, export, and its check.

Decides what is signed when, and what is believed. Must not know keys, files or HTTP.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from secondface.domain.accounts import REGISTER
from secondface.domain.audit import FIRST, Finding, Flaw, HeadKind, SignedHead
from secondface.domain.audit_file import end_line, head_of, head_text, row_line, start_line
from secondface.domain.chain import first_broken
from secondface.domain.ports import Recorded, Transactions, UnitOfWork
from secondface.domain.trust_ports import Signer
from secondface.errors import AuditBroken
from secondface.observe import log

_PAGE = 1_000
_OTHERS = 16
"""Signed words of other keys that are passed over in the search of our last one."""
DAY_MS = 86_400_000


class AuditTrail:
    """What an operator does with the audit, and what the service does with it by itself."""

    def __init__(
        self, transactions: Transactions, signer: Signer, retain_days: int = 366, *, sign_every_s: int = 600,
        stretch: int = 5_000,
    ) -> None:  # fmt: skip
        """`stretch`: so many old entries are looked at in one round."""
        self._transactions, self._signer, self._stretch = transactions, signer, stretch
        self._walked_to: tuple[int, str] | None = None
        self._walk_due_ms = 0
        self._retain_ms, self._sign_every_ms = retain_days * DAY_MS, sign_every_s * 1_000
        self.broken = False
        """Whether the latest round found that what was sealed is not what is there."""

    def step(self) -> None:
        """One round after sealing: look at a stretch of the old, sign what is new, prune what is too old.

        Raises AuditBroken, and signs nothing then.
        """
        with self._transactions.sole("audit") as mine:
            if mine:
                try:
                    self.look_back()
                    self.sign()
                    self.prune()
                except AuditBroken:
                    self.broken = True
                    raise
                self.broken = False

    def look_back(self) -> None:
        """Walk along the chain, some of it in each round and all of it once a day: old entries change too.

        That they hang together up to the new ones is enough; those are compared with what was signed. Raises
        AuditBroken, again in each round until what was found is as it was.
        """
        with self._transactions.view() as work:
            now_ms = work.now_ms()
            if self._walked_to is None and now_ms < self._walk_due_ms:
                return
            # what was walked along may have been pruned meanwhile
            at, digest = max(self._walked_to or (0, ""), self._vouched_start(work))
            rows = work.journal.audit(None, at, self._stretch)
        if (bad := first_broken(rows, at, digest)) is not None:
            self._walked_to = at, digest
            raise AuditBroken(f"Entry {bad} is not what was sealed.", position=bad)
        if len(rows) < self._stretch:
            self._walked_to, self._walk_due_ms = None, now_ms + DAY_MS
            log("audit.walked", "debug", up_to=rows[-1].position if rows else at)
        else:
            self._walked_to = rows[-1].position or at, rows[-1].digest or digest

    def sign(self) -> SignedHead | None:
        """Sign the end of the chain, having checked what came since the last signed word; None where nothing did.

        The word goes to the place outside of the database each time, into it now and then. It never takes the place of
        one that the chain does not reach any more: a cut end would be forgotten. Raises AuditBroken.
        """
        anchor, _ = self._anchor()  # before the look at the rows: those that it names are stored by then
        with self._transactions.view() as work:
            start, known = self._last_signed(work)
            at, digest = start
            while rows := work.journal.audit(None, at, _PAGE):
                if (bad := first_broken(rows, at, digest)) is not None:
                    raise AuditBroken(f"Entry {bad} is not what was sealed.", position=bad)
                at, digest = rows[-1].position or at, rows[-1].digest or digest
            if anchor is not None and self._lost(work, anchor, at):
                raise AuditBroken(
                    f"Entry {anchor.position}, the last one that was signed, is not there.", position=anchor.position
                )
            now_ms = work.now_ms()
        if not at or (known is not None and known.position == at):
            return None
        head = self._signed("head", at, digest, now_ms)
        if known is None or now_ms - known.at_ms >= self._sign_every_ms:
            with self._transactions.begin() as work:
                work.journal.save_head(head)
        self._signer.keep(head_text(head))  # after the commit: it must never be ahead of what is stored
        return head

    def prune(self, before_ms: int | None = None) -> int:
        """Remove the oldest entries, up to one that is younger than the retention allows; returns how many.

        The newest entry always stays, for the chain goes on from it. Raises AuditBroken where they do not hold.
        """
        with self._transactions.view() as work:
            limit_ms = work.now_ms() - self._retain_ms if before_ms is None else before_ms
            oldest = work.journal.audit(None, self._vouched_start(work)[0], 1)
        if not oldest or oldest[0].event.at_ms >= limit_ms:
            return 0  # nearly always: nobody need wait for a look
        with self._transactions.begin() as work:
            after, digest = self._vouched_start(work)
            rows = work.journal.audit(None, after, _PAGE)
            old: list[Recorded] = []
            for each in rows[:-1]:
                if each.event.at_ms >= limit_ms:
                    break
                old.append(each)
            if not old:
                return 0
            if (bad := first_broken(old, after, digest)) is not None:
                raise AuditBroken(f"Entry {bad} is not what was sealed.", position=bad)
            last = old[-1]
            assert last.position is not None and last.digest is not None
            checkpoint = self._signed("checkpoint", last.position, last.digest, work.now_ms())
            gone = work.journal.prune(checkpoint, REGISTER)
        log("audit.pruned", entries=gone, up_to=checkpoint.position)
        return gone

    # ---- what is handed out ------------------------------------------------------------------------------------------

    def export(self) -> Generator[str]:
        """The whole audit as JSON lines with a signed end; read it to its last line, or it counts as cut. Where the
        chain's own beginning or end is not what was signed it has none."""
        anchor, _ = self._anchor()
        with self._transactions.view() as work:
            (after, digest), bad_start = self._start(work)
            last, now_ms = self._end(work, after), work.now_ms()
            lost = anchor is not None and self._lost(work, anchor, last.position or after if last else after)
        yield start_line(after, digest)
        at, until = after, last.position or after if last is not None else after
        end = last.digest or digest if last is not None else digest
        while at < until:
            with self._transactions.view() as work:  # one for each page: a slow reader must hold no transaction
                rows = [each for each in work.journal.audit(None, at, _PAGE) if (each.position or 0) <= until]
            if not rows:
                return  # they were pruned meanwhile: without its end the export says itself that it is cut
            yield from (row_line(each) for each in rows)
            at = rows[-1].position or until
        if not lost and bad_start is None:
            yield end_line(self._signed("export", until, end, now_ms, (after, digest)))

    def check(self) -> Finding:
        """Look at the whole chain, every signed word in the database, and the one outside of it."""
        anchor, spoilt = self._anchor()
        with self._transactions.view() as work:
            start, bad_start = self._start(work)
            words = [*work.journal.heads("head"), *([anchor] if anchor is not None else [])]
            finding = self._walked(work, start, words)
        if bad_start:
            return replace(finding, first_bad=start[0] + 1, flaw=bad_start)
        if finding.whole and spoilt:
            return replace(finding, first_bad=finding.last + 1, flaw="signature")
        return replace(finding, anchored=anchor is not None)

    def _walked(self, work: UnitOfWork, start: tuple[int, str], words: Sequence[SignedHead]) -> Finding:
        ours: dict[int, list[SignedHead]] = {}
        for word in words:
            if word.public_key == self._signer.public_key:
                ours.setdefault(word.position, []).append(word)
        (at, digest), first, vouched = start, start[0], start[0]
        while rows := work.journal.audit(None, at, _PAGE):
            if (bad := first_broken(rows, at, digest)) is not None:
                return self._found(bad - 1 - first, bad - 1, bad, "entry", vouched)
            for each in rows:
                at, digest = each.position or at, each.digest or digest
                if (flaw := self._against(ours.get(at, ()), digest)) is not None:
                    return self._found(at - first, at, vouched + 1, flaw, vouched)
                vouched = at if at in ours else vouched
        if any(position > at for position in ours):
            return self._found(at - first, at, at + 1, "truncated", vouched)
        return self._found(at - first, at, None, None, vouched)

    def _against(self, words: Sequence[SignedHead], digest: str) -> Flaw | None:
        """What is wrong with signed words of a row, or with the row."""
        if not all(self._holds(word) for word in words):
            return "signature"
        return None if all(word.digest == digest for word in words) else "rewritten"

    def _found(self, entries: int, last: int, bad: int | None, flaw: Flaw | None, vouched: int) -> Finding:
        return Finding(
            entries=entries, last=last, first_bad=bad, flaw=flaw, signed_to=vouched,
            public_key=self._signer.public_key,
        )  # fmt: skip

    # ---- signed words ------------------------------------------------------------------------------------------------

    def _signed(
        self, kind: HeadKind, position: int, digest: str, at_ms: int, start: tuple[int, str] = (0, FIRST)
    ) -> SignedHead:  # fmt: skip
        plain = SignedHead(
            kind=kind, position=position, digest=digest, at_ms=at_ms, from_position=start[0], from_digest=start[1],
            public_key=self._signer.public_key,
        )  # fmt: skip
        return replace(plain, signature=self._signer.sign(plain.words()))

    def _holds(self, word: SignedHead) -> bool:
        return self._signer.holds(word.public_key, word.words(), word.signature)

    def _start(self, work: UnitOfWork) -> tuple[tuple[int, str], Flaw | None]:
        """Where the chain begins: after the last checkpoint; and whether that is not one of ours."""
        pruned = work.journal.heads("checkpoint", 1)
        if not pruned:
            return (0, FIRST), None
        last = pruned[-1]
        good = last.public_key == self._signer.public_key and self._holds(last)
        return (last.position, last.digest), None if good else "start"

    def _vouched_start(self, work: UnitOfWork) -> tuple[int, str]:
        """The same, to sign on from: a checkpoint of somebody else would have us vouch for what they made of it.

        Raises AuditBroken.
        """
        start, flaw = self._start(work)
        if flaw is not None:
            raise AuditBroken(
                f"What stood before entry {start[0] + 1} was not removed by this service's key.", position=start[0] + 1
            )
        return start

    def _last_signed(self, work: UnitOfWork) -> tuple[tuple[int, str], SignedHead | None]:
        """The last word of ours in the database that holds, to go on from; else the start. Raises AuditBroken."""
        start = self._vouched_start(work)
        for word in reversed(work.journal.heads("head", _OTHERS)):
            if word.position > start[0] and word.public_key == self._signer.public_key and self._holds(word):
                return (word.position, word.digest), word
        return start, None

    def _anchor(self) -> tuple[SignedHead | None, bool]:
        """The last word of ours outside of the database, and whether there is something else in its place."""
        text = self._signer.kept()
        if text is None:
            return None, False
        word = head_of(text)
        if word is None or word.public_key != self._signer.public_key or not self._holds(word):
            return None, True
        return word, False

    def _lost(self, work: UnitOfWork, anchor: SignedHead, last: int) -> bool:
        """Whether the chain, whose last row is `last`, does not hold what was signed outside of the database."""
        if anchor.position > last:
            return True
        if anchor.position <= self._start(work)[0][0]:
            return False  # pruned meanwhile, and the checkpoint vouches for it
        return [each.digest for each in work.journal.audit(None, anchor.position - 1, 1)] != [anchor.digest]

    def _end(self, work: UnitOfWork, after: int) -> Recorded | None:
        last: Recorded | None = None
        while rows := work.journal.audit(None, after, _PAGE):
            last = rows[-1]
            after = last.position or after
        return last
