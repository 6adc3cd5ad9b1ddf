"""The ends of a caged run: nobody waits for a run that holds on to its own."""

from __future__ import annotations

import os
import threading

from secondface.fleet.lanes import received
from secondface.fleet.run_ends import RunEnds


def test_who_hangs_up_waits_for_no_run_that_still_holds_its_end() -> None:
    with RunEnds() as ends:
        with ends.theirs() as theirs:
            held = [os.dup(descriptor) for descriptor, _ in theirs]
        waiting = [threading.Thread(target=received, args=(lane,), daemon=True) for lane in ends.lanes]
        for thread in waiting:
            thread.start()
        ends.hang_up()
        for thread in waiting:
            thread.join(10)
        assert not any(thread.is_alive() for thread in waiting)
    for descriptor in held:
        os.close(descriptor)
