"""From the options of `run` to the job that a service is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from secondface.cli.job_words import job_words
from secondface.cli.run_options import RunOptions, request_of
from secondface.errors import InvalidOption, OutputFormatUnsupported
from secondface.sdk.inputs import options_of, said
from secondface.settings import Settings
from tests.unit.cli.test_run_options import NOTHING

ALONE: dict[str, Any] = {
    "max_cost": None, "priority": None, "deadline": None, "likeness_confirmed": False, "detach": False
}  # fmt: skip


def words(**options: Any) -> tuple[list[Path], list[Any], dict[str, object]]:
    """The sources, the mapping, and the options as they are sent."""
    given = cast("RunOptions", NOTHING | ALONE | options)
    sources, mapping, made = job_words(request_of(given, Settings(), given["target"][0], given["output"]), given)
    return sources, mapping, said(options_of(made))


def test_plain_options_say_little() -> None:
    sources, mapping, said_words = words()
    assert (sources, mapping) == ([Path("a.jpg")], [])
    assert said_words["output"] == "mp4"
    assert set(said_words) <= {"output", "label"}


def test_everything_that_a_service_takes() -> None:
    _, mapping, made = words(
        source=("a.jpg", "b.jpg"), mapping=("a.jpg=1", "b.jpg=bob.png"), begin="1", end="f90", rate="29.97",
        scale="50%", volume="1/3", audio=None, max_cost="0.30", priority=3, deadline=60, tier="t4", market="spot",
        likeness_confirmed=True, keep_metadata=True, allow_no_face=True, restore="0.5", output="o.webm",
    )  # fmt: skip
    assert mapping == [(0, 1), (1, Path("bob.png"))]
    video = cast("dict[str, object]", made["video"])
    assert video["rate"] == "30000/1001"
    assert (made["max_cost_micros"], made["priority"], made["deadline_s"], made["tier"]) == (300_000, 3, 60, "t4")
    assert (made["market"], made["output"], made["restore"]) == ("spot", "webm", 0.5)


@pytest.mark.parametrize("amount", ["", " ", "-1", "much"])
def test_a_limit_that_is_no_amount_never_passes_for_no_limit(amount: str) -> None:
    with pytest.raises(InvalidOption, match="--max-cost"):
        words(max_cost=amount)


def test_a_reference_picture_goes_beside_the_options() -> None:
    assert words(faces="like:ann.png")[2]["faces"] == "like"


@pytest.mark.parametrize(
    ("output", "format_name"), [("o.JPG", "jpeg"), ("o.tif", "tiff"), ("o.apng", "apng"), ("o.mkv", "mkv")]
)
def test_the_ending_chooses_the_format(output: str, format_name: str) -> None:
    assert words(output=output)[2]["output"] == format_name


def test_an_ending_that_no_service_writes() -> None:
    with pytest.raises(OutputFormatUnsupported, match=r"o\.bmp"):
        words(output="o.bmp")


@pytest.mark.parametrize("option", [{"device": "cpu"}, {"max_faces": 3}, {"encoder": "gpu"}, {"decoder": "h264_cuvid"}])
def test_what_speaks_of_this_machine_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="speaks of this machine"):
        words(**option)
