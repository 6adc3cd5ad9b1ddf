"""Write docs/reference/ from what the program says of itself: commands, exit codes, settings, steps.

Usage: python -m tools.write_reference_docs
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import click

from secondface.cli.exits import exits
from secondface.cli.language import speak
from secondface.cli.main import build
from secondface.settings import ENV_PREFIX, WORKER_SECRETS, Settings, secret_variables
from secondface.spec.catalog import callable_kinds, parameters_of

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
_WIDTH = 100
_HOME = "/home/you"
_NOTE = "This page is written by `make docs` from the program itself."


def cli_page() -> str:
    """Every command's help as `--help` prints it, and the exit codes."""
    lines = ["# Command line", "", _NOTE, ""]
    for name, command in _commands(build(), "secondface"):
        context = click.Context(command, info_name=name, terminal_width=_WIDTH, help_option_names=["-h", "--help"])
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        lines += [f"## `{name}`", "", "```text", text, "```", ""]
    lines += ["## Exit codes", "", "| code | meaning | errors |", "|---|---|---|"]
    for row in exits():
        errors = f"[`{row.error.code}`](../errors/{row.error.code}.md) and its kinds" if row.error else ""
        lines.append(f"| {row.code} | {row.meaning} | {errors} |")
    return "\n".join([*lines, ""])


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for child_name, child in sorted(command.commands.items()):
            yield from _commands(child, f"{name} {child_name}")


def settings_page() -> str:
    """One row per setting."""
    lines = [
        "# Settings", "", _NOTE, "",
        "A value comes from the environment variable, else from the TOML file that `SECONDFACE_CONFIG` names (by",
        "default `~/.config/secondface/config.toml`), else from the default. `secondface config show` prints what",
        "holds on a machine and why.", "",
        f"Secrets ({', '.join(f'`{name}`' for name in secret_variables())}) are never shown. Each can lie in a file of",
        "its own, as container platforms mount them: `SECONDFACE_API_KEY_FILE=/run/secrets/key`. A worker that `serve`",
        f"starts gets none of them but {', '.join(f'`{name}`' for name in sorted(WORKER_SECRETS))}.",
        "", "| setting | variable | default | meaning |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, field in Settings.model_fields.items():
        default = str(field.get_default(call_default_factory=True, validated_data={})).replace(_HOME, "~")
        shown = f"`{default}`" if default else "empty"
        lines.append(f"| `{name}` | `{ENV_PREFIX}{name.upper()}` | {shown} | {field.description} |")
    return "\n".join([*lines, ""])


def steps_page() -> str:
    """One section per step that a pipeline may name."""
    lines = [
        "# Steps", "", _NOTE, "",
        "A pipeline is a list of these; [how to write one](../how/pipelines.md). The search for faces and the metadata",
        "marks are added by the compiler, and so is the visible label where a pipeline does not place it.",
    ]  # fmt: skip
    for kind in callable_kinds():
        lines += ["", f"## `{kind.name}`", "", kind.description.en, ""]
        if models := kind.parameters().models():
            lines += [f"Models: {', '.join(f'`{model}`' for model in models)}.", ""]
        if found := parameters_of(kind):
            lines += ["| parameter | values | default | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{each.name}` | {each.values.replace('|', 'or')} | {each.default} | {each.description.en} |"
                for each in found
            ]
        else:
            lines.append("No parameters.")
    return "\n".join([*lines, ""])


def pages() -> Mapping[str, str]:
    """File name to text; the same on every machine."""
    with patch.dict(os.environ, {"HOME": _HOME}, clear=True):
        speak("en")
        return {"cli.md": cli_page(), "settings.md": settings_page(), "steps.md": steps_page()}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
