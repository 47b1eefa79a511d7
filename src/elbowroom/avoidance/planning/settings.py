"""Settings of planning: when a way around is asked for, how it is chosen, and how it is followed.

None of them is an input of a compiled law: a controller with planning computes the very numbers of one without.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import Settings, refusal, setting

WAIT, AROUND = "wait", "around"


@dataclass(frozen=True)
class Planning(Settings):
    """How an arm that is held up goes around (docs/avoidance/planning.md)."""

    # ---- when
    patience: float = setting(0.5, "(0, 60] s", "an arm that has come no nearer to its aim for so long asks for a way")
    progress: float = setting(0.02, "(0, 1] m", "how much nearer counts as nearer")
    again: float = setting(1.0, "(0, 60] s", "after an answer without a way, the next request is so much later")
    # ---- which
    margins: tuple[float, ...] = setting(
        (0.35, 0.25, 0.18, 0.12, 0.08),
        "(0, 10] m",
        "distances to who stands: the widest that has a way, or one that is a fifth quicker",
    )
    moving_people: str = setting(
        AROUND, (AROUND, WAIT), "who moves is weighed as a cost; or waited for, where they could come to the route"
    )
    hand_speed: float = setting(
        2.5, "(0, 20] m/s", "how fast somebody who moves could come to a route that is not begun then"
    )
    moving_margin: float = setting(
        0.6, "(0, 10] m", "around: distance to who moves, as they are; where they are expected, `kept` of it is enough"
    )
    thing_margins: tuple[float, ...] = setting(
        (0.12, 0.08, 0.04, 0.02, 0.01), "(0, 10] m", "distances to things, in the same way; not above that to people"
    )
    clear: float = setting(0.02, "[0, 1] m", "distance to the floor and the walls")
    still_after: float = setting(1.0, "[0, 60] s", "a person who stands for so long is a wall")
    still_within: float = setting(0.12, "(0, 10] m", "what counts as standing: no part has gone farther")
    horizon: float = setting(1.5, "[0, 10] s", "how far ahead a moving person is taken to keep the velocity")
    uncertainty: float = setting(0.2, "[0, 5] m/s", "how fast the doubt about a moving person's place grows")
    tries: int = setting(4, "[1, 100]", "ways that are looked for, of which the quickest is taken")
    budget: float = setting(0.3, "(0, 60] s", "time for one request")
    rounds: int = setting(400, "[1, 10000000]", "of the search, its bound where a run must be repeatable")
    latency: float = setting(0.1, "[0, 10] s", "and how long an answer then takes in the time of the run")
    # ---- following
    speed: float = setting(0.8, "(0, 20] m/s", "greatest speed of the tool on a route")
    leash: float = setting(0.3, "(0, 10] rad or m", "the route waits for an arm that any joint of lags so far")
    gain: float = setting(4.0, "(0, 100] 1/s", "pull to the joints of the route in the null space of the task")
    kept: float = setting(
        0.5, "(0, 1]", "part of its margin that a route must keep from where people move to, and are expected"
    )
    # ---- trust
    latest: float = setting(1.0, "(0, 60] s", "an answer that comes later is dropped")
    silent: float = setting(2.0, "(0, 600] s", "a planner that does not answer for so long is ended and started anew")
    restart: float = setting(1.0, "(0, 600] s", "pause before that, doubled each time up to a minute")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("margins", "thing_margins"):
            if not getattr(self, name):
                raise refusal(self, name, "at least one number (m)")
            object.__setattr__(self, name, tuple(sorted(getattr(self, name), reverse=True)))
        if self.silent < self.budget:
            raise refusal(self, "silent", f"at least budget = {self.budget!r} s")

    def waits(self, margin: float) -> bool:
        """Whether a route with this margin is not begun while somebody who moves could come to the arm on it."""
        return self.moving_people == WAIT or margin < self.moving_margin
