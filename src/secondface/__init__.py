"""secondface: a second face, paid by the second.

    import secondface

    secondface.run("me.jpg", "clip.mp4", "out.mp4")        # files in, one marked file out, a report back
    picture = secondface.swap("me.jpg", "photo.jpg")       # pictures in, RGB array out; save it with its marks by run()

Importing this loads neither numpy nor a model; the first call does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from secondface.frames import RGB8
    from secondface.pipeline.engine import CancelToken, Progress
    from secondface.pipeline.run import RunReport

    Picture: TypeAlias = "str | Path | RGB8"

__all__ = ["__version__", "run", "swap"]
__version__ = "0.1.0"


def run(
    source: Path | str | Sequence[Path | str],
    target: Path | str,
    output: Path | str,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: CancelToken | None = None,
    device: str | None = None,
    **options: object,
) -> RunReport:
    """Files in, one marked file out, as `secondface run` does it; options as in RunRequest.of_files.

    An existing output is overwritten. Raises the errors of secondface.errors.
    """
    from secondface.compose import local
    from secondface.settings import load_settings
    from secondface.spec.schemas import RunRequest

    sources = [source] if isinstance(source, Path | str) else source
    request = RunRequest.of_files(sources, target, output, **options)  # type: ignore[arg-type]
    return local(load_settings(), device=device).run(request, on_progress=on_progress, cancel=cancel)
