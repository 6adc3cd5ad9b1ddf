"""What the documents name is there: files behind links, options, settings, tiers."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from secondface.cli.main import build
from secondface.domain.pricing import default_price_book, format_micros
from secondface.settings import ENV_PREFIX, Settings, secret_variables

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("README*.md"), *ROOT.glob("docs/**/*.md")]


def options(command: click.Command) -> set[str]:
    children = command.commands.values() if isinstance(command, click.Group) else ()
    own = {word for parameter in command.params for word in parameter.opts}
    return own.union(*(options(child) for child in children)) | {"--help", "-h"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_and_variables_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= options(build())
    variables = {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields} | {f"{ENV_PREFIX}CONFIG"}
    variables |= {f"{variable}_FILE" for variable in secret_variables().values()}
    assert set(re.findall(rf"{ENV_PREFIX}[A-Z_]+", text)) <= variables


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= 120


def test_the_price_table_is_the_price_book() -> None:
    text = (ROOT / "docs" / "why" / "metering.md").read_text("utf-8")
    prices = {(row.tier, row.market): format_micros(row.price_micros) for row in default_price_book().rows}
    for tier in default_price_book().tiers():
        assert f"| `{tier}` | {prices[tier, 'on_demand']} | {prices[tier, 'spot']} |" in text
