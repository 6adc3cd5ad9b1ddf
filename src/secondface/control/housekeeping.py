"""What has to be done now and then: seal the journal, forget old idempotency keys, drop expired results."""

from __future__ import annotations

from dataclasses import dataclass

from secondface.domain.ports import Transactions


@dataclass(frozen=True, slots=True)
class Housework:
    """What one round did."""

    sealed: int = 0
    forgotten: int = 0
    pruned: int = 0


class Housekeeping:
    """One round at a time, however many processes there are."""

    def __init__(self, transactions: Transactions, replays_s: int = 86_400) -> None:
        self._transactions, self._replays_ms = transactions, replays_s * 1000

    def step(self) -> Housework:
        """Do one round; nothing where another process is at it. Sealing comes in a transaction of its own."""
        with self._transactions.sole("housekeeping") as mine:
            if not mine:
                return Housework()
            with self._transactions.begin() as work:
                sealed = work.journal.seal()
            with self._transactions.begin() as work:
                forgotten = work.replays.forget(work.now_ms() - self._replays_ms)
                pruned = work.cache.prune()
        return Housework(sealed, forgotten, pruned)
