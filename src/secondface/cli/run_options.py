"""The options of `secondface run`, grouped as --help shows them, and how they become a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import click

from secondface.cli.commands import Section, json_option, quiet_option, service_options
from secondface.cli.language import gettext as _
from secondface.domain.pricing import Market
from secondface.errors import InvalidOption

if TYPE_CHECKING:
    from pathlib import Path

    from secondface.models.devices import DeviceChoice
    from secondface.settings import Settings
    from secondface.spec.schemas import RunRequest


class RunOptions(TypedDict):
    """The options of `run` as click hands them over; None where the settings or the input decide."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    output: str
    yes: bool
    faces: str
    mapping: tuple[str, ...]
    same_person: bool
    allow_no_face: bool
    max_faces: int | None
    restore: str | None
    shape: float | None
    pipeline: str | None
    label: str | None
    acknowledge: str | None
    begin: str | None
    end: str | None
    rate: str | None
    scale: str | None
    codec: str | None
    encoder: str | None
    decoder: str | None
    quality: str | None
    preset: str | None
    depth: str | None
    hdr: str | None
    audio: str | None
    volume: str | None
    still_quality: str | None
    lossless: bool
    keep_metadata: bool
    device: DeviceChoice | None
    tier: str | None
    market: Market | None
    max_cost: str | None
    priority: int | None
    deadline: int | None
    likeness_confirmed: bool
    detach: bool
    quiet: bool
    json: bool


def sections(*, needs_output: bool = True) -> list[Section]:
    """All options of `run`, in the order in which people need them."""
    return [
        Section(_("Files"), _file_options(needs_output=needs_output)),
        Section(_("Faces"), _face_options()),
        Section(_("Look"), _look_options()),
        Section(_("Video: which part, how large, how fast"), _cut_options()),
        Section(_("Video: how it is encoded"), _encoding_options()),
        Section(_("Pictures and metadata"), _still_options()),
        Section(_("Machine and price"), _machine_options()),
        Section(_("A service that does the work"), _service_options(needs_output=needs_output)),
    ]


def _file_options(*, needs_output: bool) -> list[click.Parameter]:
    return [
        click.Option(["-s", "--source"], multiple=True, metavar=_("PICTURE..."),
                     help=_("Picture of the face to give. Several: several people, or one with --same-person.")),
        click.Option(["-t", "--target"], required=True, multiple=True, metavar=_("FILE..."),
                     help=_("Picture or video that receives the face; several, a folder or a pattern such as "
                            "\"clips/*.mp4\" with a folder as output.")),
        click.Option(["-o", "--output"], required=needs_output, metavar=_("FILE|FOLDER/"),
                     help=_("Result; its ending chooses the format ("
                            ".mp4 .mov .mkv .webm, .png .jpg .webp .avif .tiff .gif). A folder for several targets.")),
        click.Option(["-y", "--yes"], is_flag=True, help=_("Overwrite outputs without asking.")),
    ]  # fmt: skip


def _face_options() -> list[click.Parameter]:
    return [
        click.Option(["--faces"], default="auto", metavar=_("RULE"),
                     help=_("Which faces: largest, all, left-to-right, numbers from the left such as 0,2, or "
                            "like:PICTURE. Without it: the largest for one source, left to right for several.")),
        click.Option(["--map", "mapping"], multiple=True, metavar=_("SOURCE=FACE"),
                     help=_("Give a source to one face: SOURCE=NUMBER from the left, or SOURCE=PICTURE of who "
                            "is replaced. May be repeated.")),
        click.Option(["--same-person"], is_flag=True,
                     help=_("All source pictures show one person; combine them.")),
        click.Option(["--allow-no-face"], is_flag=True,
                     help=_("Write the output unchanged, but marked, where a face that was asked for is missing.")),
        click.Option(["--max-faces"], type=int, metavar=_("NUMBER"),
                     help=_("Faces that are followed at once; without it 16 in a video, 64 in a picture.")),
    ]  # fmt: skip


