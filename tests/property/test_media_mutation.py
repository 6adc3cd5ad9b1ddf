"""However a file is damaged, and whatever it says of itself, it is read or refused: no crash, no hang, no escape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.caged_decode import DECODE
from bench.hostile_media import MOST_GROWTH_MB, MOST_S, Traps, examined, originals
from bench.mutations import Original, mutant
from secondface.media.cage import can_cage
from secondface.media.caged_task import CagedTask
from tests.sample_media import MEDIA, needs_media

pytestmark = [
    needs_media,
    pytest.mark.skipif(not can_cage(), reason="only Linux can cage a process"),
    pytest.mark.slow,
]
BATCHES, BATCH = 20, 25
_FEW = (
    "img_1x1", "img_a", "img_heic", "img_gray", "img_icc", "img_m", "img_p", "img_rgba", "vid_16x16", "vid_av1",
    "vid_f", "vid_h", "vid_no", "vid_resolution", "vid_subs", "vid_v", "vid_w", "polyglot", "sample_entry",
)  # fmt: skip


@pytest.fixture(scope="module")
def task() -> Iterator[CagedTask]:
    with closing(CagedTask(DECODE)) as made:
        yield made


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traps]:
    with closing(Traps(tmp_path_factory.mktemp("traps"))) as made:
        yield made


@pytest.fixture(scope="module")
def stock(traps: Traps) -> list[Original]:
    sound = [each for each in originals(MEDIA) if each.name.startswith(_FEW)]
    assert len({each.name.rpartition(".")[2] for each in sound}) >= 12, "formats"
    return [*sound, *traps.bait()]


@settings(max_examples=BATCHES)
@given(seeds=st.lists(st.integers(0, 2**40), min_size=BATCH, max_size=BATCH, unique=True))
def test_damage_is_read_or_refused(task: CagedTask, stock: list[Original], traps: Traps, seeds: list[int]) -> None:
    verdicts = list(examined(task, [mutant(seed, stock) for seed in seeds]))
    assert len(verdicts) == BATCH
    for each in verdicts:
        assert not each.outcome.startswith(("crash", "hang", "fault")), (each.mutant.seed, each.outcome)
        assert each.cpu_s < MOST_S, each.mutant.seed
        assert each.growth_mb < MOST_GROWTH_MB, each.mutant.seed
    assert traps.sprung() == 0


def test_a_trap_that_is_touched_is_noticed(traps: Traps) -> None:
    assert traps.sprung() == 0
    traps.file.read_bytes()
    assert traps.sprung() == 1


def test_a_seed_makes_the_same_damage_again(stock: list[Original]) -> None:
    assert mutant(7, stock) == mutant(7, stock)
    assert mutant(7, stock).content != mutant(8, stock).content
