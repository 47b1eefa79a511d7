"""A cell whose plant is another program: plants that stop by themselves, vanish and are started again."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from elbowroom.avoidance import Config
from elbowroom.cell import Cell, GoTo, Kinematic, PlantClient, PlantServer, Scene, mounted, run

PUMA = Scene(
    robot="puma560",
    cover="thesis",  # two capsules: quick to compile
    start=(0.0, 0.75, -2.15, 0.0, 0.7, 0.0),
    duration=4.0,
    reset_after=0.4,
    controller=Config(period=0.02),
    task=GoTo((0.0, 0.3, 0.0)),
)


class Replaceable:
    """Plants in lockstep at one address, one after the other, each served by a thread."""

    def __init__(self, settings: Scene) -> None:
        self.arm, self.address = mounted(settings), ("127.0.0.1", 0)
        self.start()

    def start(self) -> None:
        """A new plant, its arm where it begins."""
        self.ended = threading.Event()
        self.server = PlantServer(Kinematic(self.arm), self.address, lockstep=True, timeout=0.05)
        self.address = self.server.address
        self.thread = threading.Thread(target=self.server.serve, args=(self.ended.is_set,))
        self.thread.start()

    def kill(self) -> None:
        """No plant is there any more."""
        self.ended.set()
        self.thread.join()
        self.server.close()


@pytest.fixture
def replaceable():
    """A function that makes a cell, and plants for it that can be killed and started again."""
    made = []

    def make(settings: Scene) -> tuple[Replaceable, Cell]:
        plants = Replaceable(settings)
        client = PlantClient(plants.arm, plants.address, lockstep=True, patience=0.5)
        made.extend([(plants, client)])
        assert client.wait(5.0)
        return plants, Cell(settings, plant=client)

    yield make
    for plants, client in made:
        client.close()
        plants.kill()


def test_a_plant_that_is_started_again_goes_on_after_a_reset(replaceable):
    plants, cell = replaceable(PUMA)
    seen = []

    def fate(done: int, count: int) -> None:
        seen.append((cell.plant.connections, cell.plant.held, cell.state.t))
        if done == 30:
            plants.kill()
        if done == 80:
            plants.start()
            assert cell.plant.wait(30.0)

    table = run(cell, progress=fate).table()
    verdicts, moved = table["verdict"], np.abs(np.column_stack([table[f"qd{k}"] for k in range(1, 7)])).max(axis=1)
    assert moved[20] > 0.01
    assert verdicts[40] == "STOP_STATE_STALE"
    assert set(verdicts[50:80]) == {"STOP_STATE_STALE"}
    assert np.abs(table["command1"][50:80]).max() == 0.0
    assert seen[81][0] == 2
    assert "waits for a reset" in seen[81][1]
    assert cell.resets == 1
    assert cell.guard.counters["resets_refused"] == 0  # nobody asks while nothing is there
    again = next(k for k in range(81, 200) if not verdicts[k].startswith("STOP"))
    assert again <= 80 + 2 + 0.4 / 0.02  # steps: the operator asks every reset_after
    assert set(verdicts[again:]) <= {"OK", "SLOWING_LIMIT"}
    assert moved[again + 10] > 0.01
    assert abs(table["t"][-1] - seen[-1][2]) < 0.021  # a plant that counts from 0 again is read on the run's clock
    assert not cell.plant.held


@pytest.mark.parametrize("supervision", ["stop", "watch", "off"])
def test_a_plant_that_stops_by_itself_is_reset_too(replaceable, supervision):
    plants, cell = replaceable(replace(PUMA, supervision=supervision))

    def ask(done: int, count: int) -> None:
        if done == 30:
            plants.server.stop()

    table = run(cell, progress=ask).table()
    moved = np.abs(np.column_stack([table[f"qd{k}"] for k in range(1, 7)])).max(axis=1)
    assert moved[28] > 0.01
    assert moved[45] == 0.0
    assert moved[60] > 0.01
    assert cell.resets == 1
    if supervision == "stop":
        assert table["verdict"][45] == "STOP_INTERNAL"
        assert [e.text for e in cell.guard.recorder.events if e.kind == "STOP_INTERNAL"] == [
            "plant: stopped at the plant"
        ]


def test_touches_before_a_plant_was_started_again_count(replaceable):
    plants, cell = replaceable(PUMA)
    client = cell.plant
    plants.server._touched = (False, 3)
    plants.server._read = lambda t: True  # three touches
    client.advance(0.02)
    assert client.contacts == 3
    plants.kill()
    client.advance(0.02)
    plants.start()
    assert client.wait(30.0)
    client.unlatch()
    client.advance(0.02)
    assert client.contacts == 3
    client.reset(cell.start)
    client.advance(0.02)
    assert client.contacts == 0
