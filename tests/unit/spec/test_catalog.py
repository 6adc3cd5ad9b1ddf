"""The catalogue says everything about a step in two languages, and names only models that exist."""

from __future__ import annotations

import subprocess
import sys

import pytest

from secondface.models.manifest import load_manifests
from secondface.spec.catalog import STEP_KINDS, FaceRestoreParameters, StepKind, callable_kinds, parameters_of

KINDS = list(STEP_KINDS.values())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_text_is_there_in_both_languages(kind: StepKind) -> None:
    texts = [kind.title, kind.description, *(parameter.description for parameter in parameters_of(kind))]
    for text in texts:
        assert text.en
        assert any("\u4e00" <= sign <= "\u9fff" for sign in text.zh), text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_defaults_are_complete_and_models_exist(kind: StepKind) -> None:
    known = {manifest.name for manifest in load_manifests()}
    assert set(kind.parameters().models()) <= known


def test_a_step_names_the_models_that_it_runs_and_no_others() -> None:
    assert STEP_KINDS["face_swap"].parameters().models() == ("sr2x_photo",)
    assert STEP_KINDS["face_restore"].parameters().models() == ("sr2x_photo",)
    assert FaceRestoreParameters(denoise="strong").models() == ("sr2x_photo", "sr2x_photo_dn3")
    assert STEP_KINDS["denoise"].parameters().models() == ("sr2x_photo_dn1",)


def test_defaults_are_shown_in_words() -> None:
    shown = {p.name: p.default for kind in KINDS for p in parameters_of(kind)}
    assert (shown["shape"], shown["occlusion"], shown["auto"]) == ("empty", "yes", "no")
    assert (shown["exposure"], shown["strength"]) == ("0.0", "auto")


def test_what_a_caller_can_name() -> None:
    names = [kind.name for kind in callable_kinds()]
    assert names == ["denoise", "face_restore", "face_swap", "colour", "upscale", "label"]


def test_ranges_are_shown_in_words() -> None:
    shown = {p.name: p.values for kind in KINDS for p in parameters_of(kind)}
    assert shown["exposure"] == "-3..3"
    assert shown["scale"] == "2 | 4"
    assert shown["occlusion"] == "yes | no"
    assert shown["strength"] == "auto | 0..1"


def test_spec_loads_no_arrays() -> None:
    program = (
        "import sys, secondface.spec.schemas, secondface.spec.catalog; "
        "print(sorted({'numpy', 'cv2', 'av', 'PIL', 'onnxruntime'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
