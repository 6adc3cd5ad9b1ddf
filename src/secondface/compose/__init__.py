"""From settings to something that runs: the only place that chooses where work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypedDict, Unpack, cast, get_args

import numpy as np
import numpy.typing as npt

from secondface.compose.moderation import local_guard
from secondface.compose.signing import content_signer, trusted_roots
from secondface.errors import InvalidOption, OutputExists
from secondface.frames import RGB8, Sessions
from secondface.media.images import read_still
from secondface.media.limits import Limits
from secondface.media.marks import read_stored_marks
from secondface.media.part_file import require_writable
from secondface.media.probe import probe
from secondface.models.devices import DeviceChoice, DeviceOptions
from secondface.models.sessions import OrtSessions
from secondface.pipeline.engine import CancelToken, Progress
from secondface.pipeline.people import PeopleMemory
from secondface.pipeline.rehearsal import Rehearsal, rehearse
from secondface.pipeline.report import RunReport
from secondface.pipeline.room import require_room
from secondface.pipeline.run import run_file, swap_arrays
from secondface.pipeline.targets import fitted_to_kind
from secondface.pipeline.verification import verify_file
from secondface.provenance.certificates import read_roots
from secondface.provenance.metadata import Marks, read_marks
from secondface.provenance.verdicts import Verification
from secondface.settings import Settings, load_settings
from secondface.spec.graph import LabelSpec, PipelineSpec
from secondface.spec.outputs import StillOutput, VideoOutput
from secondface.spec.schemas import Limits as RunLimits
from secondface.spec.schemas import Restore, RunRequest, checked_label, checked_restore, read_pipeline


class SwapWords(TypedDict, total=False):
    """Options of `secondface.swap`, in the words of `secondface run`."""

    same_person: bool
    faces: str
    restore: Restore
    pipeline: str | Path | PipelineSpec | None
    label: LabelSpec | None
    allow_no_face: bool


class RunWords(SwapWords, total=False):
    """Options of `secondface.run`."""

    mapping: Sequence[str]
    video: VideoOutput | Mapping[str, object]
    still: StillOutput | Mapping[str, object]
    keep_metadata: bool
    limits: RunLimits | Mapping[str, object]


class Local:
    """Runs requests in this process; models stay loaded between runs, and the source people of the latest ones."""

    def __init__(self, sessions: Sessions, settings: Settings) -> None:
        self.sessions = sessions
        self.settings = settings
        self._people = PeopleMemory()

    def request(
        self, sources: Sequence[Path | str], target: Path | str, output: Path | str, **options: Unpack[RunWords]
    ) -> RunRequest:
        """Words to a request, with the limits of the settings. Raises BadRequest errors."""
        _known_words("run", options, RunWords)
        words = {"limits": self.settings.limits(), **options}
        return RunRequest.of_files(sources, target, output, **words)  # type: ignore[arg-type]

    def run(
        self,
        request: RunRequest,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: CancelToken | None = None,
        *,
        produce_id: str | None = None,
    ) -> RunReport:
        """Files in, one marked file out. Raises the errors of secondface.errors; leaves no partial file.

        `produce_id` is the id in the output's marks, 32 hex digits; without it a new one is made.
        """
        check_output(request)
        require_room([request])
        signer = content_signer(self.settings)  # before any work: without a key nothing can be handed out
        producer = self.settings.content_producer
        return run_file(
            request,
            self.sessions,
            on_progress,
            cancel,
            content_producer=producer,
            signer=signer,
            people=self._people,
            produce_id=produce_id,
            guard=local_guard(self.settings),
        )

    def rehearse(self, request: RunRequest, cancel: CancelToken | None = None) -> Rehearsal:
        """What a frame of the request costs on this device; nothing is written. Raises the errors of a run."""
        return rehearse(request, self.sessions, cancel)

    def fitted(self, request: RunRequest) -> RunRequest:
        """The request without the options for another kind of target. Raises BadMedia errors."""
        return fitted_to_kind(request)

    def require_room(self, requests: Sequence[RunRequest]) -> None:
        """Raises DiskFull where all outputs together surely have no room."""
        require_room(requests)

    def swap(
        self, sources: Sequence[Path | str | RGB8], target: Path | str | RGB8, **options: Unpack[SwapWords]
    ) -> RGB8:
        """Pictures, as files or RGB arrays [h,w,3], in; one RGB array with the visible label out."""
        _known_words("swap", options, SwapWords)
        limits = Limits.of_pixels(self.settings.max_pixels)
        pipeline = options.get("pipeline")
        return swap_arrays(
            [_pixels(f"source {number}", source, limits) for number, source in enumerate(sources)],
            _pixels("target", target, limits),
            self.sessions,
            same_person=options.get("same_person", False),
            faces=options.get("faces", "auto"),
            restore=checked_restore(options.get("restore", "auto")),
            pipeline=read_pipeline(pipeline),
            label=checked_label(options.get("label")),
            allow_no_face=options.get("allow_no_face", False),
            guard=local_guard(self.settings),
        )


def _known_words(caller: str, options: Mapping[str, object], words: type[SwapWords]) -> None:
    if unknown := set(options) - words.__annotations__.keys():
        raise InvalidOption(f"{caller}() has no option {', '.join(sorted(unknown))}.")


def _pixels(name: str, picture: object, limits: Limits) -> RGB8:
    """The pixels of a file or an array; a caller's array is looked at here, since nobody behind this door does."""
    if isinstance(picture, Path | str):
        probe(picture, limits)
        return read_still(picture, limits).frame.rgb
    if not isinstance(picture, np.ndarray):
        raise InvalidOption(f"{name}: give a path or an RGB array [height,width,3], not {type(picture).__name__}.")
    array = cast("npt.NDArray[np.generic]", picture)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        found = f"{array.dtype}{list(array.shape)}"
        raise InvalidOption(f"{name}: an RGB array is uint8 [height,width,3], this one is {found}.")
    return cast("RGB8", array)


