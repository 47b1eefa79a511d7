"""Measured runs: read, then identified."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import elbowroom as er
from elbowroom.identification import identify, read
from elbowroom.identification.bodies import pseudo_inertias

from ..mutate.text import cells, changed, lines, raw, words
from ..target import Broken, Target

ROWS = 120


class Measured(Target):
    """Measured runs: read, then fitted, and the links that come out looked at."""

    name, suffix, share = "measured", ".csv", 5.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.arm = er.load("planar2")
        self.file = folder / "run.csv"
        t = 0.02 * np.arange(ROWS)
        q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
        qd, qdd = np.gradient(q, 0.02, axis=0), np.gradient(np.gradient(q, 0.02, axis=0), 0.02, axis=0)
        tau = self.arm.inverse_dynamics(q, qd, qdd)
        self.seeds = [
            _table("t,q1,q2,tau1,tau2", t, q, tau),
            _table("# note: one\ntime,q_shoulder,q_elbow,effort1,effort2,qd1,qd2,qdd1,qdd2", t, q, tau, qd, qdd),
        ]

    def generate(self, rng: np.random.Generator) -> bytes:
        data = self.seeds[rng.integers(len(self.seeds))]
        head, _, body = data.partition(b"2\n")
        if rng.random() < 0.15:
            return changed(rng, head, [(4, words), (1, raw)]) + b"2\n" + body
        gently = lambda rng, data: cells(rng, data, wild=0.2)  # noqa: E731
        return head + b"2\n" + changed(rng, body, [(6, gently), (2, cells), (1, lines), (0.3, raw)])

    def feed(self, data: bytes) -> bool:
        self.file.write_bytes(data)
        found = identify(self.arm, read(self.file, self.arm))
        if not np.isfinite(found.fit.values).all():
            raise Broken("an estimate from an accepted run is not finite")
        links = pseudo_inertias(found.consistent.parameters.reshape(-1, 10))
        if not (np.linalg.eigvalsh(links)[:, 0] > 0).all():
            raise Broken("a link from an accepted run is no body")
        return True


def _table(head: str, *columns: np.ndarray) -> bytes:
    rows = np.column_stack(columns).tolist()
    return "\n".join([head, *(",".join(map(repr, row)) for row in rows), ""]).encode()
