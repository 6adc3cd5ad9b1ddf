"""One-time codes (TOTP, RFC 6238): enrolling a key, and spending a code as a second authorisation.

An operator enrols a key, because who steals a key must not be able to give it codes of their own. The secret is shown
once and stored encrypted. Must not know HTTP, nor what a code is spent on.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass

import pyotp
from pyotp.totp import TOTP

from secondface.control.auth import Caller
from secondface.domain.jobs import Event, Fact
from secondface.domain.one_time_codes import SKEW_STEPS, STEP_S, CodeBook, Verdict, judge
from secondface.domain.ports import Transactions, UnitOfWork
from secondface.domain.trust_ports import Sealer
from secondface.errors import AccessProblem, AccountMissing, CodeRefused, CodesMissing, RateLimited

_CODE = re.compile(r"[0-9]{6}", re.ASCII)
_ISSUER = "secondface"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What an authenticator needs; nobody can read it again."""

    key_id: str
    uri: str
    secret: str


class OneTimeCodes:
    """Codes of keys."""

    def __init__(self, transactions: Transactions, sealer: Sealer) -> None:
        self._transactions, self._sealer = transactions, sealer

    def enrol(self, caller: Caller, account_id: str, key_id: str) -> Enrolment:
        """Give a key codes, new ones where it had some. Raises AccountMissing, AccessProblem."""
        caller.require("admin")
        secret = pyotp.random_base32()
        with self._transactions.begin() as work:
            name = _key_name(work, account_id, key_id)
            sealed = self._sealer.seal(secret, key_id)
            work.codes.save(CodeBook(key_id=key_id, account=account_id, sealed=sealed, made_ms=work.now_ms()))
            _tell(work, caller, account_id, key_id, "codes.enrolled")
        uri = TOTP(secret).provisioning_uri(name=name, issuer_name=_ISSUER)
        return Enrolment(key_id, uri, secret)

    def drop(self, caller: Caller, account_id: str, key_id: str) -> bool:
        """Take a key's codes away; whether it had some. Raises AccountMissing, AccessProblem."""
        caller.require("admin")
        with self._transactions.begin() as work:
            _key_name(work, account_id, key_id)
            dropped = work.codes.drop(key_id)
            if dropped:
                _tell(work, caller, account_id, key_id, "codes.dropped")
        return dropped

    def spend(self, caller: Caller, code: str, purpose: str = "") -> None:
        """Take a fresh code of the caller's key. With a purpose the same code holds again for the same purpose, so
        that a request whose answer was lost can be repeated.

        A transaction of its own: a wrong code is counted whatever becomes of the request. Raises CodesMissing,
        CodeRefused, RateLimited.
        """
        with self._transactions.begin() as work:
            book = work.codes.lock(caller.key_id)
            if book is None:
                raise CodesMissing
            now_ms = work.now_ms()
            after, verdict = judge(book, self._step(book, code, now_ms), now_ms, purpose)
            if after != book:
                work.codes.save(after)
                _tell(work, caller, book.account, book.key_id, f"codes.{'spent' if verdict == 'good' else 'refused'}")
        _require(verdict, book, now_ms)

    def _step(self, book: CodeBook, code: str, at_ms: int) -> int | None:
        """The step of time that a code belongs to. All are computed and compared, so that the time says nothing."""
        made = TOTP(self._sealer.open(book.sealed, book.key_id), interval=STEP_S)
        now = at_ms // 1000 // STEP_S
        given = code if _CODE.fullmatch(code) else ""
        steps = range(now - SKEW_STEPS, now + SKEW_STEPS + 1)
        fits = [step for step in steps if hmac.compare_digest(made.generate_otp(step), given)]
        return max(fits, default=None)


def _require(verdict: Verdict, book: CodeBook, at_ms: int) -> None:
    match verdict:
        case "good":
            return
        case "blocked":
            wait_s = -(-(book.blocked_until_ms - at_ms) // 1000)
            raise RateLimited(f"Too many wrong codes; try again in {wait_s} s.", retry_after_s=wait_s)
        case "used":
            raise CodeRefused("It was used before; wait for the next one.")
        case "wrong":
            raise CodeRefused


def _key_name(work: UnitOfWork, account_id: str, key_id: str) -> str:
    account = work.accounts.get(account_id)
    if account is None:
        raise AccountMissing(account=account_id)
    for key in work.accounts.keys(account_id):
        if key.id == key_id:
            return f"{account.name} ({key.name or key.id})"
    raise AccessProblem(f"The account has no key {key_id}.", key=key_id)


def _tell(work: UnitOfWork, caller: Caller, account_id: str, key_id: str, kind: str) -> None:
    facts: dict[str, Fact] = {}
    work.journal.record(account_id, caller.actor, [Event(key_id, kind, work.now_ms(), facts)])
