"""Word reaches those who wait for that job, from any thread and however early it comes; nobody is kept afterwards."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from contextlib import ExitStack

import pytest

from secondface.gateway.news import Listener, News

LONG_S = 600.0


async def hears_nothing(listener: Listener) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await listener.wait(LONG_S)


def test_word_that_came_before_the_wait_is_heard_once() -> None:
    async def story() -> None:
        news = News()
        with news.listen("job_1") as listener:
            news.spread("job_1")
            async with asyncio.timeout(60):
                await listener.wait(LONG_S)
            await hears_nothing(listener)

    asyncio.run(story())


def test_word_from_another_thread_wakes_all_who_wait_for_that_job_and_no_other() -> None:
    async def story() -> None:
        news = News()
        with news.listen("job_1") as first, news.listen("job_1") as second, news.listen("job_2") as other:
            threading.Thread(target=news.spread, args=("job_1",)).start()
            async with asyncio.timeout(60):
                await asyncio.gather(first.wait(LONG_S), second.wait(LONG_S))
            await hears_nothing(other)

    asyncio.run(story())


def test_without_word_the_wait_ends_by_itself() -> None:
    async def story() -> None:
        with News().listen("job_1") as listener:
            await listener.wait(0.01)

    asyncio.run(story())


def test_nobody_is_kept_or_told_afterwards() -> None:
    news = News()
    left: list[weakref.ref[object]] = []

    async def story() -> None:
        with news.listen("job_1") as listener:
            left.append(weakref.ref(listener))
            news.spread("job_1")

    asyncio.run(story())
    gc.collect()
    assert left[0]() is None
    news.spread("job_1")


def test_word_for_a_server_that_has_ended_is_dropped() -> None:
    news = News()

    async def begin() -> None:
        listening.enter_context(news.listen("job_1"))

    with ExitStack() as listening:
        asyncio.run(begin())
        news.spread("job_1")
