"""Where each target of a folder run goes: its own name in the output folder, in a format that can be written.

Decides names so that no two meet, also where the file system does not tell capitals apart. Must not open an output.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from secondface.cli.inputs import MEDIA_ENDINGS
from secondface.errors import InvalidOption, OutputNotWritable, SecondfaceError


def output_paths(targets: Sequence[Path], folder: Path) -> list[Path]:
    """One output path for each target: the same for the same targets, so that a second run finds them."""
    endings = {target: ending_for(target) for target in targets}
    taken: set[str] = set()
    names: dict[Path, str] = {}
    # Who keeps its own name gets it, whoever came first.
    for target in sorted(targets, key=lambda target: target.stem + endings[target] != target.name):
        names[target] = _free_name(target, endings[target], taken)
        taken.add(names[target].casefold())
    return [folder / names[target] for target in targets]


def _free_name(target: Path, ending: str, taken: set[str]) -> str:
    """clip.mp4; where that is another target's, clip.avi.mp4; then clip.avi-2.mp4 and so on."""
    wanted = [target.stem + ending, target.name + ending]
    wanted += [f"{target.name}-{number}{ending}" for number in range(2, len(taken) + 3)]
    return next(name for name in wanted if name.casefold() not in taken)


def ending_for(target: Path) -> str:
    """The target's own ending where it is true and can be written, else that of the usual format of its kind."""
    from secondface.media.encoders import CONTAINERS
    from secondface.media.signatures import sniff
    from secondface.media.still_output import FORMATS

    ending = target.suffix
    try:
        kind = sniff(target).kind
    except SecondfaceError:
        # It will be refused when its turn comes; until then it has the name that it asks for.
        return ending or ".png"
    if kind == "still":
        return ending if ending.lower() in FORMATS else ".png"
    return ending if ending.lower() in CONTAINERS else ".mp4"


def prepare_folder(output: str, targets: Sequence[Path]) -> Path:
    """The output folder, made if it is not there. Raises InvalidOption where it holds targets, OutputNotWritable."""
    folder = Path(output)
    if folder.suffix.lower() in MEDIA_ENDINGS and not output.endswith(("/", os.sep)) and not folder.is_dir():
        raise InvalidOption(
            f"--output {output}: several targets need a folder; write {output}/ if it is to be called so.",
            option="output",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputNotWritable(f"{folder}: several targets need a folder, and this is a file") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputNotWritable(f"{folder}: {reason}", path=str(folder)) from error
    for target in targets:
        try:
            same = folder.samefile(target.parent)
        except OSError:
            continue
        if same:
            raise InvalidOption(f"--output {output}: targets lie in this folder; choose another one.", option="output")
    return folder
