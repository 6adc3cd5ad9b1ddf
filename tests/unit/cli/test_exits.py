"""Each error ends with a documented exit code."""

from __future__ import annotations

import signal

import pytest

from secondface import errors
from secondface.cli.exits import exit_code, exits
from secondface.errors import Cancelled, SecondfaceError
from tools.write_error_docs import error_classes


def test_codes_are_unique_and_have_a_meaning() -> None:
    codes = [row.code for row in exits()]
    assert codes == sorted(set(codes))
    assert all(row.meaning for row in exits())


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.code)
def test_every_error_has_its_code_in_the_table(error: type[SecondfaceError]) -> None:
    assert exit_code(error()) in {row.code for row in exits()}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidPipeline(), 3),
        (errors.OutputNotWritable(), 3),
        (errors.FileUnreadable(), 4),
        (errors.NoFaceInTarget(), 5),
        (errors.NoFaceInSource(), 5),
        (errors.DiskFull(), 6),
        (errors.InternalFault(), 6),
        (Cancelled(), 130),
        (Cancelled(signal=signal.SIGINT), 130),
        (Cancelled(signal=signal.SIGTERM), 143),
        (Cancelled(signal=signal.SIGHUP), 129),
    ],
)
def test_kinds_of_errors(error: SecondfaceError, code: int) -> None:
    assert exit_code(error) == code
