"""Runs the steps of other packages (spec/plugins.py declares them).

Decides that their code meets a run only through a FrameWork, and that what it raises becomes an error of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from secondface.errors import SecondfaceError, StepFailed, StepUnloadable
from secondface.frames import FrameWork, Sessions, StreamInfo
from secondface.spec.catalog import StepParameters
from secondface.spec.graph import PlannedStep
from secondface.spec.plugins import find_plugin

Maker = Callable[[StepParameters, StreamInfo, Sessions], Callable[[FrameWork], None]]
"""What `PluginStep.implementation` names: called once a run, it returns what is called for each frame, in order."""


def plugin_change(step: PlannedStep, stream: StreamInfo, sessions: Sessions) -> Callable[[FrameWork], None] | None:
    """What the step of another package does to one frame; None where no package brings such a step.

    Raises StepUnloadable; what is returned raises StepFailed.
    """
    plugin = find_plugin(step.name)
    if plugin is None:
        return None
    try:
        change = _maker(plugin.implementation)(step.parameters, stream, sessions)
    except SecondfaceError:
        raise
    except Exception as error:
        raise StepUnloadable(f"`{step.name}`: {type(error).__name__}: {error}", step=step.name) from error

    def guarded(work: FrameWork) -> None:
        try:
            change(work)
        except SecondfaceError:
            raise
        except Exception as error:
            raise StepFailed(
                f"`{step.name}`, frame {work.frame.index}: {type(error).__name__}: {error}", step=step.name
            ) from error

    return guarded


def _maker(reference: str) -> Maker:
    module, _, name = reference.partition(":")
    return cast("Maker", getattr(import_module(module), name))
