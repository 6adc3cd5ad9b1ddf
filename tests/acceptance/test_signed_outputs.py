"""Real runs to every output format, by every way into the engine: none hands out a file without its signature."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from c2pa import Reader

from secondface.compose import Local, local
from secondface.compose.signing import trusted_roots
from secondface.errors import Cancelled, MarkMissing
from secondface.media.images import write_still
from secondface.media.signatures import sniff
from secondface.pipeline.engine import Progress
from secondface.pipeline.run import run_file
from secondface.pipeline.sealing import sign_in_place
from secondface.pipeline.verification import verify_file
from secondface.provenance.credentials import FORMATS, context_of
from secondface.provenance.signing import ContentSigner
from secondface.settings import Settings
from secondface.spec.graph import LabelSpec
from tests.signed_files import STILLS, key_in, picture, plain_clip

WAIVED = LabelSpec(visible=False, acknowledgement="A test.")


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Local:
    return local(Settings(data_dir=tmp_path_factory.mktemp("data")), device="cpu")


@pytest.fixture
def still(tmp_path: Path) -> Path:
    path = tmp_path / "target.png"
    write_still(path, picture())
    return path


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return plain_clip(tmp_path / "target.mp4")


def agreed(runner: Local, path: Path, watermark: str = "absent") -> None:
    """The verifier and the library's own reader both find the signature intact and trusted."""
    roots = trusted_roots(runner.settings)
    found = verify_file(path, roots)
    # these pictures are too small for a watermark unless they are enlarged; tests/scenarios/test_verify.py asks for it
    wanted = {"watermark": watermark, "metadata": "intact", "signature": "intact"}
    assert (found.layers, found.signed) == (wanted, "trusted"), found
    with path.open("rb") as file:
        with Reader(FORMATS[sniff(path).format_name], file, context=context_of(roots)) as reader:
            assert reader.get_validation_state() == "Trusted"
        file.seek(0)
        with Reader(FORMATS[sniff(path).format_name], file, context=context_of(b"")) as reader:
            assert reader.get_validation_state() == "Valid"


@pytest.mark.parametrize("suffix", STILLS)
def test_a_picture_of_every_format_is_signed(runner: Local, still: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    runner.run(runner.request([], still, out, pipeline="denoise"))
    agreed(runner, out)


@pytest.mark.parametrize("suffix", ["mp4", "mov", "gif", "apng", "webp"])
def test_a_video_of_every_format_is_signed(runner: Local, clip: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    report = runner.run(runner.request([], clip, out, pipeline="denoise"))
    agreed(runner, out)
    assert verify_file(out, b"").produce_id == report.produce_id


@pytest.mark.parametrize("suffix", ["mkv", "webm"])
def test_a_container_without_signatures_has_its_label(runner: Local, clip: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    report = runner.run(runner.request([], clip, out, pipeline="denoise"))
    found = verify_file(out, trusted_roots(runner.settings))
    assert (found.layers, found.is_sound) == (
        {"watermark": "absent", "metadata": "present", "signature": "impossible"}, True,
    )  # fmt: skip
    assert found.produce_id == report.produce_id


@pytest.mark.parametrize("label", [None, WAIVED])
@pytest.mark.parametrize("pipeline", ["denoise", "upscale:scale=2"])
def test_no_pipeline_and_no_waiver_leaves_the_signature_off(
    runner: Local, still: Path, tmp_path: Path, pipeline: str, label: LabelSpec | None
) -> None:
    out = tmp_path / "out.jpg"
    runner.run(runner.request([], still, out, pipeline=pipeline, label=label))
    agreed(runner, out, "intact" if "upscale" in pipeline else "absent")


def test_a_cancelled_run_hands_out_nothing_and_the_next_one_signs(runner: Local, clip: Path, tmp_path: Path) -> None:
    out, cancel = tmp_path / "out.mp4", threading.Event()

    def stop(_progress: Progress) -> None:
        cancel.set()

    with pytest.raises(Cancelled):
        runner.run(runner.request([], clip, out, pipeline="denoise"), stop, cancel)
    assert [path.name for path in tmp_path.iterdir()] == ["target.mp4"]
    runner.run(runner.request([], clip, out, pipeline="denoise"))
    agreed(runner, out)


def test_what_another_process_signs_afterwards_is_the_same(runner: Local, still: Path, tmp_path: Path) -> None:
    """As a worker does it, whose caged process has no key."""
    out = tmp_path / "out.png"
    report = run_file(runner.request([], still, out, pipeline="denoise"), runner.sessions)
    assert report.statement is not None
    assert verify_file(out, b"").layers["signature"] == "absent"
    signer = ContentSigner(key_in(tmp_path / "key"))
    sign_in_place(out, signer, replace(report.statement, job="job_1"))
    found = verify_file(out, key_in(tmp_path / "key").roots)
    assert (found.signed, found.job, found.produce_id) == ("trusted", "job_1", report.produce_id)


def test_a_signature_that_does_not_hold_ends_the_run_without_an_output(
    runner: Local, still: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: object) -> None:
        raise MarkMissing("it does not hold")

    monkeypatch.setattr(ContentSigner, "require_signed", broken)
    with pytest.raises(MarkMissing):
        runner.run(runner.request([], still, tmp_path / "out.jpg", pipeline="denoise"))
    assert [path.name for path in tmp_path.iterdir()] == ["target.png"]
