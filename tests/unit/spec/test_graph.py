"""Pipelines as people write them: lists and documents, their order, their mistakes, and the label that stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from secondface.errors import FileUnreadable, InternalFault, InvalidPipeline, UnknownStep
from secondface.spec.catalog import STEP_KINDS, UpscaleParameters
from secondface.spec.graph import LabelSpec, PipelineSpec, Plan, PlannedStep, compile_pipeline


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps]


def compiled(words: str, sources: int = 1) -> Plan:
    return compile_pipeline(PipelineSpec.parse_list(words), sources)


def test_faces_are_looked_for_once_just_before_they_are_needed() -> None:
    plan = compiled("denoise,face_restore,face_swap,colour")
    marks = ["label", "watermark", "metadata"]
    assert names(plan) == ["denoise", "analyse", "face_restore", "face_swap", "colour", *marks]
    assert plan.finds_faces
    assert plan.swaps


def test_a_pipeline_without_faces_looks_for_none() -> None:
    plan = compiled("denoise,upscale:scale=4", sources=0)
    assert names(plan) == ["denoise", "upscale", "label", "watermark", "metadata"]
    assert plan.models == ("sr2x_photo_dn1", "sr2x_photo")
    assert plan.steps[1].parameters == UpscaleParameters(scale=4)


def test_parameters_are_read_with_their_types() -> None:
    plan = compiled("colour:exposure=-0.5:auto=true, face_swap:shape=0.25:occlusion=false")
    colour, swap = plan.steps[0].parameters.model_dump(), plan.steps[2].parameters.model_dump()
    assert (colour["exposure"], colour["auto"]) == (-0.5, True)
    assert swap == {"shape": 0.25, "occlusion": False}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("face_swap,face_swap", "only once"),
        ("label,face_swap", "after `label`"),
        ("face_swap,label,label", "only once"),
        ("upscale:scale=3", "scale"),
        ("upscale:size=2", "size"),
        ("face_swap:shape=" + "[" * 3000, "shape"),
        ("colour:exposure=nan", "exposure"),
        ("colour:exposure", "kind:name=value"),
        ("denoise", "add `face_swap`"),
    ],
)
def test_mistakes_are_named(words: str, says: str) -> None:
    with pytest.raises(InvalidPipeline, match=says):
        compiled(words)


@pytest.mark.parametrize("words", ["", "blur", "analyse,face_swap", "metadata", "face_swap,,denoise"])
def test_only_callable_kinds_are_known(words: str) -> None:
    with pytest.raises(UnknownStep):
        compiled(words)


def test_swapping_needs_a_source() -> None:
    with pytest.raises(InvalidPipeline, match="needs a source"):
        compiled("face_swap", sources=0)


DOCUMENT = """
version: 1
steps:
  - {step: colour, id: last, after: [swap], parameters: {contrast: 0.2}}
  - {step: face_swap, id: swap, after: [clean]}
  - {step: denoise, id: clean, after: [], parameters: {level: strong}}
label: {languages: zh, position: top-left}
"""


def test_a_document_is_put_in_order() -> None:
    plan = compile_pipeline(PipelineSpec.parse_document(DOCUMENT), 1)
    assert names(plan) == ["denoise", "analyse", "face_swap", "colour", "label", "watermark", "metadata"]
    assert plan.steps[-3].parameters.model_dump() == {"languages": "zh", "position": "top-left"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("steps: [{step: denoise, id: a, after: [b]}, {step: colour, id: b, after: [a]}]", "wait for each other: a, b"),
        ("steps: [{step: denoise, after: [nobody]}]", "nobody"),
        ("steps: [{step: denoise, id: a}, {step: colour, id: a}]", "id 'a'"),
        ("steps: &a [*a]", "aliases"),
        ("steps: []", "steps"),
        ("steps: [{step: denoise}]\nversion: 2", "version"),
        ("steps: [{step: denoise, wrong: 1}]", "wrong"),
        ("[" * 20_000, "not YAML"),
        ("steps: [{step: denoise}]\n#" + "x" * 70_000, "at most"),
        ("!!python/object/apply:os.system [ls]", "not YAML"),
        ("version: !!bool x", "tags"),
        ("steps: !!timestamp x", "tags"),
        ("just words", "document"),
    ],
)
def test_bad_documents_say_where(text: str, says: str) -> None:
    with pytest.raises(InvalidPipeline, match=says):
        compile_pipeline(PipelineSpec.parse_document(text), 0)


def test_json_is_a_document_too() -> None:
    spec = PipelineSpec.parse_document('{"steps": [{"step": "face_swap", "parameters": {"shape": 0.5}}]}')
    assert spec == PipelineSpec.parse_list("face_swap:shape=0.5")
    assert PipelineSpec.parse_document(spec.model_dump_json()) == spec


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable):
        PipelineSpec.load(tmp_path / "none.yaml")


def test_only_a_short_ordinary_file_is_read(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe.yaml", tmp_path / "large.yaml"
    os.mkfifo(pipe)
    with pytest.raises(FileUnreadable, match="ordinary"):
        PipelineSpec.load(pipe)
    with large.open("wb") as file:
        file.truncate(2**20)
    with pytest.raises(InvalidPipeline, match="at most"):
        PipelineSpec.load(large)


def test_the_visible_label_is_left_off_only_with_an_acknowledgement() -> None:
    spec = PipelineSpec.parse_list(
        "face_swap", LabelSpec(visible=False, acknowledgement="Ann labels it in the player.")
    )
    plan = compile_pipeline(spec, 1)
    assert names(plan) == ["analyse", "face_swap", "watermark", "metadata"]
    assert plan.label_waiver == "Ann labels it in the player."
    for text in (None, "", "   "):
        silent = PipelineSpec.parse_list("face_swap", LabelSpec(visible=False, acknowledgement=text))
        with pytest.raises(InvalidPipeline, match="acknowledgement"):
            compile_pipeline(silent, 1)


def test_a_plan_cannot_be_made_without_its_marks() -> None:
    def step(name: str) -> PlannedStep:
        kind = STEP_KINDS[name]
        return PlannedStep(kind, kind.parameters())

    for wrong in (
        ["denoise"],
        ["denoise", "metadata"],
        ["label", "metadata", "denoise"],
        ["label", "label", "metadata"],
        ["label", "metadata"],
        ["watermark", "label", "metadata"],
        ["watermark", "label", "watermark", "metadata"],
        ["label", "label", "watermark", "metadata"],
        ["label", "watermark"],
    ):
        with pytest.raises(InternalFault):
            Plan(tuple(map(step, wrong)))
    with pytest.raises(InternalFault):
        Plan((step("label"), step("watermark"), step("metadata")), label_waiver="both")
