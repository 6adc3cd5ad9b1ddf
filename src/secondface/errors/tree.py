"""The root of all errors that secondface raises on purpose: what each of them can tell.

The first line of a class's docstring is its default message, the rest is the remedy; a part that begins with
`API:` is the remedy in the words of the HTTP API, where those of the command line do not serve.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from secondface.advice import Surface, advice_in

Fault = Literal["caller", "provider"]


class SecondfaceError(Exception):
    """Something went wrong in secondface.

    Look at `code` and `remedy`; `secondface doctor` shows what this machine can run.
    API: Send it again; if it fails again, report the code and the request's id.
    """

    code: ClassVar[str] = "secondface_error"
    fault: ClassVar[Fault] = "provider"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "", **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts: dict[str, object] = dict(facts)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.detail, self.facts))

    def __str__(self) -> str:
        return f"{self.title()} {self.detail}".strip() if self.detail else self.title()

    @classmethod
    def title(cls) -> str:
        """The one-line message of this class of error."""
        return advice_in(cls).title

    @classmethod
    def advice(cls, surface: Surface) -> str:
        """What to do about errors of this class, in the words of the command line or in those of the HTTP API."""
        said = advice_in(cls)
        return said.api or said.command if surface == "api" else said.command

    @property
    def remedy(self) -> str:
        """What the caller or the operator can do about it; a service that was asked may know better than the class."""
        told = self.facts.get("remedy")
        return told if isinstance(told, str) and told else self.advice("command")


def _rebuild(cls: type[SecondfaceError], detail: str, facts: dict[str, object]) -> SecondfaceError:
    return cls(detail, **facts)
