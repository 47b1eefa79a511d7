"""Settings of a controller: validated data, in and out of TOML.

    config = Config(controller="F", force=Force(method="operational"))
    config = settings.load(Config, "avoid.toml");   settings.dumps(config)

The strength of a field is a speed (m/s) for both controllers; F makes a force of it through `force.resistance`, so one
set of fields serves both.

Strings and whole numbers choose the program; every float is an input of it, so gains can be changed while it runs
(`Controller.tune`) without compiling again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ..checks import SHORTEST, FieldError, choice, non_negative, number, positive, setting
from ..settings import leaves, lifted
from .attraction import Attraction
from .joint_limits import JointLimits
from .repulsion import Profile, Repulsion, Waiting
from .smoothing import MovingAverage
from .workspace import Workspace

CONTROLLERS = {"K": "K", "F": "F", "velocity": "K", "force": "F"}
"""The thesis' letters, and what they work on: `velocity` is K, `force` is F."""
FORCE_METHODS = ("linearised", "operational", "joint")


@dataclass(frozen=True)
class Force:
    """Settings that only the force controller (F) has."""

    method: str = setting("linearised", "", "linearised (3.71), operational (3.61)-(3.68) or joint (3.56)-(3.60)")
    resistance: float = setting(60.0, "N s/m", "force for each m/s of a push: what makes forces of the fields' speeds")
    time_factor: float = setting(0.158, "s", "linearised: seconds for which a push accelerates, dt of (3.71)")
    kp: float = setting(100.0, "1/s^2", "operational, joint: stiffness of the attraction, for each unit of inertia")
    kv: float = setting(20.0, "1/s", "operational, joint: damping of it, for each unit of inertia")
    max_acceleration: float = setting(5.0, "m/s^2", "operational: greatest acceleration of attraction")
    null_damping: float = setting(10.0, "1/s", "operational: damping of what the task leaves free")
    torque_fraction: float = setting(0.9, "", "operational, joint: part of the effort limits that torques may use")

    def __post_init__(self) -> None:
        choice(self, "method", FORCE_METHODS)
        positive(self, "time_factor", most=10.0)
        positive(self, "resistance", "kp", "kv", "max_acceleration")
        non_negative(self, "null_damping")
        positive(self, "torque_fraction", most=1.0)


_AGAINST_ITSELF = Repulsion(
    profile="linear", gain=0.5, influence=0.08, floor=0.005, max_strength=0.5, lookahead=0.0, ease=0.0
)


@dataclass(frozen=True)
class Config:
    """A controller's settings; a table left out has its defaults."""

    controller: str = setting("K", "", "K, or velocity: pushes are velocities; F, or force: they are forces")
    period: float = setting(0.001, "s", "time between steps; the filter's length in samples follows from it")
    task: str = setting("position", "", "what the tool follows: position, or pose (orientation too)")
    inverse: str = setting("dls", "", "velocities to joints: dls (3.49) or transpose (3.51)")
    jacobian: str = setting("tool", "", "tool, or alternate: that of the goal's point")
    superposition: str = setting(
        "auto", "", "how pushes join the task: null, joint, tool; auto: null for K, joint for F"
    )
    acting: str = setting("each", "", "each: every capsule is pushed; nearest: only the one pushed hardest")
    damping: float = setting(0.05, "m", "lambda of (3.49) for the task")
    push_damping: float = setting(0.2, "m", "lambda for pushes: one near a joint's axis must not whirl the arm")
    reluctance: float = setting(0.3, "", "null: the less, the more the null space is used, and the faster")
    posture: float = setting(0.5, "1/s", "pull to the rest posture in the null space of the task; 0 for none")
    attraction: Attraction = field(default=Attraction(), metadata={"doc": "what draws the tool"})
    repulsion: Repulsion = field(default=Repulsion(), metadata={"doc": "what people and things do"})
    waiting: Waiting | None = field(default=Waiting(), metadata={"doc": "for a goal that a person occupies"})
    self_collision: Repulsion | None = field(default=_AGAINST_ITSELF, metadata={"doc": "between the arm's links"})
    workspace: Workspace | None = field(default=None, metadata={"doc": "floor and shells"})
    joint_limits: JointLimits = field(default=JointLimits(), metadata={"doc": "off the joints' limits"})
    smoothing: MovingAverage = field(default=MovingAverage(), metadata={"doc": "the moving average"})
    force: Force = field(default=Force(), metadata={"doc": "for the F controller alone"})

    def __post_init__(self) -> None:
        for name, kind in _PARTS.items():
            value = getattr(self, name)
            if not isinstance(value, kind) and not (value is None and name in _OPTIONAL):
                raise FieldError(name, f"a {kind.__name__}", value, place="Config")
        choice(self, "controller", CONTROLLERS)
        object.__setattr__(self, "controller", CONTROLLERS[self.controller])
        choice(self, "task", ("position", "pose"))
        choice(self, "inverse", ("dls", "transpose"))
        choice(self, "jacobian", ("tool", "alternate"))
        choice(self, "superposition", ("auto", "null", "joint", "tool"))
        choice(self, "acting", ("each", "nearest"))
        number(self, "period", least=SHORTEST, most=1.0)
        positive(self, "damping", "push_damping", most=10.0)
        positive(self, "reluctance", most=100.0)
        non_negative(self, "posture", most=100.0)


_OPTIONAL = ("waiting", "self_collision", "workspace")
_PARTS: dict[str, type] = {
    "attraction": Attraction,
    "repulsion": Repulsion,
    "waiting": Waiting,
    "self_collision": Repulsion,
    "workspace": Workspace,
    "joint_limits": JointLimits,
    "smoothing": MovingAverage,
    "force": Force,
}


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