def _look_options() -> list[click.Parameter]:
    return [
        click.Option(["--restore"], metavar="off|auto|0..1",
                     help=_("How much the face is restored; auto: as much as it needs to be as sharp as the target.")),
        click.Option(["--shape"], type=click.FloatRange(0, 1), metavar="0..1",
                     help=_("How far the features move toward the source's proportions.")),
        click.Option(["--pipeline"], metavar=_("STEPS|FILE"),
                     help=_("Your own steps, separated by commas, or a .yaml or .json file; see `secondface steps`.")),
        click.Option(["--label"], type=click.Choice(["zh", "en", "both", "off"]),
                     help=_("Language of the visible label. off needs --acknowledge; the other marks always stay.")),
        click.Option(["--acknowledge"], metavar=_("TEXT"),
                     help=_("With --label off: who labels the result elsewhere, and how. It is kept in the log.")),
    ]  # fmt: skip


def _cut_options() -> list[click.Parameter]:
    return [
        click.Option(["--from", "begin"], metavar=_("MOMENT"),
                     help=_("Start there: seconds (12.5), a time (00:01:02.500) or a frame (f120).")),
        click.Option(["--to", "end"], metavar=_("MOMENT"),
                     help=_("Stop there; the frame at that moment is left out.")),
        click.Option(["--scale"], metavar=_("SIZE"),
                     help=_("Size of the output: 1280x720, -1x720 (the width in proportion) or 50%.")),
        click.Option(["--fps", "rate"], metavar=_("RATE"),
                     help=_("Constant frame rate: 25, 29.97 or 30000/1001. Frames are left out or repeated; the speed "
                            "stays.")),
    ]  # fmt: skip


def _encoding_options() -> list[click.Parameter]:
    return [
        click.Option(["--codec"], metavar="h264|hevc|vp9|av1",
                     help=_("Video codec; chosen by the container and the input if left out.")),
        click.Option(["--encoder"], metavar=_("NAME"),
                     help=_("An encoder by its FFmpeg name (h264_nvenc), or gpu: one that works here, "
                            "else the processor.")),
        click.Option(["--decoder"], metavar=_("NAME"),
                     help=_("A decoder by its FFmpeg name (h264_cuvid), or gpu.")),
        click.Option(["--quality", "--crf", "quality"], metavar="0..63",
                     help=_("Video quality: smaller is better and larger; 18 looks like the input.")),
        click.Option(["--preset"], metavar=_("NAME"), help=_("Speed of the video encoder, such as veryfast or slow.")),
        click.Option(["--bit-depth", "depth"], metavar="8|10",
                     help=_("Bits of each sample; those of the input if left out.")),
        click.Option(["--hdr"], metavar="keep|sdr", help=_("Keep HDR, or turn it into ordinary colours.")),
        click.Option(["--audio"], metavar="on|off", help=_("Keep the sound, or leave it out.")),
        click.Option(["--volume"], metavar=_("SHARE"), help=_("How loud the sound is: 0.5 or 50% is half.")),
    ]  # fmt: skip


def _still_options() -> list[click.Parameter]:
    return [
        click.Option(["--still-quality"], metavar="1..100", help=_("Picture quality: larger is better.")),
        click.Option(["--lossless"], is_flag=True, help=_("Lossless WebP; PNG and TIFF are always lossless.")),
        click.Option(["--keep-metadata"], is_flag=True,
                     help=_("Keep places, serial numbers and comments of the target; they are left out otherwise.")),
    ]  # fmt: skip


def _machine_options() -> list[click.Parameter]:
    return [
        click.Option(["--device"], type=click.Choice(["auto", "cpu", "cuda", "tensorrt"]),
                     help=_("Where the models run; `secondface doctor` says what works here.")),
        click.Option(["--tier"], metavar=_("NAME"),
                     help=_("Device class whose price is shown: cpu, t4, a10g, v100; of a service, the one that "
                            "works.")),
        click.Option(["--market"], type=click.Choice(["on_demand", "spot"]),
                     help=_("Market whose price is shown; of a service, the one that is asked for.")),
        quiet_option(),
        json_option(),
    ]  # fmt: skip