def local(settings: Settings | None = None, device: DeviceChoice | None = None) -> Local:
    """A runner on this machine's own device; without settings, those of the environment. Raises DeviceUnavailable."""
    settings = settings or load_settings()
    if device is not None and device not in get_args(DeviceChoice):
        raise InvalidOption(f"device {device!r}: choose {', '.join(get_args(DeviceChoice))}.")
    return Local(_sessions(device or settings.device, settings.threads, device_options(settings)), settings)


def device_options(settings: Settings) -> DeviceOptions:
    """How the settings want a device used."""
    return DeviceOptions(
        device_id=settings.device_id,
        memory_limit_bytes=settings.device_memory_mb * 2**20 or None,
        fp16=settings.reduced_precision,
        engine_cache=settings.cache_dir / "engines",
    )


@lru_cache(maxsize=4)
def _sessions(device: DeviceChoice, threads: int, options: DeviceOptions) -> OrtSessions:
    """The same sessions for the same settings, so that a second call of the library finds its models loaded."""
    return OrtSessions(device, threads or None, options=options)


def check_callbacks(on_progress: object, cancel: object) -> None:
    """What a caller of the library wants to be told by and to stop by. Raises InvalidOption."""
    if on_progress is not None and not callable(on_progress):
        raise InvalidOption(f"on_progress: give a function, not {type(on_progress).__name__}.")
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        raise InvalidOption(f"cancel: give a threading.Event, not {type(cancel).__name__}.")


def marks_of(path: Path) -> Marks:
    """The metadata marks of a finished file. Raises BadMedia errors."""
    stored = read_stored_marks(path)
    return read_marks(stored.xmp, stored.tags)


def verify(path: Path | str, settings: Settings | None = None, roots: Path | str | None = None) -> Verification:
    """Which marks a file holds, each with a verdict. `roots` is a PEM file of further authorities to trust.

    Raises BadMedia errors but for damage, which is what is found out; CageUnavailable, SigningUnavailable.
    """
    settings = settings or load_settings()
    trusted = trusted_roots(settings) + (read_roots(Path(roots)) if roots is not None else b"")
    return verify_file(path, trusted, Limits.of_pixels(settings.max_pixels))


def check_output(request: RunRequest) -> None:
    """Whether the output can be written, before any work is done. Raises OutputNotWritable or OutputExists."""
    require_writable(request.output)
    for path in request.inputs:
        if _same_file(request.output, path):
            raise OutputExists(str(request.output), path=str(request.output))


def _same_file(output: Path, path: Path) -> bool:
    try:
        return output.samefile(path)
    except OSError:
        # One of them does not exist, or not yet.
        return False
