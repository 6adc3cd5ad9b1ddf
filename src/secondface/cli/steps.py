"""`secondface steps`: what a pipeline can be made of."""

from __future__ import annotations

import click

from secondface.cli.commands import Command, json_option, session
from secondface.cli.language import gettext as _


def command() -> click.Command:
    return Command(
        "steps",
        params=[json_option()],
        callback=click.pass_context(_steps),
        short_help=_("List the steps that a pipeline can be made of."),
        help=_(
            "List the steps that a pipeline can be made of, with their parameters.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface run -s me.jpg -t clip.mp4 -o out.mp4 \\\n"
            "    --pipeline denoise:level=strong,face_swap,face_restore,colour:auto=true"
        ),
    )


def _steps(context: click.Context, json: bool) -> None:
    from secondface.spec.catalog import callable_kinds, parameters_of
    from secondface.spec.plugins import installed

    own = session(context)
    others = installed().values()
    kinds = [*callable_kinds(), *(each.step.kind for each in others if each.step)]
    origin = {each.name: each.package for each in others}
    if json:
        own.screen.object(
            {
                "steps": [
                    {
                        "name": kind.name,
                        "package": origin.get(kind.name, "secondface"),
                        "title": kind.title.of(own.language),
                        "description": kind.description.of(own.language),
                        "takes": str(kind.takes),
                        "gives": str(kind.gives),
                        "models": list(kind.parameters().models()),
                        "parameters": kind.parameters.model_json_schema().get("properties", {}),
                    }
                    for kind in kinds
                ],
                "unloadable": [
                    {"name": each.name, "package": each.package, "reason": each.reason}
                    for each in others
                    if each.step is None
                ],
            }
        )
        return
    for kind in kinds:
        brought = f"  ·  {origin[kind.name]}" if kind.name in origin else ""
        own.screen.heading(f"{kind.name}  ·  {kind.title.of(own.language)}{brought}")
        own.screen.line(f"  {kind.description.of(own.language)}")
        own.screen.rows(
            [
                (f"    {each.name}", each.values, _("default {value}").format(value=each.default),
                 each.description.of(own.language))
                for each in parameters_of(kind)
            ],
            dim=(2,),
        )  # fmt: skip
    for each in others:
        if each.step is None:
            text = _("{name} of {package} cannot be used: {reason}")
            own.screen.note(text.format(name=each.name, package=each.package, reason=each.reason))
