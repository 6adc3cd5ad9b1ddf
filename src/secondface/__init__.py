"""secondface: a second face, paid by the second.

    import secondface

    secondface.run("me.jpg", "clip.mp4", "out.mp4")        # files in, one marked file out, a report back
    picture = secondface.swap("me.jpg", "photo.jpg")       # pictures in, RGB array out; save it with its marks by run()

Importing this loads neither numpy nor a model; the first call does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from secondface.compose import RunWords, SwapWords
    from secondface.frames import RGB8
    from secondface.models.devices import DeviceChoice
    from secondface.pipeline.engine import CancelToken, Progress
    from secondface.pipeline.report import RunReport
    from secondface.provenance.verdicts import Verification

__all__ = ["__version__", "run", "swap", "verify"]
__version__ = "0.1.0"


def run(
    source: Path | str | Sequence[Path | str],
    target: Path | str,
    output: Path | str,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: CancelToken | None = None,
    device: DeviceChoice | None = None,
    **options: Unpack[RunWords],
) -> RunReport:
    """Files in, one marked file out, as `secondface run` does it. An existing output is overwritten.

    Raises the errors of secondface.errors; a threading.Event as `cancel` stops it within a second.
    """
    from secondface.compose import check_callbacks, local

    check_callbacks(on_progress, cancel)
    runner = local(device=device)
    sources = [source] if isinstance(source, str | bytes) or not isinstance(source, Sequence) else source
    return runner.run(runner.request(sources, target, output, **options), on_progress, cancel)


def swap(
    source: Path | str | RGB8 | Sequence[Path | str | RGB8],
    target: Path | str | RGB8,
    *,
    device: DeviceChoice | None = None,
    **options: Unpack[SwapWords],
) -> RGB8:
    """Put the source's face onto the target: files or RGB arrays [h,w,3] in, one RGB array with the visible label out.

    Metadata marks belong to files: `run` writes them. Raises the errors of secondface.errors.
    """
    from secondface.compose import local

    sources = source if isinstance(source, Sequence) and not isinstance(source, str | bytes) else [source]
    return local(device=device).swap(sources, target, **options)


def verify(path: Path | str, *, roots: Path | str | None = None) -> Verification:
    """Which marks of an AI-made file are there, whether each is intact, and who signed. Nothing leaves this machine.

    `roots` is a PEM file of authorities that are trusted beside this machine's own. Raises BadMedia errors for what is
    no picture and no video.
    """
    from secondface.compose import verify as verified

    return verified(path, roots=roots)
