"""Requests: how -s files become people, the default pipeline, and what is refused before a file is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.errors import InvalidOption, InvalidPipeline, MappingUnresolved, OutputExists, TooManySources
from secondface.spec.graph import LabelSpec, PipelineSpec
from secondface.spec.schemas import RunRequest, plan_for


def request(*sources: str, **options: object) -> RunRequest:
    return RunRequest.of_files(sources, "t.mp4", "o.mp4", **options)  # type: ignore[arg-type]


def test_several_files_are_several_people_unless_they_are_one() -> None:
    assert [len(person.images) for person in request("a.jpg", "b.jpg").sources] == [1, 1]
    assert [len(person.images) for person in request("a.jpg", "b.jpg", same_person=True).sources] == [2]


@pytest.mark.parametrize("faces", ["largest", "0", "like:x.jpg"])
def test_two_people_for_one_face_are_refused_at_once(faces: str) -> None:
    with pytest.raises(TooManySources):
        request("a.jpg", "b.jpg", faces=faces)
    assert str(request("a.jpg", "b.jpg", faces=faces, same_person=True).rule) == faces


def test_a_mapping_must_use_every_source_and_each_face_once() -> None:
    assert request("a.jpg", "b.jpg", mapping=["a.jpg=1", "b.jpg=x.png"]).mapping[1].like == Path("x.png")
    with pytest.raises(TooManySources, match=r"b\.jpg"):
        request("a.jpg", "b.jpg", mapping=["a.jpg=1"])
    with pytest.raises(MappingUnresolved, match="same face"):
        request("a.jpg", "b.jpg", mapping=["a.jpg=1", "b.jpg=1"])


def test_the_output_is_not_an_input() -> None:
    for sources, target, output in ((["a.jpg"], "t.mp4", "t.mp4"), (["a.jpg"], "t.png", "./a.jpg")):
        with pytest.raises(OutputExists):
            RunRequest.of_files(sources, target, output)


def test_the_output_is_not_a_reference() -> None:
    for words in ({"faces": "like:./r.png"}, {"mapping": ["0=r.png"]}):
        with pytest.raises(OutputExists):
            RunRequest.of_files(["a.jpg"], "t.png", "r.png", **words)  # type: ignore[arg-type]


def test_the_default_pipeline() -> None:
    def steps(**options: object) -> list[str]:
        return [step.name for step in request("a.jpg", **options).plan().steps]

    assert steps() == ["analyse", "face_swap", "face_restore", "label", "watermark", "metadata"]
    assert steps(restore="off") == ["analyse", "face_swap", "label", "watermark", "metadata"]
    alone = [step.name for step in request().plan().steps]
    assert alone == ["analyse", "face_restore", "label", "watermark", "metadata"]
    assert request("a.jpg", restore=0.5).plan().steps[2].parameters.model_dump()["strength"] == 0.5
    with pytest.raises(InvalidOption, match="nothing to do"):
        request(restore="off").plan()


@pytest.mark.parametrize(
    "options",
    [{"restore": 1.5}, {"restore": "much"}, {"video": {"quality": 99}}, {"colour": 1}, {"limits": {"max_faces": 0}}],
)
def test_bad_values_name_their_field(options: dict[str, object]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(options))):
        request("a.jpg", **options)


def test_restore_belongs_to_the_default_pipeline() -> None:
    with pytest.raises(InvalidOption, match="face_restore:strength"):
        request("a.jpg", restore=0.5, pipeline="face_swap")


def test_a_pipeline_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("steps: [{step: face_swap}]")
    for given in (str(path), path, "face_swap", PipelineSpec.parse_list("face_swap")):
        assert request("a.jpg", pipeline=given).plan() == request("a.jpg", restore="off").plan()


def test_the_label_of_the_request_replaces_the_pipelines() -> None:
    own = PipelineSpec.parse_list("face_swap", LabelSpec(languages="zh"))
    assert plan_for(own, "auto", None, 1).steps[-3].parameters.model_dump()["languages"] == "zh"
    assert plan_for(own, "auto", LabelSpec(languages="en"), 1).steps[-3].parameters.model_dump()["languages"] == "en"
    with pytest.raises(InvalidPipeline, match="acknowledgement"):
        plan_for(own, "auto", LabelSpec(visible=False), 1)


def test_a_request_survives_json() -> None:
    made = request("a.jpg", "b.jpg", mapping=["a.jpg=1", "b.jpg=0"], pipeline="face_swap:shape=0.5", allow_no_face=True)
    assert RunRequest.model_validate_json(made.model_dump_json()) == made
