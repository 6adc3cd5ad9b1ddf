"""However runs overlap on one device, what they are counted sums to the time in which it worked."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from secondface.pipeline.device_share import DeviceShare, SharedDevice

STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["enter", "leave", "batch"]), st.integers(0, 10**9)))


class _Clock:
    def __init__(self) -> None:
        self.at = 5

    def __call__(self) -> int:
        return self.at


@given(STEPS)
def test_shares_sum_to_the_union(steps: list[tuple[int, str, int]]) -> None:
    clock = _Clock()
    device = SharedDevice(clock)
    shares = [device.share() for _ in range(4)]
    depth = [0] * 4
    union = 0
    for who, what, length in steps:
        if what == "enter":
            shares[who].__enter__()
            depth[who] += 1
        elif what == "leave" and depth[who]:
            shares[who].__exit__()
            depth[who] -= 1
        elif what == "batch":
            with device.batch({shares[who]: 3, shares[(who + 1) % 4]: 1}):
                clock.at += length
            union += length
        clock.at += length
        union += length if any(depth) else 0
    assert sum(share.busy_ns for share in shares) == device.busy_ns == union
    assert min(share.busy_ns for share in shares) >= 0


def test_a_batch_is_divided_by_rows() -> None:
    clock = _Clock()
    device = SharedDevice(clock)
    mine, other = device.share(), device.share()
    with mine, mine.aside(), device.batch({mine: 3, other: 1}):
        clock.at += 4_000
    assert (mine.busy_ns, other.busy_ns) == (3_000, 1_000)


def test_blocks_of_several_threads_share_equally_and_inner_blocks_count_once() -> None:
    clock = _Clock()
    device = SharedDevice(clock)
    mine, other = device.share(), device.share()

    def hold(share: DeviceShare, entered: threading.Event, leave: threading.Event) -> None:
        with share, share:
            entered.set()
            leave.wait()

    leave = threading.Event()
    for share, count in ((mine, 1), (other, 2)):
        for _ in range(count):
            entered = threading.Event()
            threading.Thread(target=hold, args=(share, entered, leave), daemon=True).start()
            assert entered.wait(60)
    clock.at += 300
    assert (mine.busy_ns, other.busy_ns, device.busy_ns) == (100, 200, 300)
    leave.set()


def test_one_run_alone_is_counted_like_on_a_device_of_its_own() -> None:
    clock = _Clock()
    device = SharedDevice(clock)
    share = device.share()
    rng = np.random.default_rng(1)
    lengths = [int(each) for each in rng.integers(1, 1000, 50)]
    for length in lengths:
        with share:
            clock.at += length
        clock.at += 17
    assert share.busy_ns == sum(lengths) == device.busy_ns
