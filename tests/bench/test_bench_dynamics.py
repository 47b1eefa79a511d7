"""The suites as they run: everybody computes the same, every row has its keys, and who is missing is named."""

from __future__ import annotations

import dataclasses
import json
import sys

import numpy as np
import pytest

from elbowroom import UnknownNameError, chains, load
from elbowroom.avoidance import Config
from elbowroom.bench import avoidance, derivatives, distance, dynamics
from elbowroom.bench.peers import calls as ours
from elbowroom.bench.peers import dynamics as peers
from elbowroom.bench.peers import frax
from elbowroom.bench.scene import scene
from elbowroom.bench.timing import OURS_OUT, ROBOTS, US, Report
from elbowroom.compile import engine

KEYS = {"bench", "robot", "n", "quantity", "who", "version", "seconds_per_state", "ratio_to_us"}
MORE = {"median_seconds", "p90_seconds"}
LIBRARIES = {"Pinocchio": "pinocchio", "MuJoCo": "mujoco", "Robotics Toolbox": "roboticstoolbox", "frax": "frax"}
NAMES = {
    "dynamics": set(LIBRARIES),
    "batch": set(LIBRARIES),
    "chains": {"Pinocchio"},
    "derivatives": {"Pinocchio"},
    "distance": {"coal", "Pinocchio"},
    "avoidance": {"mink", "Pink"},
}


def quick(suite: str) -> Report | avoidance.CycleReport:
    """A run of a second."""
    if suite == "dynamics":
        return dynamics.one_state(["ur5e"], rounds=1, quantities=["mass_matrix", ours.POSE_AND_JACOBIAN])
    if suite == "batch":
        return dynamics.batches(["ur5e"], rounds=1, states=32, quantities=["mass_matrix"])
    if suite == "chains":
        return dynamics.long_chains(joints=[3, 6], rounds=1, quantities=["mass_matrix"])
    if suite == "derivatives":
        return derivatives.run(["scara"], rounds=1, states=32, together=[("mass_matrix", "bias_torque")])
    if suite == "distance":
        return distance.run(rounds=1, shown=scene(4))
    return avoidance.run(cycles=1000, shown=scene(50), controllers={"K": Config()}, batches=False)


