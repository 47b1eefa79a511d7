"""A controller's settings: every combination through TOML and back, everything wrong refused with the path to it."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import elbowroom as er
from elbowroom.avoidance import (
    Attraction,
    Config,
    Controller,
    Force,
    JointLimits,
    MovingAverage,
    Repulsion,
    Supervisor,
    Workspace,
    dumps,
    load,
    loads,
)
from elbowroom.avoidance.control.config import structure
from elbowroom.avoidance.settings import leaves, lifted, rows
from elbowroom.errors import ConfigError
from elbowroom.geometry import Body

CHOICES = {
    "controller": ("K", "F"),
    "task": ("position", "pose"),
    "inverse": ("dls", "transpose"),
    "jacobian": ("tool", "alternate"),
    "superposition": ("null", "joint", "tool"),
    "acting": ("each", "nearest"),
}


@pytest.mark.parametrize("combination", list(itertools.product(*CHOICES.values())), ids="-".join)
def test_every_combination_survives_toml(combination):
    config = Config(**dict(zip(CHOICES, combination, strict=True)))
    assert loads(Config, dumps(config)) == config


positive = st.floats(1e-3, 5.0)
fields = st.builds(
    lambda influence, part, **rest: Repulsion(influence=influence, floor=part * influence, **rest),
    influence=st.floats(0.05, 5.0),
    part=st.floats(0.01, 0.9),
    profile=st.sampled_from(["inverse", "linear", "cosine", "power5"]),
    gain=positive,
    measure=st.sampled_from(["surface", "axis"]),
    max_strength=positive,
    lookahead=st.floats(0, 2),
    ease=st.floats(0, 1),
    parting_speed=positive,
)
configs = st.builds(
    Config,
    **{name: st.sampled_from(options) for name, options in CHOICES.items()},
    period=st.floats(1e-4, 0.5),
    damping=st.floats(1e-3, 1.0),
    posture=st.floats(0.0, 10.0),
    attraction=st.builds(
        Attraction,
        kp=st.floats(0, 5),
        ki=st.floats(0, 5),
        slow_down=st.sampled_from(["printed", "mended", "off"]),
        exponent=st.integers(1, 8),
    ),
    repulsion=fields,
    self_collision=st.none() | fields,
    workspace=st.none()
    | st.builds(
        Workspace,
        floor=st.none() | st.floats(-1, 1),
        inner=st.none() | st.floats(0.1, 0.5),
        outer=st.none() | st.floats(0.6, 2.0),
        center=st.tuples(*[st.floats(-1, 1)] * 3),
    ),
    joint_limits=st.builds(
        JointLimits,
        method=st.sampled_from(["scaling", "potential", "none"]),
        form=st.sampled_from(["printed", "mended"]),
        exponent=st.integers(1, 8),
        gain=positive,
    ),
    smoothing=st.builds(MovingAverage, duration=st.floats(0, 1)),
    force=st.builds(Force, method=st.sampled_from(["linearised", "operational", "joint"]), time_factor=positive),
)


@given(configs, st.booleans())
def test_any_settings_survive_toml_to_the_bit(config, comments):
    assert loads(Config, dumps(config, comments=comments)) == config


def test_an_empty_file_is_the_default(tmp_path):
    file = tmp_path / "avoid.toml"
    file.write_text("")
    assert load(Config, file) == Config()


def test_a_file_that_changes_one_gain_changes_nothing_else():
    config = loads(Config, "[repulsion]\ngain = 0.2\n[self_collision]\ninfluence = 0.1\n[force]\nkp = 50\n")
    expected = Config(
        repulsion=dataclasses.replace(Config().repulsion, gain=0.2),
        self_collision=dataclasses.replace(Config().self_collision, influence=0.1),
        force=Force(kp=50.0),
    )
    assert config == expected


def test_parts_are_switched_off_and_on():
    assert loads(Config, "self_collision = false").self_collision is None
    assert loads(Config, "").workspace is None
    assert loads(Config, "[workspace]\nfloor = 0.0").workspace == Workspace(floor=0.0)
    assert "self_collision = false" in dumps(Config(self_collision=None))


BAD = {
    "infuence": ("[repulsion]\ninfuence = 0.5", "repulsion.infuence", "did you mean influence"),
    "unknown table": ("[speed]\nmax = 1", "speed", "unknown key"),
    "unknown key": ("gain = 1", "gain", "unknown key"),
    "key of the other part": ("[attraction]\ninfluence = 1", "attraction.influence", "unknown key"),
    "negative gain": ("[repulsion]\ngain = -0.1", "repulsion.gain", "> 0"),
    "zero gain": ("[repulsion]\ngain = 0", "repulsion.gain", "> 0"),
    "negative kp": ("[attraction]\nkp = -1", "attraction.kp", ">= 0"),
    "d0 of zero": ("[repulsion]\ninfluence = 0.0", "repulsion.influence", "> 0"),
    "d0 negative": ("[repulsion]\ninfluence = -0.5", "repulsion.influence", "> 0"),
    "d0 below d1": ("[repulsion]\ninfluence = 0.005", "repulsion.floor", "below influence"),
    "d0 in millimetres": ("[repulsion]\ninfluence = 500", "repulsion.influence", "<= 10"),
    "unit in the name": ("[repulsion]\ninfluence_mm = 500", "repulsion.influence_mm", "influence (in m)"),
    "self-collision's": ("[self_collision]\ngain = -1", "self_collision.gain", "> 0"),
    "shells' field": ("[workspace.repulsion]\ninfluence = 0", "workspace.repulsion.influence", "> 0"),
    "shells crossed": ("[workspace]\ninner = 1.0\nouter = 0.5", "workspace.inner", "below outer"),
    "margin in degrees": ("[joint_limits]\nmargin = 10", "joint_limits.margin", "<="),
    "wrong type": ('[repulsion]\ngain = "strong"', "repulsion.gain", "number"),
    "a list": ("[repulsion]\ngain = [1, 2]", "repulsion.gain", "number"),
    "a bool for a number": ("period = true", "period", "number"),
    "a number for a choice": ("task = 1", "task", '"position" or "pose"'),
    "wrong choice": ('controller = "k"', "controller", '"K" or "F"'),
    "wrong method": ('[force]\nmethod = "linear"', "force.method", "linearised"),
    "a table for a number": ("[period]\nx = 1", "period", "number"),
    "a number for a table": ("repulsion = 1", "repulsion", "a table"),
    "nan": ("[repulsion]\ngain = nan", "repulsion.gain", "number"),
    "inf": ("[repulsion]\nmax_strength = inf", "repulsion.max_strength", "number"),
    "period of zero": ("period = 0", "period", ">= 1e-05"),
    "period in milliseconds": ("period = 10", "period", "<= 1"),
    "no damping": ("damping = 0", "damping", "> 0"),
    "torques beyond the motors": ("[force]\ntorque_fraction = 1.5", "force.torque_fraction", "<= 1"),
    "negative time factor": ("[force]\ntime_factor = -0.158", "force.time_factor", "> 0"),
    "half an exponent": ("[attraction]\nexponent = 1.5", "attraction.exponent", "whole number"),
    "negative filter": ("[smoothing]\nduration = -0.1", "smoothing.duration", ">= 0"),
    "true for a part": ("workspace = true", "workspace", "a table"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_refused_with_the_path_to_it(name, tmp_path):
    """F16: file, key and what was expected, in that order."""
    text, key, expectation = BAD[name]
    file = tmp_path / "avoid.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(Config, file)
    message = str(caught.value)
    assert message.startswith(f"{file}: {key}: "), message
    assert expectation in message


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: Config(period=-1.0), "period"),
        (lambda: Config(task="both"), "task"),
        (lambda: Config(damping=float("nan")), "damping"),
        (lambda: Force(resistance=0.0), "resistance"),
        (lambda: Force(kp=-1.0), "kp"),
    ],
)
def test_built_in_code_they_are_checked_as_well(build, word):
    with pytest.raises(ConfigError, match=word):
        build()


@pytest.mark.parametrize(
    "options",
    [
        {"attraction": {"kp": 1.0}},
        {"repulsion": None},
        {"repulsion": Attraction()},
        {"force": Repulsion()},
        {"smoothing": 0.05},
        {"joint_limits": "scaling"},
        {"workspace": {"floor": 0.0}},
        {"self_collision": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_part_of_the_wrong_kind_is_refused_in_code(options):
    """A dict or None where a part belongs must not wait for an AttributeError inside the compiler."""
    with pytest.raises(ConfigError):
        Config(**options)


@given(configs)
def test_the_structure_is_what_chooses_the_program(config):
    """Other gains, same structure; another choice, another structure."""
    louder = dataclasses.replace(
        config, repulsion=dataclasses.replace(config.repulsion, gain=config.repulsion.gain * 2)
    )
    assert structure(louder) == structure(config)
    assert structure(dataclasses.replace(config, damping=config.damping * 1.5)) == structure(config)
    for name, options in CHOICES.items():
        other = options[(options.index(getattr(config, name)) + 1) % len(options)]
        assert structure(dataclasses.replace(config, **{name: other})) != structure(config)
    more = dataclasses.replace(config.attraction, exponent=config.attraction.exponent % 8 + 1)
    assert structure(dataclasses.replace(config, attraction=more)) != structure(config)


def test_every_float_is_a_gain_and_nothing_else_is():
    config = Config(workspace=Workspace(floor=0.0, inner=0.2, outer=1.0))
    numbers = {row.name for row in rows(config) if isinstance(row.default, float)}
    names = {name.split("[")[0] for name, _ in leaves(config)}
    assert numbers <= names
    assert names - numbers == {"workspace.center"}
    tree = lifted(config, [f"<{name}>" for name, _ in leaves(config)])
    assert tree.repulsion.gain == "<repulsion.gain>"
    assert tree.workspace.center[2] == "<workspace.center[2]>"
    assert tree.controller == "K"


@pytest.mark.parametrize("period", [0.0, -0.001, 1e-281, 9e-6, 1.1])
def test_a_period_that_no_arm_has_is_refused(period):
    """At 1e-281 s the filter would have more samples than there are numbers for."""
    with pytest.raises(ConfigError, match=r"period: expected a number >= 1e-05 and <= 1 \(s\)"):
        Config(period=period)


def test_a_controller_refuses_what_does_not_fit_the_arm():
    arm = er.load("panda")
    with pytest.raises(ValueError, match=r"posture must have shape \(7,\)"):
        Controller(arm, posture=[0.0] * 6)
    with pytest.raises(ValueError, match="lower"):
        Controller(arm, lower=[0.0] * 6)
    with pytest.raises(ValueError, match="posture"):
        Controller(arm, posture=[float("nan")] * 7)
    with pytest.raises(ConfigError, match="lower must be below upper"):
        Controller(arm, lower=[1.0] * 7, upper=[0.0] * 7)
    with pytest.raises(ConfigError, match=r"body.*panda.*ur5e"):
        Controller(arm, body=Body.from_frames(er.load("ur5e"), 0.05))
    with pytest.raises(ValueError, match="people"):
        Controller(arm, people=-1)


def test_the_wrong_object_in_the_wrong_place_is_named():
    arm = er.load("planar2")
    body = Body.from_frames(arm, 0.05)
    for call, message in (
        (lambda: Controller("planar2"), "arm: expected Arm; got 'planar2'; er.load makes one"),
        (lambda: Controller(arm, "cell.toml", body=body), "config: expected Config; got 'cell.toml'; avoidance.load"),
        (lambda: Supervisor(arm), "controller: expected a Controller; got <Arm planar2"),
        (lambda: Supervisor(Controller(arm, body=body), Config()), "limits: expected Limits; got Config"),
    ):
        with pytest.raises(er.ConfigError, match=message):
            call()


@pytest.mark.parametrize(("word", "letter"), [("velocity", "K"), ("force", "F")])
def test_a_controller_goes_by_the_thesis_letter_or_by_what_it_works_on(word, letter):
    assert Config(controller=word) == Config(controller=letter)
    assert Config(controller=word).controller == letter
    with pytest.raises(ConfigError, match='controller: expected "K" or "F" or "velocity" or "force"'):
        Config(controller="speed")
