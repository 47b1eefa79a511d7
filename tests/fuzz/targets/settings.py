"""Settings files: of a controller, and of a supervisor."""

from __future__ import annotations

import tomllib
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import elbowroom as er
from elbowroom.avoidance import Config, Controller, Goal, Limits, State, Supervisor, dumps, loads
from elbowroom.avoidance.control.config import structure
from elbowroom.avoidance.settings import leaves

from ..mutate import toml_tree
from ..target import Broken, Target

BUILT = 12  # one in so many accepted settings of another structure is compiled; it takes half a second
CYCLES = 5


class Settings(Target):
    """Settings TOML: loads, dumps and loads again, then some cycles of a controller or supervisor that has them."""

    name, suffix, share = "settings", ".toml", 12.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.arm = er.load("planar2")
        self.plain = Config(controller="K", period=0.01)
        self.controller = Controller(self.arm, self.plain, people=1, person_capsules=2)
        self.texts = {cls: [dumps(cls()).encode(), dumps(cls(), comments=True).encode()] for cls in (Config, Limits)}
        self.texts[Config].append(dumps(self.plain).encode())
        self.texts[Config].append(b'controller = "F"\nperiod = 0.01\n[workspace]\nfloor = 0.0\nouter = 1.5\n')

    def generate(self, rng: np.random.Generator) -> bytes:
        cls = (Config, Limits)[rng.integers(2)]
        texts = self.texts[cls]
        text = texts[rng.integers(len(texts))]
        return cls.__name__.encode() + b"\n" + toml_tree.changed(rng, text, tomllib.loads(text.decode()))

    def feed(self, data: bytes) -> bool:
        kind, _, content = data.partition(b"\n")
        cls: Any = {b"Config": Config, b"Limits": Limits}[kind]
        found = loads(cls, content.decode("utf-8", "replace"), "settings.toml")
        if loads(cls, dumps(found)) != found:
            raise Broken("accepted settings differ once they are written and read")
        if not all(np.isfinite(value) for _, value in leaves(found)):
            raise Broken("an accepted setting is not finite")
        if cls is Limits:
            self._supervised(self.controller, found)
        elif structure(found) == structure(self.plain):
            self.controller.tune(found)
            try:
                self._cycles(self.controller)
            finally:
                self.controller.tune(self.plain)
                self.controller.reset()
        elif zlib.crc32(data) % BUILT == 0:
            self._cycles(Controller(self.arm, found, people=1, person_capsules=2))
        return True

    def _cycles(self, controller: Controller) -> None:
        """A controller does not raise whatever its gains; what is not finite it says itself."""
        state, obstacles = State(self.arm.ready), controller.obstacles()
        goal = Goal(self.arm.pose(self.arm.ready)[:3, 3] + 0.1)
        for k in range(CYCLES):
            t = k * controller.config.period
            state.t = t
            obstacles.nobody(t)
            command = controller.step(t, controller.config.period, state, obstacles, goal)
            for what in ("qd", "q", "tau"):
                if not np.isfinite(getattr(command, what)).all():
                    raise Broken(f"{what} of a controller with accepted settings is not finite")

    def _supervised(self, controller: Controller, limits: Limits) -> None:
        """A supervisor may refuse limits that do not fit its controller; in a loop it does not raise."""
        guard = Supervisor(controller, limits)
        state, obstacles = State(self.arm.ready), controller.obstacles(own=False)
        goal = Goal(self.arm.pose(self.arm.ready)[:3, 3] + 0.1)
        for k in range(CYCLES):
            t = k * guard.period
            state.t = goal.t = t
            obstacles.nobody(t)
            command = guard.step(t, guard.period, state, obstacles, goal)
            if not np.isfinite(command.qd).all() or (np.abs(command.qd) > guard.bounds.velocity * (1 + 1e-12)).any():
                raise Broken("a supervisor with accepted limits lets a speed through beyond them")
        if guard.counters["exceptions"]:
            raise Broken(f"a supervisor with accepted limits caught an exception: {guard.reason}")