@pytest.fixture
def alone(monkeypatch):
    """A machine with no peer on it."""
    for name in (*LIBRARIES.values(), "jax", "coal", "mink", "pink", "daqp"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("suite", NAMES)
def test_without_any_peer_a_suite_runs_and_names_them_all(alone, suite):
    found = quick(suite)
    assert set(found.missing) == NAMES[suite]
    assert len(found.missing) == len(NAMES[suite])
    assert {row.who.split(",")[0] for row in found.rows} == {US}
    for row in json.loads(json.dumps(dataclasses.asdict(found)["rows"])):
        assert set(row) >= KEYS | MORE
        assert row["bench"] == suite
        assert all(isinstance(row[key], str) for key in ("robot", "quantity", "who", "version"))
        assert all(isinstance(row[key], float) and row[key] > 0 for key in ("seconds_per_state", "ratio_to_us", *MORE))
        assert isinstance(row["n"], int)


@pytest.mark.parametrize("suite", ["dynamics", "batch", "chains", "derivatives"])
def test_with_pinocchio_it_stands_beside_us(suite):
    pytest.importorskip("pinocchio")
    found = quick(suite)
    assert {US, "Pinocchio"} <= {row.who for row in found.rows}
    assert "Pinocchio" not in found.missing
    best = {(row.robot, row.quantity, row.states): row.seconds_per_state for row in found.rows if row.who == US}
    for row in found.rows:
        assert row.ratio_to_us == pytest.approx(row.seconds_per_state / best[row.robot, row.quantity, row.states])
        assert row.seconds_per_state <= row.median_seconds <= row.p90_seconds


def test_who_is_in_a_batch(alone):
    rows = quick("batch").rows
    names = {US, OURS_OUT, f"{US}, float32"}
    assert {row.who for row in rows} == names
    assert {row.states for row in rows} == {32}
    large = dynamics.batches(["planar2"], states=5000, rounds=1, quantities=("mass_matrix",)).rows
    more = {f"{US}, {count} threads" for count in dynamics.thread_counts()}  # worth waking from some size on
    assert {row.who for row in large} == names | more
    assert 2 in dynamics.thread_counts()


def test_chains_name_their_methods_and_their_first_call(alone):
    found = quick("chains")
    assert [row.who for row in found.rows] == [US, f"{US}, crba", f"{US}, gdahj"] * 2
    assert [(call.n, call.quantity) for call in found.first_calls] == [(3, "mass_matrix"), (6, "mass_matrix")]
    assert all(call.seconds > 0 for call in found.first_calls)


def test_a_wrong_name_is_refused_before_anything_is_measured():
    for measure in (dynamics.one_state, dynamics.batches):
        told: list[str] = []
        with pytest.raises(UnknownNameError, match="did you mean panda"):
            measure(["ur5e", "pandda"], rounds=1, progress=told.append)
        assert told == []


# ---- everybody computes the same

STATE = ours.states(np.random.default_rng(5), 6)
BATCH = ours.states(np.random.default_rng(6), 9, 6)


def wanted(arm, quantity, state):
    """Ours, as an array; T over J for the pose and the Jacobian."""
    found = ours.one(arm, quantity, state)()
    return flat(found) if quantity == ours.POSE_AND_JACOBIAN else found


def flat(pose_and_jacobian):
    T, J = pose_and_jacobian
    if hasattr(J, "homogeneous"):  # Pinocchio's SE3, after the Jacobian
        T, J = J.homogeneous, T
    return np.concatenate([np.asarray(T).ravel(), np.asarray(J).reshape(6, -1).ravel()])


@pytest.mark.parametrize("name, module", LIBRARIES.items())
def test_a_peer_computes_what_we_do(name, module):
    """Without friction, which the peers leave to their users, and rotors, which frax does not know."""
    pytest.importorskip(module)
    model = load("puma560").model
    still = np.zeros(6)
    frictionless = dataclasses.replace(model, viscous=still, coulomb=still)
    if name == "frax":
        frictionless = dataclasses.replace(frictionless, rotor_inertia=still)
    arm = type(load("puma560"))(frictionless)
    (peer,) = peers.peers(arm, only=[name]).peers
    assert "mass_matrix" in peer.one
    for quantity in peer.one:
        theirs = peer.for_state(quantity, STATE)()
        if quantity == "poses":
            theirs = [placement.homogeneous for placement in list(peer.names["data"].oMi)[1:]]
        theirs = flat(theirs) if quantity == ours.POSE_AND_JACOBIAN else np.array(theirs)
        if name == "Pinocchio" and quantity in ("mass_matrix", "mass_matrix_inverse"):
            theirs = np.triu(theirs) + np.triu(theirs, 1).T  # the half that its manual promises
        expected = wanted(arm, quantity, STATE)
        # rounding through M^-1, whose condition is below 1e3
        assert np.abs(theirs - expected).max() < 1e-10 * max(1.0, np.abs(expected).max()), quantity
    for quantity in peer.many:
        theirs = np.array(peer.for_batch(quantity, BATCH)())
        theirs = theirs.T if name == "Pinocchio" else theirs
        expected = ours.many(arm, quantity, BATCH)()
        assert np.abs(theirs - expected).max() < 1e-10 * np.abs(expected).max(), quantity


def test_pinocchio_on_threads_is_a_contender_of_its_own():
    pytest.importorskip("pinocchio")
    found = peers.peers(chains.random(6), only=["Pinocchio"], threads=[2]).peers
    assert [peer.name for peer in found] == ["Pinocchio", "Pinocchio, 2 threads"]
    one, two = (peer.for_batch("inverse_dynamics", BATCH)() for peer in found)
    assert np.array_equal(one, two)
    assert not found[1].one


def test_a_loop_calls_each_state_once():
    pytest.importorskip("pinocchio")
    (peer,) = peers.peers(chains.random(6), only=["Pinocchio"]).peers
    loop = peer.in_loop("mass_matrix", BATCH)
    seen = []
    module = type(sys)("pin")
    module.crba = lambda model, data, q: seen.append(q)
    exec(loop.text, dict(loop.names) | {"pin": module})
    assert np.array(seen).tolist() == BATCH[0].tolist()


@pytest.mark.parametrize("quantity", dynamics.ONE_STATE)
def test_ours_with_out_is_ours(quantity):
    arm = chains.random(4)
    state = ours.states(np.random.default_rng(1), 4)
    into = ours.one(arm, quantity, state, out=True)()
    new = ours.one(arm, quantity, state)()
    for a, b in zip(into, new, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("quantity", dynamics.BATCHED)
def test_ours_of_a_batch_is_ours_of_its_states(quantity):
    arm = chains.random(6)
    single = np.array([ours.one(arm, quantity, [x[k] for x in BATCH])() for k in range(9)])
    new = ours.many(arm, quantity, BATCH, out=False)()
    # lanes may fuse otherwise than one state does
    assert np.abs(new - single).max() < 1e-11 * np.abs(single).max()
    assert np.array_equal(ours.many(arm, quantity, BATCH, threads=2)(), new)
    half = ours.many(arm, quantity, BATCH, dtype=np.float32)()
    assert half.dtype == np.float32
    assert np.abs(half - single).max() < 1e-4 * np.abs(single).max()  # 24 bits through a matrix of condition 100


def test_a_first_call_compiles_whatever_was_compiled_before(monkeypatch):
    made, emitted = [], engine._emitted
    monkeypatch.setattr(engine, "_emitted", lambda *given: made.append(given) or emitted(*given))
    for k in (1, 2):
        ours.first_call(chains.planar(2), "mass_matrix")
        assert len(made) == k


def test_a_first_call_leaves_the_environment_alone(monkeypatch):
    monkeypatch.setenv("ELBOWROOM_CACHE", "here")
    assert ours.first_call(chains.planar(2), "mass_matrix").seconds > 0
    assert __import__("os").environ["ELBOWROOM_CACHE"] == "here"


def test_the_toolbox_takes_denavit_hartenberg_alone():
    """A table's frames become its links; other frames are refused, and the run says so."""
    made = []
    library = type(sys)("rtb")
    library.RevoluteMDH = lambda **link: made.append(link) or link
    model = load("panda").model
    for i in range(model.n):
        peers._mdh_link(library, model, i)
    assert [round(link["d"], 3) for link in made] == [0.333, 0, 0.316, 0, 0.384, 0, 0]
    assert [round(link["a"], 4) for link in made] == [0, 0, 0, 0.0825, -0.0825, 0, 0.088]
    with pytest.raises(peers._RefusedError, match="Denavit"):
        [peers._mdh_link(library, load("iiwa14").model, i) for i in range(7)]


@pytest.mark.parametrize("version, added", [("0.10.2", [frax.FLAGS[1]]), ("0.4.31", []), (None, [])])
def test_frax_takes_the_settings_that_its_makers_advise(monkeypatch, version, added):
    """What is set stays; what an older JAX does not know would end the process."""

    def installed(name: str) -> str:
        if version is None:
            raise frax.importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr("importlib.metadata.version", installed)
    monkeypatch.setitem(sys.modules, "frax", type(sys)("frax"))
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true --other=1")
    frax.library()
    flags = __import__("os").environ["XLA_FLAGS"].split()
    assert flags == ["--xla_cpu_multi_thread_eigen=true", "--other=1", *added]


def test_the_default_robots_are_four():
    assert ROBOTS == ("panda", "ur5e", "iiwa14", "puma560")
