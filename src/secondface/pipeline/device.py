"""Model sessions as one run sees them: each call counts as device time and is a place where the run can stop.

Decides what is counted; must not load models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from secondface.frames import Session, Sessions
from secondface.observe import BusyClock

Checkpoint = Callable[[], None]
"""Called where a long piece of work may be given up; raises Cancelled to do so."""


@dataclass(frozen=True, slots=True)
class RunSession:
    """A session whose calls open the run's device clock, after a look at whether the run should stop."""

    session: Session
    active: BusyClock
    checkpoint: Checkpoint

    @property
    def name(self) -> str:
        return self.session.name

    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]:
        """As Session.run. Raises Cancelled when the run is stopping."""
        self.checkpoint()
        with self.active:
            return self.session.run(inputs)


@dataclass(frozen=True, slots=True)
class RunSessions:
    """The sessions of one run, over sessions that outlive it."""

    sessions: Sessions
    active: BusyClock
    checkpoint: Checkpoint

    def get(self, name: str) -> RunSession:
        """As Sessions.get."""
        return RunSession(self.sessions.get(name), self.active, self.checkpoint)

    @property
    def computes_on_cpu(self) -> bool:
        """On the CPU the stages themselves are the device; elsewhere only model calls are."""
        return getattr(self.sessions, "device", "cpu") == "cpu"
