"""Settings of a controller: validated data, in and out of TOML.

    config = Config(controller="F", force=Force(method="operational"))
    config = settings.load(Config, "avoid.toml");   settings.dumps(config)

The strength of a field is a speed (m/s) for both controllers; F makes a force of it through `force.resistance`, so one
set of fields serves both.

Strings and whole numbers choose the program; every float is an input of it, so gains can be changed while it runs
(`Controller.tune`) without compiling again.  `planning` is neither: the law does not know of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..checks import SHORTEST, Settings, setting
from ..planning.settings import Planning
from ..settings import leaves, lifted
from .attraction import Attraction
from .joint_limits import JointLimits
from .repulsion import GoalScaling, Profile, Repulsion, Waiting
from .smoothing import MovingAverage
from .workspace import Workspace

CONTROLLERS = {"K": "K", "F": "F", "velocity": "K", "force": "F"}
"""The thesis' letters, and what they work on: `velocity` is K, `force` is F."""
FORCE_METHODS = ("linearised", "operational", "joint")


@dataclass(frozen=True)
class Force(Settings):
    """Settings that only the force controller (F) has."""

    method: str = setting(
        "linearised", FORCE_METHODS, "linearised (3.71), operational (3.61)-(3.68) or joint (3.56)-(3.60)"
    )
    resistance: float = setting(
        60.0, "(0, inf) N s/m", "force for each m/s of a push: what makes forces of the fields' speeds"
    )
    time_factor: float = setting(0.158, "(0, 10] s", "linearised: seconds for which a push accelerates, dt of (3.71)")
    kp: float = setting(
        100.0, "(0, inf) 1/s^2", "operational, joint: stiffness of the attraction, for each unit of inertia"
    )
    kv: float = setting(20.0, "(0, inf) 1/s", "operational, joint: damping of it, for each unit of inertia")
    max_acceleration: float = setting(5.0, "(0, inf) m/s^2", "operational: greatest acceleration of attraction")
    null_damping: float = setting(10.0, "[0, inf) 1/s", "operational: damping of what the task leaves free")
    torque_fraction: float = setting(0.9, "(0, 1]", "operational, joint: part of the effort limits torques may use")


_AGAINST_ITSELF = Repulsion(
    profile="linear", gain=0.5, influence=0.08, floor=0.005, max_strength=0.5, lookahead=0.0, ease=0.0
)


@dataclass(frozen=True)
class Config(Settings):
    """A controller's settings; a table left out has its defaults."""

    controller: str = setting("K", CONTROLLERS, "K, or velocity: pushes are velocities; F, or force: they are forces")
    period: float = setting(0.001, f"[{SHORTEST}, 1] s", "time between steps; gives the filter's length in samples")
    task: str = setting("position", ("position", "pose"), "what the tool follows: position, or pose (orientation too)")
    inverse: str = setting("dls", ("dls", "transpose"), "velocities to joints: dls (3.49) or transpose (3.51)")
    jacobian: str = setting("tool", ("tool", "alternate"), "tool, or alternate: that of the goal's point")
    superposition: str = setting(
        "auto",
        ("auto", "null", "joint", "tool"),
        "how pushes join the task: null, joint, tool; auto: null for K, joint for F",
    )
    acting: str = setting(
        "each", ("each", "nearest"), "each: every capsule is pushed; nearest: of people and things the hardest push"
    )
    damping: float = setting(0.05, "(0, 10] m", "lambda of (3.49) for the task")
    push_damping: float = setting(0.2, "(0, 10] m", "lambda for pushes: one near a joint's axis must not whirl the arm")
    reluctance: float = setting(0.3, "(0, 100]", "null: the less, the more the null space is used, and the faster")
    posture: float = setting(0.5, "[0, 100] 1/s", "pull to the rest posture in the null space of the task; 0 for none")
    attraction: Attraction = setting(Attraction(), "", "what draws the tool")
    repulsion: Repulsion = setting(Repulsion(), "", "what people and things do")
    waiting: Waiting | None = setting(Waiting(), "", "for a goal that a person occupies")
    goal_scaling: GoalScaling | None = setting(None, "", "pushes that fade at the goal, for goals near people")
    self_collision: Repulsion | None = setting(_AGAINST_ITSELF, "", "between the arm's links")
    workspace: Workspace | None = setting(None, "", "floor and shells")
    joint_limits: JointLimits = setting(JointLimits(), "", "off the joints' limits")
    smoothing: MovingAverage = setting(MovingAverage(), "", "the moving average")
    force: Force = setting(Force(), "", "for the F controller alone")
    planning: Planning | None = setting(None, "", "a way around for an arm that is held up, in a cell", traced=False)

    @property
    def makes_torque(self) -> bool:
        """Whether the controller's commands are torques, not joint speeds."""
        return self.controller == "F" and self.force.method != "linearised"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "controller", CONTROLLERS[self.controller])


Structure = tuple[str, tuple[Profile, ...]]


def structure(config: Config) -> Structure:
    """Everything in the settings that chooses the program: a text of all but the values of its floats, and the profiles
    that are functions of one's own."""
    profiles: list[Profile] = []
    tree = lifted(config, [name for name, _ in leaves(config)])
    text = repr((_named(tree, profiles), config.period, config.smoothing.duration))
    return text, tuple(profiles)


def _named(value: Any, profiles: list[Profile]) -> Any:
    """A tree of settings with its functions, which go into `profiles`, named: their own text has an address in it."""
    if isinstance(value, SimpleNamespace):
        return SimpleNamespace(**{name: _named(entry, profiles) for name, entry in vars(value).items()})
    if isinstance(value, tuple):
        return tuple(_named(entry, profiles) for entry in value)
    if callable(value):
        profiles.append(value)
        return "one's own"
    return value