def _service_options(*, needs_output: bool) -> list[click.Parameter]:
    return [
        *service_options(),
        click.Option(["--max-cost"], metavar=_("AMOUNT"),
                     help=_("Stop the job before it would cost more, such as 0.30.")),
        click.Option(["--priority"], type=click.IntRange(-10, 10), metavar="-10..10",
                     help=_("Higher goes first among your own jobs.")),
        click.Option(["--deadline"], type=click.IntRange(1, 30 * 86_400), metavar=_("SECONDS"),
                     help=_("Give it up if it has not ended by then; that costs nothing.")),
        click.Option(["--likeness-confirmed"], is_flag=True,
                     help=_("You say that you may use the likenesses of the sources.")),
        click.Option(["--detach"], is_flag=True, hidden=not needs_output,
                     help=_("Print the job's id and do not wait; `secondface jobs result` fetches it later.")),
    ]  # fmt: skip


def request_of(options: RunOptions, settings: Settings, target: str | Path, output: str | Path) -> RunRequest:
    """The options as the request for one target. Raises BadRequest errors."""
    from secondface.spec.schemas import RunRequest

    restore = options["restore"] or settings.restore
    limits = settings.limits()
    if options["max_faces"] is not None:
        limits["max_faces"] = options["max_faces"]
    return RunRequest.of_files(
        options["source"],
        target,
        output,
        same_person=options["same_person"],
        faces=options["faces"],
        mapping=options["mapping"],
        pipeline=_pipeline(options, restore),
        restore="auto" if options["shape"] is not None or options["pipeline"] else _restore(restore),
        label=_label(options, settings.label),
        video=_video(options),
        still={"quality": options["still_quality"], "lossless": options["lossless"]},
        keep_metadata=options["keep_metadata"],
        allow_no_face=options["allow_no_face"],
        limits=limits,
    )


_VIDEO_WORDS = ("codec", "encoder", "decoder", "quality", "preset", "rate", "scale", "begin", "end", "volume", "hdr")


def _video(options: RunOptions) -> dict[str, object]:
    """What was said about video; what was not said is left to the schema."""
    said: dict[str, object] = {word: options[word] for word in _VIDEO_WORDS if options[word] is not None}
    if options["audio"] is not None:
        said["audio"] = _switch("--audio", options["audio"])
    if options["depth"] is not None:
        said["depth"] = _one_of("--bit-depth", options["depth"], {"8": 8, "10": 10})
    return said


def _switch(option: str, word: str) -> object:
    return _one_of(option, word, {"on": True, "off": False})


def _one_of(option: str, word: str, meanings: dict[str, object]) -> object:
    if word.lower() not in meanings:
        raise InvalidOption(f"{option} {word!r}: write {' or '.join(meanings)}.", option=option)
    return meanings[word.lower()]


def _restore(word: str) -> str | float:
    if word in ("off", "auto"):
        return word
    try:
        strength = float(word)
    except ValueError:
        strength = -1.0
    if not 0 <= strength <= 1:
        raise InvalidOption(f"--restore {word!r}: write off, auto, or a number from 0 to 1.")
    return strength


def _pipeline(options: RunOptions, restore: str) -> str | None:
    """--pipeline as given; --shape turns into the default pipeline with that parameter."""
    shape = options["shape"]
    if options["pipeline"]:
        if shape is not None:
            raise InvalidOption("--shape belongs to the default pipeline; in your own, write face_swap:shape=N.")
        if options["restore"]:
            raise InvalidOption(
                "--restore belongs to the default pipeline; in your own, write face_restore:strength=N."
            )
        return options["pipeline"]
    if shape is None:
        return None
    if not options["source"]:
        raise InvalidOption("--shape needs a source picture (-s).")
    swap = f"face_swap:shape={shape}"
    return swap if _restore(restore) == "off" else f"{swap},face_restore:strength={restore}"


def _label(options: RunOptions, usual: str) -> dict[str, object] | None:
    """What the options say of the label, else the settings; None leaves it to a pipeline."""
    language, acknowledgement = options["label"], options["acknowledge"]
    if language == "off":
        if not acknowledgement:
            raise InvalidOption("--label off needs --acknowledge TEXT: who labels the result elsewhere, and how.")
        return {"visible": False, "acknowledgement": acknowledgement}
    if acknowledgement:
        raise InvalidOption("--acknowledge belongs to --label off.")
    if language is None and options["pipeline"]:
        return None
    word = language or usual
    return {"languages": "zh+en" if word == "both" else word}
