"""`elbowroom excite` and `elbowroom identify`: a trajectory, MuJoCo, parameters, a report, as a user has them."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import elbowroom as er
from elbowroom.bench import identification as bench
from elbowroom.cli.bench.identification_tables import identification as printed
from elbowroom.identification import identify, unseen
from elbowroom.identification.excitation import excite
from elbowroom.identification.simulated import follow

MASS, COM = 0.7, np.array([0.02, -0.01, 0.06])


def arm_with_drives():
    """The SCARA with rotors and friction, and what of it is believed."""
    believed = er.Arm(dataclasses.replace(er.load("scara", friction=False).model, rotor_inertia=np.full(4, 0.05)))
    true = dataclasses.replace(believed.model, viscous=[0.5, 0.5, 5.0, 0.05], coulomb=[1.0, 0.8, 4.0, 0.1])
    return believed, er.Arm(dataclasses.replace(true, mass=1.1 * true.mass, inertia=1.1 * true.inertia))


@pytest.fixture(scope="module")
def followed():
    """Runs in MuJoCo: without the payload, with it, and another trajectory with it."""
    pytest.importorskip("mujoco")
    believed, true = arm_with_drives()
    loaded = true.with_payload(MASS, COM, np.diag([0.002, 0.002, 0.001]))
    first, second = (excite(loaded, 8.0, seed=seed, steps=10) for seed in (0, 1))
    runs = (follow(believed, true, first), follow(believed, loaded, first), follow(believed, loaded, second))
    noise = np.array([0.5, 0.3, 2.0, 0.03])
    return believed, true, runs, noise


def test_parameters_and_payload_within_their_errors_in_mujoco(followed):
    """Eight draws of noise: nearly all intervals hold the true value, none is far off; unseen torques are predicted."""
    believed, true, (empty, carrying, other), noise = followed
    z, loads = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        found = identify(
            believed, carrying.measured("loaded", rng, noise, 1e-5), empty=empty.measured("empty", rng, noise, 1e-5)
        )
        z.append(bench._scores(found, true))
        load = found.payload
        loads.append([(load.mass - MASS) / load.mass_error, *(load.com - COM)[:2] / load.com_error[:2]])
    assert (np.abs(z) < 1.96).mean() > 0.85  # 128 intervals: 5 deviations below 95 %
    assert np.abs(z).max() < 5
    assert (np.abs(loads) < 4).all()
    assert np.isinf(load.com_error[2])  # all axes are vertical: no torque depends on the height
    assert np.isnan(load.com[2])
    shown = unseen(found, other.measured("other", rng))
    assert (shown.rms(shown.consistent) < 0.1 * shown.rms(shown.model)).all()


def written(run, path):
    n = run.q.shape[1]
    names = ["t", *(f"{kind}{k}" for kind in ("q", "tau") for k in range(1, n + 1))]
    rows = np.column_stack([run.t, run.q, run.tau]).tolist()
    path.write_text("\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return path


def test_the_command_writes_a_report_and_models(run, tmp_path, followed):
    _, true, (empty, carrying, other), noise = followed
    from elbowroom.export import mjcf

    robot = tmp_path / "scara.xml"
    robot.write_text(mjcf(arm_with_drives()[0].model))
    rng = np.random.default_rng(5)
    files = [
        written(each.measured("", rng, noise, 1e-5), tmp_path / f"{name}.csv")
        for name, each in (("empty", empty), ("loaded", carrying), ("other", other))
    ]
    options = ("--robot", robot, "--empty", files[0], "--data", files[1], "--validate", files[2])
    status, out, err = run("identify", *options, "--out", tmp_path / "found")
    assert status == 0, err
    assert "Payload, in the tool frame" in out
    assert "other.csv, not fitted" in out
    page = (tmp_path / "found/report.html").read_text()
    assert page.count("<svg") == 4  # torques of three runs, parameters
    for words in ("Payload", "not fitted", "pseudo-inertia"):
        assert words in page
    assert str(tmp_path) not in page
    told = json.loads((tmp_path / "found/identified.json").read_text())
    assert abs(told["payload"]["mass"] - MASS) < 4 * told["payload"]["mass_error"]
    assert len(told["parameters"]) == len(told["covariance"])
    for name in ("identified.urdf", "identified.xml"):
        model = er.load(tmp_path / "found" / name).model
        assert np.allclose(model.viscous[:2], true.model.viscous[:2], rtol=0.2)
        assert np.allclose(model.mass, np.array(told["links"]["parameters"])[:, 0], rtol=1e-6)
    status, out, err = run("identify", *options, "--out", tmp_path / "found")
    assert status == 1
    assert "--force" in err
    status, out, err = run("identify", *options, "--validate", files[1])
    assert status == 2
    assert "loaded.csv is in --data or --empty" in " ".join(err.split())
    status, out, err = run("identify", *options[:2], *options[4:6], "--payload", "--json")
    assert status == 0
    told = json.loads(out)
    assert told["payload"]["known_by"] == "the model's links"
    assert "links" not in told


def test_torques_with_the_wrong_sign_are_named_and_no_model_is_written(run, tmp_path, followed):
    believed, _, (empty, _, _), _ = followed
    whole = empty.measured("", np.random.default_rng(6))
    some = whole.tau * [1.0, -1.0, 1.0, 1.0]
    for tau, wrong in ((-whole.tau, believed.joint_names), (some, believed.joint_names[1:2])):
        path = written(dataclasses.replace(whole, tau=tau), tmp_path / "run.csv")
        status, _, err = run("identify", "--robot", "scara", "--data", path, "--out", tmp_path / "found")
        assert status == 1
        assert f"tau of {', '.join(wrong)}: expected the torque that moves the joint" in " ".join(err.split())
        assert not (tmp_path / "found").exists()
    assert not identify(believed, whole).reversed_joints


def test_excite_refuses_links_without_shape(run, tmp_path):
    from elbowroom.export import urdf

    chain = er.chains.random(2, seed=2)
    robot = tmp_path / "bare.urdf"
    robot.write_text(urdf(chain.model))
    options = ("--robot", robot, "--seconds", 4, "--steps", 1, "--rate", 20, "--out", tmp_path / "traj.csv")
    status, _, err = run("excite", *options)
    assert status == 1
    told = " ".join(err.split())
    assert f"there is none of {', '.join(chain.model.link_names)}" in told
    assert "--allow-bare" in told
    status, _, err = run("excite", *options, "--allow-bare")
    assert status == 0
    assert "the arm has no shape" in " ".join(err.split())


def test_excite_writes_a_trajectory(run, tmp_path):
    pytest.importorskip("matplotlib")
    path, page = tmp_path / "traj.csv", tmp_path / "traj.html"
    options = ("--robot", "scara", "--seconds", 5, "--steps", 3, "--rate", 50, "--out", path)
    status, out, err = run("excite", *options, "--report", page)
    assert status == 0, err
    assert "condition number" in out
    lines = path.read_text().splitlines()
    head = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    assert lines[head].startswith("t,q1,q2,q3,q4,qd1")
    rows = np.array([[float(x) for x in line.split(",")] for line in lines[head + 1 :]])
    assert rows.shape == (251, 13)
    assert np.allclose(rows[[0, -1], 5:], 0.0, atol=1e-9)  # at rest
    assert (rows[:, 1] != np.round(rows[:, 1], 6)).any()  # to the last digit
    assert "<svg" in page.read_text()
    status, out, err = run("excite", *options)
    assert status == 1
    assert "--force" in err
    status, out, err = run("excite", *options, "--force", "--json")
    told = json.loads(out)
    assert told["rows"] == 251
    assert np.array_equal(rows[:, 1], [float(line.split(",")[1]) for line in path.read_text().splitlines()[head + 1 :]])


def test_what_is_wrong_is_an_error_of_one_line(run, tmp_path):
    (tmp_path / "run.csv").write_text("t,q1,q2\n" + "".join(f"{k},0,0\n" for k in range(30)))
    status, out, err = run("identify", "--robot", "planar2", "--data", tmp_path / "run.csv")
    assert (status, out) == (1, "")
    assert err.startswith("error: ")
    assert "expected the column 'tau1'" in err


@pytest.mark.slow
def test_the_bench_on_an_arm_of_six_joints(capsys):
    """A short run of `elbowroom bench identification`: the docs have the long one."""
    pytest.importorskip("mujoco")
    report = bench.run(["ur5e"], runs=3, seconds=6.0, steps=4)
    (row,) = report.rows
    assert row.covered > 0.85  # 144 intervals, of which draws share the motion: 5 deviations below 95 %
    assert 0.8 < row.spread < 1.3
    assert row.payload_covered >= 0.6
    assert row.mass_off < 4 * row.mass_error < 0.1
    assert row.joints_better == 6
    assert row.torque_found < 0.05 * row.torque_model
    assert row.errors_smaller_by > 1.05
    printed(report)
    assert "ur5e" in capsys.readouterr().out
