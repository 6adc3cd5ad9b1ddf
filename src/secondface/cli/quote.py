"""`secondface quote`: what a target will cost on each tier, from a rehearsal on a few of its own frames."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from secondface.cli.commands import SectionedCommand, session
from secondface.cli.language import gettext as _
from secondface.cli.receipts import market_word, prices_now
from secondface.cli.remote import asks_a_service
from secondface.cli.run import require_no_service_options, set_mode
from secondface.cli.run_options import RunOptions, request_of, sections
from secondface.cli.signals import stop_on_signals
from secondface.domain.pricing import Quote, format_micros, quote
from secondface.errors import InvalidOption

if TYPE_CHECKING:
    from secondface.pipeline.rehearsal import Rehearsal


def command() -> click.Command:
    return SectionedCommand(
        "quote",
        sections=sections(needs_output=False),
        callback=click.pass_context(_quote),
        short_help=_("Say what a run will cost on each tier, before it runs."),
        help=_(
            "Say what a run will cost on each tier, before it runs. The pipeline is rehearsed on the first frames of "
            "the target, on this machine's device; nothing is written. With --server, the service says it.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface quote -s me.jpg -t clip.mp4\n"
            "  secondface quote -s me.jpg -t clip.mp4 --from 10 --to 20 --pipeline face_swap,upscale"
        ),
    )


def _quote(context: click.Context, **raw: Any) -> None:
    from secondface.cli.output_names import ending_for
    from secondface.compose import local

    own, options = session(context), cast("RunOptions", raw)
    set_mode(own, quiet=options["quiet"], json=options["json"])
    if len(options["target"]) != 1:
        raise InvalidOption("quote: give one target.", option="target")
    target = Path(options["target"][0])
    output = options["output"] or f"quote{ending_for(target)}"
    if asks_a_service(own):
        from secondface.cli.remote_run import quote_remotely

        quote_remotely(own, options, target, output)
        return
    require_no_service_options(options)
    request = request_of(options, own.settings, target, output)
    with stop_on_signals() as stop:
        found = local(own.settings, device=options["device"]).rehearse(request, stop)
    quotes = quotes_of(found)
    if own.screen.mode == "json":
        own.screen.object({**asdict(found), "quotes": [_object(each) for each in quotes]})
        return
    own.screen.heading(_("Quote"))
    own.screen.rows([
        ("  " + _("target"), f"{target}", f"{found.width}x{found.height}"),
        ("  " + _("frames"), str(found.frames), _("rehearsed: {number}").format(number=found.rehearsed)),
        ("  " + _("people"), str(found.faces), ""),
        ("  " + _("device"), _("{ms} ms a frame").format(ms=f"{found.frame_us / 1000:.1f}"), ""),
    ], dim=(2,))  # fmt: skip
    own.screen.rows([
        ("  " + _("tier"), _("market"), _("seconds"), _("cost"), _("no more than")),
        *(
            (f"  {each.price.tier}", market_word(each.price.market),
             str(each.expected_s), format_micros(each.expected_micros), format_micros(each.upper_micros))
            for each in quotes
        ),
    ], right=(2, 3, 4))  # fmt: skip
    own.screen.line("  " + _("(The seconds are those of this machine's device; a faster tier needs fewer.)"), "dim")


def quotes_of(found: Rehearsal) -> list[Quote]:
    """One quote for each tier and market. Raises InvalidOption where the target does not say how long it is."""
    if found.frames is None:
        raise InvalidOption("quote: the file does not say how many frames it has; give --to.", option="target")
    # What is done once is spread over the frames, rounded up, since a price is made of whole frames.
    each_us = found.frame_us - (-found.once_us // max(1, found.frames))
    return [quote(found.frames, each_us, price, wall_us_per_frame=found.wall_frame_us) for price in prices_now()]


def _object(made: Quote) -> dict[str, object]:
    return {
        "tier": made.price.tier, "market": made.price.market, "currency": made.currency,
        "expected_s": made.expected_s, "expected_micros": made.expected_micros,
        "upper_s": made.upper_s, "upper_micros": made.upper_micros, "expected_wall_ms": made.expected_wall_ms,
    }  # fmt: skip
