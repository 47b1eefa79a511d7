"""Keeps what is believed about people, cycle by cycle; belief.py says what that is.

The supervisor does not hand a controller the caller's obstacles but its own copy, `predicted`.

"No data" never means "no human".  Data older than `max_age` stops the arm; before the first of a person it is held, and
waits.  A report of nobody is data: it must keep coming too.  Somebody last seen is kept, wherever they were, until
reports of nobody have been consistent for `clear_confirm`; as long as these come, that time is no stop.  Before anybody
was ever seen the same time is waited, and the arm is held meanwhile.

Things (`Obstacles.put`) have no stamps and no people in them: they are passed on as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile import compiled
from ..compile.pipeline import Call, Copy
from ..errors import ShapeError
from ..geometry import PARKED, ROW
from ..geometry.shapes import RADIUS
from .belief import COUNT, COVER, GOOD, KNOWN, LOST, NEVER, OF_SENSOR, RAW, RULES, SEEN, UNTIL, watching
from .law import GOAL
from .limits import Limits
from .obstacles import Obstacles

Array = NDArray[np.float64]
Note = Callable[[str, float, str], None]  # kind, time, text


class Watch:
    """`look` once a cycle; then `predicted` is what a controller should see, and `told` (7,) is belief.TOLD.

    `clock` (4,) is belief.CLOCK, which others read too.
    """

    def __init__(self, layout: tuple[int, int, int], limits: Limits, clock: Array, note: Note) -> None:
        people, others, size = layout
        self.predicted = Obstacles(people, others, size)
        self.rejected = self.jumps = self.lost = 0  # counts: frames refused, with a jump, with somebody missing
        self._limits, self._clock, self._note = limits, clock, note
        self._things = slice(people * size, None)
        self._things_until = math.inf  # s, until when the last sound places of things will do
        self._kernel = kernel = compiled(watching, layout)
        self._run = kernel.fast(kernel.general)
        self._out = out = kernel.empty()
        self.told, self.pace, self.believed = out.told, out.pace, out.believed
        """(7,); (S, 2) how fast each capsule may be, m/s, and what it has grown by, m; (S, 13) as last seen, grown."""
        self.told[:] = 0.0
        self.pace[:] = limits.human_speed, 0.0
        self.believed[:] = PARKED
        self._memory, self._people = np.zeros_like(out.memory), np.zeros_like(out.people)
        self._memory[:, :ROW] = PARKED
        self._people[:] = NEVER, NEVER, NEVER, 0.0, 0.0, 0.0
        self._out = self._shared()
        known = {"max_age": limits.oldest} | {name: getattr(limits.sensor, field) for name, field in OF_SENSOR.items()}
        self._rules = np.array([known[name] if name in known else getattr(limits, name) for name in RULES])
        self._oldest = limits.oldest
        self._clean, self._stamps = np.tile(PARKED, (len(self.predicted.rows), 1)), np.zeros(people)
        self._no_goal = np.zeros(GOAL)

    def write_to(self, predicted: Obstacles, believed: Array) -> None:
        """From now on in another's memory, so that nobody need be copied there at every step."""
        predicted.copy_from(self.predicted)
        believed[:] = self.believed
        self.predicted, self.believed = predicted, believed
        self._out = self._shared()

    def _shared(self) -> Any:
        """The arrays that a look fills, some of them others' too."""
        places = self.predicted
        return self._out._replace(believed=self.believed, predicted=places.rows, stamps=places.stamps)

    def calls(self, rows: Array, stamps: Array, goal: Array) -> list[Call | Copy]:
        """A look as steps of a pipeline, for obstacles in these arrays; the last two are for its end."""
        inputs = rows, stamps, self._memory, self._people, self._clock, self._rules, goal
        look = Call(self._kernel, inputs, self._out)
        return [look, Copy(self._out.memory, self._memory), Copy(self._out.people, self._people)]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._run = self._kernel.fast(self._kernel.general)

    def look(self, t: float, obstacles: Obstacles, goal: Array) -> bool:
        """Takes the obstacles as they are at time t; False if some number of obstacles or goal is not finite."""
        if obstacles.layout != self.predicted.layout:
            raise ShapeError(
                f"obstacles must have the places (people, others, capsules) {self.predicted.layout}; "
                f"got {obstacles.layout}"
            )
        clock, out = self._clock, self._out
        clock[0] = t
        sound = True
        try:
            stamps, rules = obstacles.stamps, self._rules
            self._run(obstacles.rows, stamps, self._memory, self._people, clock, rules, goal, out=out)
        except (ValueError, TypeError):
            sound = False
            self._guarded(t, obstacles)
        self._memory[:] = out.memory
        self._people[:] = out.people
        self.looked(obstacles)
        return sound

    def looked(self, obstacles: Obstacles) -> None:
        """These obstacles were looked at."""
        self.predicted.names = obstacles.names
        obstacles.reads += 1

    @property
    def waiting(self) -> bool:
        """Whether the arm is held until somebody was seen, or nobody for long enough."""
        return bool(self.told[1] > 0.0)

    def stale(self, t: float) -> str:
        """What is too old, as a sentence; nothing if all is well."""
        if self.told[0] > 0.0:
            for p, good in enumerate(self._people[:, GOOD].tolist()):
                if good > NEVER and not good - self._limits.clock_tolerance <= t <= good + self._oldest:
                    oldest = f"max_age, {self._oldest:g} s"
                    return f"person {p}: the last good data is older than {oldest}: {t - good:.4f} s"
        if t > self._things_until:
            return f"things: their places were not finite for {self._oldest:g} s"
        return ""

    def remark(self, t: float) -> None:
        """Counts and tells what the last look found."""
        refused, jumped, missing, changed = (int(x) for x in self.told[2:6].tolist())
        self.rejected += refused
        self.jumps += jumped
        self.lost += missing
        if refused:
            self._note("rejected_frames", t, "a person's frame was refused: not finite, not possible, or not new")
        if jumped:
            self._note("jumps", t, "a person jumped farther than people can; old and new place are both kept")
        if missing:
            self._note("lost", t, "somebody is no longer seen; kept, and growing, until confirmed gone")
        if changed:
            self.predicted.counts[:] = self._people[:, COUNT]

    def forget(self, t: float) -> None:
        """After a step of the clock back to t: stamps from before mean nothing, the places of people still do."""
        memory, people = self._memory, self._people
        memory[:, [SEEN, LOST]] = t
        memory[:, UNTIL] = np.where(memory[:, COVER] > 0, t + self._limits.jump_confirm, t)
        people[:, [RAW, GOOD]] = NEVER
        people[:, KNOWN] = 0.0
        self._things_until = math.inf

    def _guarded(self, t: float, obstacles: Obstacles) -> None:
        """The slow way in, where not everything is finite: a frame with such a number is made one that is refused."""
        np.copyto(self._clean, obstacles.rows)
        finite: NDArray[np.bool_] = np.isfinite(self._clean).all(axis=1)  # type: ignore[assignment]
        for p in range(self.predicted.people):
            place = self.predicted.place(p)
            if not finite[place].all():
                self._clean[place] = PARKED
                self._clean[place, RADIUS] = -1.0
        wrong = ~finite[self._things]
        if wrong.any():
            self._clean[self._things][wrong] = self._memory[self._things, :ROW][wrong]
            self._things_until = min(self._things_until, t + self._oldest)
            self._note("rejected_things", t, "the place of a thing is not finite; its last one is kept")
        else:
            self._things_until = math.inf
        self._stamps[:] = np.nan_to_num(obstacles.stamps, nan=-NEVER, posinf=-NEVER, neginf=NEVER)
        fixed = self._clock, self._rules, self._no_goal
        self._run(self._clean, self._stamps, self._memory, self._people, *fixed, out=self._out)
