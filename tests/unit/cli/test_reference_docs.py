"""docs/reference says what the program says."""

from __future__ import annotations

import pytest

from tools.write_reference_docs import FOLDER, pages


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "steps.md"])
def test_the_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == pages()[name], "run `make docs`"
