"""Reading of measured runs: every format, and an error for each thing that can be wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

import elbowroom as er
from elbowroom.cell import Cell, Scene
from elbowroom.cell.recording.convert import convert
from elbowroom.cell.recording.log import Log, record_to
from elbowroom.cell.scene import PlantSettings
from elbowroom.errors import ConfigError, ElbowroomError, RecordingError
from elbowroom.identification import checked, identify, read
from elbowroom.identification.reading import from_columns

ARM = er.load("planar2")
HEAD = "t,q1,q2,tau1,tau2"


def lines(count=30, step=0.01):
    rng = np.random.default_rng(0)
    return [",".join(map(repr, [k * step, *rng.uniform(-1, 1, 4).tolist()])) for k in range(count)]


def file(folder, rows, head=HEAD):
    path = folder / "run.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_columns_by_number_and_by_name(tmp_path):
    rows = lines()
    one = read(file(tmp_path, rows), ARM)
    named = read(file(tmp_path, rows, "# a note\ntime,q_shoulder,q_elbow,effort1,effort_elbow"), ARM)
    for what in ("t", "q", "tau"):
        assert np.array_equal(getattr(one, what), getattr(named, what))
    assert one.q[3, 1] == float(rows[3].split(",")[2])
    assert one.qd is None
    assert len(one) == 30
    assert one.rate == pytest.approx(100.0)
    more = read(file(tmp_path, [row + ",0.5,0.25,word" for row in rows], HEAD + ",qd1,qd2,state"), ARM)
    assert (more.qd == (0.5, 0.25)).all()


def test_a_run_of_another_arm_and_positions_in_degrees_are_refused(tmp_path):
    rows = lines()
    assert len(read(file(tmp_path, rows, f"# robot: planar2\n# plant: mujoco\n{HEAD}"), ARM)) == 30
    with pytest.raises(RecordingError, match=r"expected a run of 'planar2'; its note says robot: ur5e"):
        read(file(tmp_path, rows, f"# robot: ur5e\n{HEAD}"), ARM)
    arm = er.load("ur5e")
    columns = {f"tau{k}": np.zeros(30) for k in range(1, 7)} | {f"q{k}": np.full(30, 0.1) for k in range(1, 7)}
    columns |= {"t": 0.01 * np.arange(30), "q3": np.full(30, 90.0)}
    said = r"q3: expected positions within the limits of 'elbow_joint', -3.14159 to 3.14159; got 90 in row 1"
    with pytest.raises(RecordingError, match=said):
        from_columns("run", columns, arm)
    assert len(from_columns("run", columns | {"q3": np.full(30, 3.3)}, arm)) == 30  # a little outside


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    one = read(file(tmp_path, lines()), ARM)
    columns = {"t": one.t, "q1": one.q[:, 0], "q2": one.q[:, 1], "tau1": one.tau[:, 0], "tau2": one.tau[:, 1]}
    parquet.write_table(pa.table(columns | {"state": ["x"] * 30}), tmp_path / "run.parquet")
    assert np.array_equal(read(tmp_path / "run.parquet", ARM).tau, one.tau)
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(RecordingError, match="expected a Parquet file"):
        read(tmp_path / "no.parquet", ARM)


def bag(path, names, t, q, qd, effort):
    """An MCAP file of joint states, as ROS 2 records them."""
    writer_of = pytest.importorskip("mcap.writer", reason="mcap (extra connect) writes and reads bags").Writer
    from elbowroom.cell.recording.ros_messages import COMMON, encode, schema
    from elbowroom.cell.recording.scene_messages import header

    kind = "sensor_msgs/msg/JointState"
    with path.open("wb") as stream:
        writer = writer_of(stream)
        writer.start("ros2", "test")
        schema_id = writer.register_schema(kind, "ros2msg", schema(kind, COMMON).encode())
        channel = writer.register_channel("/joint_states", "cdr", schema_id)
        for k, seconds in enumerate(t):
            ns = 1_700_000_000_000_000_000 + round(1e9 * seconds)
            rows = [tuple(column[k]) if len(column) else () for column in (q, qd, effort)]
            writer.add_message(channel, ns, encode(kind, (header(ns, ""), tuple(names), *rows)), ns)
        writer.finish()
    return path


def test_joint_states_of_a_bag_come_in_the_arms_order(tmp_path):
    t = 0.01 * np.arange(30)
    q, qd, effort = np.random.default_rng(0).uniform(size=(3, 30, 2))
    names = ARM.joint_names[::-1]
    found = read(bag(tmp_path / "a.mcap", names, t, q, qd, effort), ARM)
    assert np.array_equal(found.tau, effort[:, ::-1])
    assert np.array_equal(found.qd, qd[:, ::-1])
    assert np.allclose(found.t, t, atol=1e-6)
    assert read(bag(tmp_path / "b.mcap", names, t, q, [], effort), ARM).qd is None
    with pytest.raises(RecordingError, match="effort for every joint"):
        read(bag(tmp_path / "c.mcap", names, t, q, qd, []), ARM)


def test_times_that_jitter_are_resampled(tmp_path):
    """A smooth motion at uneven times: splines of it are right to 1e-5, torques between lines to 1e-3."""
    rng = np.random.default_rng(0)
    t = np.sort(0.01 * np.arange(200) + rng.uniform(0, 0.006, 200))
    q, tau = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1), np.stack([np.cos(t), np.sin(2 * t)], axis=1)
    with pytest.raises(RecordingError, match=r"resample=\d+.* \(--resample\) makes them even"):
        checked("run", 2, t, q, tau, q)
    found = checked("run", 2, t, q, tau, q, resample=100.0)
    assert np.allclose(np.diff(found.t), 0.01)
    assert found.t[0] == t[0]
    assert t[-1] - 0.01 < found.t[-1] <= t[-1]
    assert np.allclose(found.q[:, 0], np.sin(3 * found.t), atol=1e-5)
    assert np.array_equal(found.q, found.qd)
    assert np.allclose(found.tau[:, 1], np.sin(2 * found.t), atol=1e-3)
    rows = np.column_stack([t, q, tau]).tolist()
    path = file(tmp_path, [",".join(map(repr, row)) for row in rows])
    assert np.array_equal(read(path, ARM, resample=100.0).q, found.q)
    for rate, said in ((1.0, "resample: expected"), (1e4, "resample: expected"), (float("nan"), "resample: expected")):
        with pytest.raises(ConfigError, match=said):
            checked("run", 2, t, q, tau, resample=rate)
    with pytest.raises(RecordingError, match="expected no gap above"):
        checked("run", 2, np.where(t > 1, t + 1, t), q, tau, resample=100.0)


BAD = {
    "no torque": (lambda rows: rows, "t,q1,q2,tau1,torque2", r"expected the column 'tau2' or 'tau_elbow', of joint 2"),
    "no position": (lambda rows: rows, "t,q1,x,tau1,tau2", r"expected the column 'q2' or 'q_elbow'"),
    "no time": (lambda rows: rows, "s,q1,q2,tau1,tau2", r"expected the column 't'"),
    "part of the speeds": (lambda rows: [r + ",0" for r in rows], HEAD + ",qd1", r"expected the column 'qd2'"),
    "a column twice": (lambda rows: rows, "t,q1,q1,tau1,tau2", r"line 1: expected every column once"),
    "no names": (lambda rows: rows, "0,1,2,3,4", r"line 1: expected the names of the columns"),
    "NaN": (
        lambda rows: [*rows[:7], "0.07,0,nan,0,0", *rows[8:]],
        HEAD,
        r"q2, row 8: expected a finite number; got nan",
    ),
    "too large": (
        lambda rows: [*rows[:7], "0.07,0,0,1e9,0", *rows[8:]],
        HEAD,
        r"tau1, row 8: expected at most 1e.06; got 1e",
    ),
    "infinite": (lambda rows: [*rows[:7], "0.07,0,0,inf,0", *rows[8:]], HEAD, r"tau1, row 8: expected a finite"),
    "a word": (
        lambda rows: [*rows[:7], "0.07,0,0,x,0", *rows[8:]],
        HEAD,
        r"line 9: expected a number in column 'tau1'",
    ),
    "a cell too few": (lambda rows: [*rows[:7], "0.07,0,0,0", *rows[8:]], HEAD, r"line 9: expected 5 cells; got 4"),
    "time goes back": (lambda rows: [*rows[:7], *rows[6:]], HEAD, r"t, row 8: expected a time after"),
    "uneven": (lambda rows: [*rows[:7], *rows[9:]], HEAD, r"t, row 8: expected steps of 0.01 s.* got 0.03 s"),
    "too short": (lambda rows: rows[:5], HEAD, r"expected at least 20 rows; got 5"),
    "empty": (lambda rows: [], HEAD, r"expected at least 20 rows; got 0"),
}


@pytest.mark.parametrize("change, head, said", BAD.values(), ids=BAD)
def test_what_is_wrong_is_named(tmp_path, change, head, said):
    path = file(tmp_path, change(lines()), head)
    with pytest.raises(RecordingError, match=said) as error:
        read(path, ARM)
    assert str(path) in str(error.value)


def test_a_recording_of_run_says_that_it_holds_no_torques():
    columns = {name: np.arange(30.0) for name in ("t", "q1", "q2", "law_status")}
    with pytest.raises(RecordingError, match="recordings of `elbowroom run` hold torques where the plant measures"):
        from_columns("run.csv", columns, ARM)
    columns |= {name: np.full(30, np.nan) for name in ("tau1", "tau2")}
    with pytest.raises(RecordingError, match=r"got nan in every row; .* --plant rigid or mujoco"):
        from_columns("run.csv", columns, ARM)


@pytest.mark.parametrize("suffix", ["csv", "mcap", "parquet"])
def test_a_run_of_a_plant_with_torques_is_read_with_them(tmp_path, suffix):
    if suffix != "csv":
        pytest.importorskip({"mcap": "mcap", "parquet": "pyarrow"}[suffix])
    arm = er.load("scara")
    cell = Cell(Scene(robot="scara", people={}, plant=PlantSettings(kind="rigid")))
    first = tmp_path / ("run.csv" if suffix == "parquet" else f"run.{suffix}")
    recorded = []
    with record_to(cell, first) as recording:
        log = Log(cell, recording)
        for k in range(40):
            t = k * cell.period
            cell.step(t)
            log.add(t)
            recorded.append(cell.state.tau.copy())
            cell.advance(t, cell.period)
    path = first
    if suffix == "parquet":
        path = tmp_path / "run.parquet"
        convert(first, path)
    found = read(path, arm)
    assert found.tau.shape == (39, 4)  # nothing was measured before the first step
    assert np.array_equal(found.tau, recorded[1:])
    assert np.isfinite(found.qd).all()


def test_joint_states_without_efforts_say_where_they_come_from(tmp_path):
    pytest.importorskip("mcap")
    cell = Cell(Scene(robot="scara", people={}))
    path = tmp_path / "run.mcap"
    with record_to(cell, path) as recording:
        log = Log(cell, recording)
        for k in range(30):
            cell.step(k * cell.period)
            log.add(k * cell.period)
            cell.advance(k * cell.period, cell.period)
    with pytest.raises(RecordingError, match=r"expected an effort for every joint .* --plant rigid or mujoco"):
        read(path, er.load("scara"))


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(RecordingError, match="cannot be read"):
        read(tmp_path / "none.csv", ARM)
    (tmp_path / "notes.csv").write_text("# one\n# two\n")
    with pytest.raises(RecordingError, match="there are notes alone"):
        read(tmp_path / "notes.csv", ARM)


def run(count=400, rate=100.0, still=False):
    t = np.arange(count) / rate
    q = np.column_stack([np.sin(3 * t), np.cos(2 * t)]) * (not still)
    return checked("run", 2, t, q, np.zeros_like(q))


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"runs": []}, "runs: expected at least one"),
        ({"cutoff": -1.0}, "cutoff: expected Hz, above 0; got -1"),
        ({"cutoff": 1e4}, re.escape("cutoff: expected 1.5 to 8 Hz")),
        ({"regularisation": 0.0}, "regularisation: expected a number above 0"),
        ({"carrying": True, "empty": run()}, "got both"),
        ({"runs": run(still=True)}, "expected an arm that moves; no joint does"),
        ({"runs": run(30)}, "too short: expected at least 75 rows to filter"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, said):
    with pytest.raises((ConfigError, RecordingError), match=said):
        identify(ARM, **({"runs": run()} | arguments))


def test_too_few_equations_for_the_unknowns():
    arm = er.load("panda")
    rng = np.random.default_rng(0)
    q, qd, qdd, tau = rng.uniform(0.2, 1, (4, 20, 7))
    # 140 equations for 57 unknowns are enough, for 57 of which half the joints stand they are not
    qd[:, :5] = 0.0
    with pytest.raises(RecordingError, match="too short: expected at least 114 equations for 57 unknowns; got 40"):
        identify(arm, checked("few", 7, 0.01 * np.arange(20), q, tau, qd, qdd))


@pytest.mark.parametrize("what", ["q", "tau", "qd"])
def test_arrays_must_fit_the_arm(what):
    given = dict.fromkeys(("q", "tau", "qd"), np.zeros((30, 2))) | {what: np.zeros((30, 3))}
    with pytest.raises(RecordingError, match=rf"x: {what}: expected shape \(30, 2\)"):
        checked("x", 2, np.arange(30), **given)
    with pytest.raises(RecordingError, match="expected one time a row"):
        checked("x", 2, np.zeros((30, 2)), np.zeros((30, 2)), np.zeros((30, 2)))


def test_filters_without_scipy_say_what_to_install(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *arguments, **named):
        if name == "scipy" or name.startswith("scipy."):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ElbowroomError, match=r"pip install .*'\.\[identify\]'"):
        identify(ARM, run())
