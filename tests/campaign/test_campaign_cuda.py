"""The engine `cuda`: the same table as the lanes of a processor.  The card is the C++ compiler (card.py)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import card
from card import needs_cxx
from elbowroom.bench.encounters import on_card
from elbowroom.bench.encounters.on_card import OnCard, Room
from elbowroom.bench.encounters.scene import SensorSettings, frames
from elbowroom.campaign import (
    Store,
    arms,
    cuda_engine,
    engine,
    execute,
    loads,
    parameters,
    read_rows,
    rows,
    runs,
    schema,
)
from elbowroom.compile.schedules import card as card_schedule
from elbowroom.errors import ElbowroomError, UnknownNameError

FILE = """
arm = "planar2"
law = { each = ["K supervised", "still"] }
duration = { choice = [0.6, 0.9] }
limits.human_speed = { choice = [1.6, 2.0] }
sensor.latency = { uniform = [0.03, 0.1] }
sensor.gap = { uniform = [0.02, 0.4] }
sensor.gap_every = 0.3
"""


@pytest.fixture
def on_a_card(monkeypatch):
    """A card of 140 GB, which worker processes have, too."""
    runtime = SimpleNamespace(memGetInfo=lambda: (0, 140e9))
    with_memory = SimpleNamespace(
        **{**vars(card.cupy), "cuda": SimpleNamespace(**{**vars(card.cupy.cuda), "runtime": runtime})}
    )
    for module in (card_schedule, on_card):
        monkeypatch.setattr(module, "library", lambda: with_memory)
    monkeypatch.setattr(cuda_engine, "find_spec", lambda name: name)
    return runtime


@needs_cxx
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_same_table_as_lanes(on_a_card, precision):
    """Runs of two lengths and two kinds, some with stops; and those of an arm that stands, which go alone."""
    campaign = loads(FILE)
    columns = schema(campaign)
    found = rows(campaign, 0, 40, columns=columns, precision=precision, card=Room())
    expected = rows(campaign, 0, 40, columns=columns, precision=precision)
    assert found.tobytes() == expected.tobytes()
    assert found["stops"].sum() > 0


@needs_cxx
def test_worker_processes_share_a_card(on_a_card, tmp_path):
    campaign, motor = loads(FILE), engine("cuda", workers=2)
    assert motor.precision == "float32"
    assert [motor.block(runs) for runs in (100, 20_000, 1_000_000)] == [50, 10_000, cuda_engine.LANES]
    with Store.create(tmp_path / "card", campaign, runs=24, block=8, files="npy", precision=motor.precision) as store:
        execute(campaign, store, motor)
    assert read_rows(tmp_path / "card")[0].tobytes() == rows(campaign, 0, 24, precision="float32").tobytes()


@needs_cxx
def test_runs_that_a_card_cannot_begin_are_made_by_the_processor(on_a_card, monkeypatch):
    """A camera that is 0.5 s late has no frame in the first cycle: the supervisor alone knows how to begin."""
    late = FILE.replace("{ uniform = [0.03, 0.1] }", "0.5").replace(', "still"', "")
    campaign, made = loads(late), list[int]()
    run = OnCard.run

    def counted(self, given):
        tracks = run(self, given)
        made.append(sum(track is not None for track in tracks))
        return tracks

    monkeypatch.setattr(OnCard, "run", counted)
    found = rows(campaign, 0, 8, precision="float32", card=Room())
    assert sum(made) == 0
    assert found.tobytes() == rows(campaign, 0, 8, precision="float32").tobytes()


@needs_cxx
def test_a_small_card_has_fewer_runs_at_once(on_a_card):
    of = parameters(loads(FILE), 0, 1)[0]
    made = OnCard(runs.factory(of), arms.where(of.arm), of.people)
    whole = made.fitting(Room(), 10.0)
    on_a_card.memGetInfo = lambda: (0, 1e9)
    small = made.fitting(Room(share=0.1), 10.0)
    assert whole == Room().lanes
    assert 32 <= small < whole
    assert made.fitting(Room(share=0.1), 20.0) < small
    assert made.fitting(Room(share=0.0), 10.0) == 32
    on_a_card.memGetInfo = lambda: (0, 140e9)
    assert made.fitting(Room(memory=1e9), 40.0) < made.fitting(Room(memory=1e9), 20.0) < whole  # of main memory


@needs_cxx
def test_frames_of_nobody_end_a_run(on_a_card):
    """What is not finite ends a lane, and only that lane."""
    given = parameters(
        loads(FILE),
        0,
        6,
    )[::2]
    made = OnCard(runs.factory(given[0]), arms.where("planar2"), 1)
    scenes = [runs.scene_of(of) for of in given]
    shown = [frames(scene, SensorSettings()) for scene in scenes]
    assert shown[1].points is not None
    shown[1].points.at[12] = np.nan
    tracks = made.run(zip(scenes, shown, strict=True))
    assert [track is None for track in tracks] == [False, True, False]


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(cuda_engine, "find_spec", lambda name: None)
    with pytest.raises(ElbowroomError, match=r"engine 'cuda' needs an NVIDIA card .* and CuPy: .*gpu"):
        engine("cuda")
    monkeypatch.setattr(cuda_engine, "find_spec", lambda name: name)
    with pytest.raises(ElbowroomError, match="engine 'cuda' has no address; expected engine 'ray'"):
        engine("cuda", address="auto")
    for name in ("cuda", "local"):
        with pytest.raises(UnknownNameError, match="precision: expected float64 or float32; got 'half'"):
            engine(name, precision="half")


def test_where_there_is_no_card_nothing_is_begun(monkeypatch):
    """CuPy is not there, or sees no card: a process of its own looked, before there is a folder."""
    monkeypatch.setattr(cuda_engine, "find_spec", lambda name: name)
    with pytest.raises(ElbowroomError, match=r"device 'cuda'"):
        engine("cuda", workers=1)


def test_laws_that_stay_on_the_processor_are_named(on_a_card, tmp_path):
    told = list[str]()
    watch = SimpleNamespace(done=lambda runs, steps: None, note=told.append)
    campaign = loads('arm = "planar2"\nlaw = { each = ["still", "blind"] }\nduration = 0.1\n')
    for name, precision in (("local", "float64"), ("local", "float32"), ("cuda", "float64")):
        motor = engine(name, workers=1, precision=precision)
        motor._warm(campaign, watch)
    assert [text.split(":")[0] for text in told] == ["still, blind", "still, blind"]
