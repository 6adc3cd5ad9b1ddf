"""Exit codes: one table from what happened to the number that a shell sees."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from secondface.cli.language import gettext as _
from secondface.errors import (
    AccessProblem,
    BadMedia,
    BadRequest,
    Cancelled,
    FaceProblem,
    JobProblem,
    ProviderFault,
    SecondfaceError,
    TrustProblem,
)

OK = 0
NEGATIVE = 1
USAGE = 2
SOME_FAILED = 7
CLOSED_PIPE = 141
TERMINATED = 143
HUNG_UP = 129
QUIT = 131
"""128 + the signal (SIGPIPE, SIGTERM, SIGHUP, SIGQUIT), as a shell reports it."""


@dataclass(frozen=True, slots=True)
class Exit:
    """One row of the table; `error` is the class whose subclasses end with this code."""

    code: int
    meaning: str
    error: type[SecondfaceError] | None = None


def exits() -> tuple[Exit, ...]:
    """All exit codes of the command line, in the language that was chosen."""
    return (
        Exit(OK, _("Done.")),
        Exit(
            NEGATIVE,
            _(
                "The answer is no: verify found no marks or an altered one, or doctor found something broken or a "
                "guard that is off."
            ),
        ),
        Exit(USAGE, _("The command line could not be understood.")),
        Exit(3, _("The request cannot be run as it stands."), BadRequest),
        Exit(4, _("A file cannot be used."), BadMedia),
        Exit(5, _("The pictures do not hold the faces that were asked for."), FaceProblem),
        Exit(6, _("secondface or this machine failed; nothing is charged."), ProviderFault),
        Exit(SOME_FAILED, _("Some of several files could not be done; the table says which and why.")),
        Exit(8, _("The key, the account or its budget does not allow it."), AccessProblem),
        Exit(9, _("The job cannot do what was asked of it, or it ended by its limits."), JobProblem),
        Exit(10, _("What the files show, or whose face they show, may not be used."), TrustProblem),
        Exit(HUNG_UP, _("The terminal was closed (SIGHUP); nothing was left behind.")),
        Exit(130, _("Cancelled (Ctrl-C); nothing was left behind."), Cancelled),
        Exit(QUIT, _("Stopped by SIGQUIT (Ctrl-\\); nothing was left behind.")),
        Exit(CLOSED_PIPE, _("Whoever read the output stopped reading.")),
        Exit(TERMINATED, _("Stopped by SIGTERM; nothing was left behind.")),
    )


def exit_code(error: SecondfaceError) -> int:
    """The code of the first row whose class holds the error; 6 where no row does; of the signal that cancelled it."""
    if isinstance(error, Cancelled):
        match error.facts.get("signal"):
            case signal.SIGTERM:
                return TERMINATED
            case signal.SIGHUP:
                return HUNG_UP
            case signal.SIGQUIT:
                return QUIT
            case _:
                pass
    return next((row.code for row in exits() if row.error and isinstance(error, row.error)), 6)
