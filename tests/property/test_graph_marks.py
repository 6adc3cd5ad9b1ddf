"""Whatever pipeline is written: it compiles to a plan whose marks are last, once, or it is refused as the caller's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from secondface.errors import InvalidPipeline
from secondface.spec.catalog import STEP_KINDS, Port
from secondface.spec.graph import LabelSpec, PipelineSpec, StepSpec, compile_pipeline

ids = st.sampled_from(["a", "b", "c", "d", "e"])
kinds = st.sampled_from([*STEP_KINDS, "unknown"])
specs = st.builds(
    StepSpec,
    step=kinds,
    id=st.none() | ids,
    after=st.none() | st.lists(ids, max_size=3).map(tuple),
)
labels = st.builds(
    LabelSpec,
    visible=st.booleans(),
    acknowledgement=st.none() | st.text(max_size=20),
    position=st.sampled_from(["auto", "top-left"]),
)
pipelines = st.builds(PipelineSpec, steps=st.lists(specs, min_size=1, max_size=7).map(tuple), label=labels)


@given(pipeline=pipelines, sources=st.integers(0, 3))
def test_every_plan_ends_with_its_marks(pipeline: PipelineSpec, sources: int) -> None:
    try:
        plan = compile_pipeline(pipeline, sources)
    except InvalidPipeline as error:
        assert error.fault == "caller"
        return
    names = [step.name for step in plan.steps]
    assert names.count("metadata") == 1
    assert names[-2:] == ["watermark", "metadata"]
    assert names.count("watermark") == 1
    assert names.count("label") == (0 if plan.label_waiver else 1)
    assert plan.label_waiver or names[-3] == "label"
    assert bool(plan.label_waiver) == (not pipeline.label.visible)
    assert names.count("analyse") == int(any(step.kind.takes is Port.FACES for step in plan.steps))
    if "analyse" in names:
        assert all(step.kind.takes is not Port.FACES for step in plan.steps[: names.index("analyse")])
    asked = sorted(step.step for step in pipeline.steps if step.step != "label")
    assert sorted(name for name in names if name not in ("analyse", "label", "watermark", "metadata")) == asked
    assert plan.swaps == (sources > 0)


@given(pipeline=pipelines, sources=st.integers(0, 2))
def test_the_order_obeys_every_after(pipeline: PipelineSpec, sources: int) -> None:
    try:
        plan = compile_pipeline(pipeline, sources)
    except InvalidPipeline:
        return
    names = [step.name for step in plan.steps]
    for step in pipeline.steps:
        for other in pipeline.steps:
            once = names.count(step.step) == names.count(other.step) == 1
            if once and step.after and other.id in step.after:
                assert names.index(other.step) < names.index(step.step)


@given(text=st.text(max_size=200))
def test_any_text_is_a_pipeline_or_refused(text: str) -> None:
    for read in (PipelineSpec.parse_document, PipelineSpec.parse_list):
        try:
            compile_pipeline(read(text), 0)
        except InvalidPipeline:
            continue
