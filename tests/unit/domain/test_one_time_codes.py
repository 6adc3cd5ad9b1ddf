"""A code counts once, and guessing is slowed ever more."""

from __future__ import annotations

from dataclasses import replace

from secondface.domain.one_time_codes import FREE_FAILURES, CodeBook, judge

BOOK = CodeBook(key_id="k", account="a", sealed="s", made_ms=0)


def test_a_code_counts_once_and_no_earlier_one_after_it() -> None:
    after, verdict = judge(BOOK, 100, 1_000)
    assert verdict == "good"
    for step in (100, 99):
        assert judge(after, step, 2_000)[1] == "used"
    assert judge(after, 101, 2_000)[1] == "good"


def test_the_same_code_holds_again_for_the_same_purpose_only() -> None:
    after, _ = judge(BOOK, 100, 1_000, "submit one")
    assert judge(after, 100, 2_000, "submit one") == (after, "good")
    assert judge(after, 100, 2_000, "submit two")[1] == "used"
    assert judge(after, 100, 2_000)[1] == "used"
    nameless, _ = judge(BOOK, 100, 1_000)
    assert judge(nameless, 100, 2_000)[1] == "used"


def test_wrong_codes_block_for_longer_each_time_and_a_good_one_forgives() -> None:
    book, now_ms, waits = BOOK, 0, list[int]()
    for _ in range(FREE_FAILURES + 3):
        book, verdict = judge(book, None, now_ms)
        assert verdict == "wrong"
        if book.blocked_until_ms > now_ms:
            assert judge(book, 5, now_ms) == (book, "blocked"), "not even the right one helps now"
            waits.append(book.blocked_until_ms - now_ms)
            now_ms = book.blocked_until_ms
    assert waits == [300_000, 600_000, 1_200_000, 2_400_000]
    book, verdict = judge(book, 5, now_ms)
    assert (verdict, book.failures) == ("good", 0)
    assert judge(replace(BOOK, failures=99), None, 0)[0].blocked_until_ms == 86_400_000
