"""The flight recorder: what a row holds, that the ring comes round, what a stop keeps, and files afterwards."""

from __future__ import annotations

import csv
import pickle

import numpy as np
import pytest
from supervising import ARM, PERIOD, Cell, fast

from elbowroom.avoidance import Status
from elbowroom.avoidance.safety.flight_recorder import EVENTS, KEPT, Recorder, columns


def recorder(rows=10, after=3):
    return Recorder(2, rows * PERIOD, PERIOD, after * PERIOD)


def write(r, k, status=Status.OK):
    row = np.full(columns(2)["status"].stop, float(k))
    r.write(row.data, status)


def test_the_columns_are_what_the_limiter_writes():
    cell = Cell()
    cell.moving()
    table = cell.supervisor.recorder.table()
    assert set(table) == set(columns(2))
    command = cell.supervisor.command
    last = {name: values[-1] for name, values in table.items()}
    assert last["t"] == cell.t
    assert last["dt"] == pytest.approx(PERIOD, rel=1e-9)
    assert np.array_equal(last["command"], command.qd)
    assert np.array_equal(last["wanted"], cell.controller.wanted)
    assert np.array_equal(last["tool_velocity"], command.tool_velocity)
    assert np.allclose(last["q"], cell.state.q - command.qd * PERIOD, rtol=0, atol=1e-15)
    assert (last["status"], last["age"], last["human_scale"], last["limit_scale"]) == ("OK", 0.0, 1.0, 1.0)
    assert table["q"].shape == (cell.k, 2)
    assert table["t"].tolist() == [k * PERIOD for k in range(1, cell.k + 1)]


def test_it_comes_round():
    r = recorder()
    for k in range(25):
        write(r, k)
    assert r.table()["t"].tolist() == list(range(15, 25))


def test_a_stop_is_put_aside_with_what_followed():
    r = recorder()
    for k in range(25):
        write(r, k)
    assert r.dump is None
    r.freeze(25.0, "STOP_LIMIT: too fast")
    assert r.dump.table()["t"].tolist() == list(range(15, 25))  # at once
    for k in range(25, 60):
        write(r, k, Status.STOP_LIMIT)
    assert r.dump.table()["t"].tolist() == list(range(19, 29))  # and with four more: the stop's cycle and `after`
    assert (r.dump.reason, r.dump.t) == ("STOP_LIMIT: too fast", 25.0)
    assert r.table()["t"].tolist() == list(range(50, 60))


def test_a_second_stop_within_the_first_is_the_same_record():
    r = recorder()
    r.freeze(0.0, "first")
    write(r, 0)
    r.freeze(1.0, "second")
    assert len(r.dumps) == 1
    assert r.dump.reason == "first"


def test_the_last_few_stops_are_kept_and_no_more():
    r = recorder(after=1)
    for stop in range(5):
        for k in range(7):
            write(r, 100 * stop + k)
        r.freeze(stop, f"stop {stop}")
        write(r, 100 * stop + 7)
        write(r, 100 * stop + 8)
    assert [d.reason for d in r.dumps] == [f"stop {k}" for k in range(5 - KEPT, 5)]
    assert r.dump.table()["t"].tolist() == [400.0 + k for k in range(9)]
    assert len({id(ring) for ring in (*r.dumps, r._now)}) == KEPT + 1


def test_events_are_bounded():
    r = recorder()
    for k in range(EVENTS + 100):
        r.note(k, "kind", "text")
    assert len(r.events) == EVENTS
    assert r.events[-1] == (EVENTS + 99, "kind", "text")


def test_a_cycle_in_the_dark_keeps_the_state_as_it_came():
    cell = Cell()
    cell.moving()
    cell.cycle(fault=lambda c: c.state.q.__setitem__(0, np.nan), follow=False)
    last = {name: values[-1] for name, values in cell.supervisor.recorder.table().items()}
    assert last["status"] == "STOP_STATE_INVALID"
    assert np.isnan(last["q"][0])
    assert np.array_equal(last["command"], [0.0, 0.0])
    assert np.isnan(last["distance"])


def test_the_record_shows_the_whole_stop():
    cell = Cell(limits=fast(record=0.5, record_after=0.1))
    cell.moving((0.5, 0.2))
    cell.supervisor.stop("test")
    cell.cycle(400)
    table = cell.supervisor.recorder.dump.table()
    stopped = table["status"] == "STOP_INTERNAL"
    assert stopped.sum() == 101
    assert not stopped[:-101].any()
    assert table["command"][-1].tolist() == [0.0, 0.0]
    assert np.linalg.norm(table["command"][~stopped][-1]) > 0.5
    assert "operator: test" in cell.supervisor.recorder.dump.reason
    assert (np.diff(table["t"]) > 0).all()


@pytest.mark.parametrize("full", [False, True])
def test_files(tmp_path, full):
    cell = Cell(limits=fast(record=0.1, record_after=0.01))
    cell.cycle(250 if full else 30)
    cell.supervisor.stop("for the file")
    cell.cycle(5)
    dump = cell.supervisor.recorder.dump
    table = dump.table()
    dump.save(tmp_path / "stop.npz")
    with np.load(tmp_path / "stop.npz") as saved:
        assert str(saved["reason"]) == dump.reason
        for name, values in table.items():
            assert np.array_equal(saved[name], values), name
    dump.save(tmp_path / "stop.csv")
    with open(tmp_path / "stop.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(table["t"])
    assert [float(r["q_1"]) for r in rows] == table["q"][:, 1].tolist()  # 17 digits are every bit
    assert [r["status"] for r in rows] == table["status"].tolist()


def test_an_arm_of_one_joint_keeps_its_axis(tmp_path):
    r = Recorder(1, 0.01, PERIOD, 0.0)
    r.write(np.zeros(columns(1)["status"].stop).data, Status.OK)
    assert r.table()["q"].shape == (1, 1)
    r.save(tmp_path / "one.csv")
    assert "q_0" in (tmp_path / "one.csv").read_text()


def test_the_ready_posture_is_there_before_the_first_state():
    assert np.array_equal(Cell().supervisor.command.q, ARM.ready)


def test_a_record_goes_alone_to_another_process():
    recorder = Recorder(2, 0.05, 0.01, 0.0)
    for k in range(3):
        recorder.write(np.full(recorder.data.shape[1], float(k)), Status.OK)
    recorder.freeze(3.0, "a stop")
    there = pickle.loads(pickle.dumps(recorder.dump))
    assert there.table()["t"].tolist() == recorder.dump.table()["t"].tolist() == [0.0, 1.0, 2.0]
    assert there.reason == "a stop"
