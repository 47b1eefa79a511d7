"""What is written: JSON of an identification, the arm as URDF and MJCF, and trajectories as CSV."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ElbowroomError
from ..export import mjcf_with_notes, urdf_with_notes
from .excitation import Excitation
from .identify import Identification, Prediction

FORMAT = 1


def facts(found: Identification, unseen: tuple[Prediction, ...] = ()) -> dict[str, Any]:
    """An identification as JSON takes it; what is infinite or missing is null."""
    fit, bodies, load = found.fit, found.consistent, found.payload
    told: dict[str, Any] = {
        "format": FORMAT,
        "robot": found.prior.name,
        "joints": list(found.prior.joint_names),
        "condition": fit.condition,
        "scaled_condition": fit.scaled_condition,
        "equations": fit.rows,
        "deviation": fit.deviation.tolist(),
        "correlation": fit.correlation.tolist(),
        "parameters": [dataclasses.asdict(row) for row in found.table],
        "covariance": fit.covariance.tolist(),
        "undetermined": list(found.undetermined),
        "cutoffs": list(found.cutoffs),
        "torques": [_torques(shown, fitted=True) for shown in found.predictions]
        + [_torques(shown, fitted=False) for shown in unseen],
    }
    if bodies is not None:
        told["links"] = {
            "names": list(found.prior.model.link_names),
            "parameters": bodies.parameters.reshape(-1, 10).tolist(),
            "errors": bodies.errors.reshape(-1, 10).tolist(),
            "distance": bodies.distance,
            "regularisation": bodies.regularisation,
            "zeroed": list(bodies.zeroed),
            "prior_notes": list(bodies.prior_notes),
        }
    if load is not None:
        told["payload"] = {
            "mass": load.mass,
            "mass_error": load.mass_error,
            "com": load.com.tolist(),
            "com_error": load.com_error.tolist(),
            "parameters": load.parameters.tolist(),
            "errors": load.errors.tolist(),
            "known_by": load.known_by,
        }
    clean: dict[str, Any] = _finite(told)
    return clean


def _torques(shown: Prediction, *, fitted: bool) -> dict[str, Any]:
    return {
        "run": shown.name,
        "fitted": fitted,
        "rms": shown.rms(0.0 * shown.measured).tolist(),
        "rms_error_model": shown.rms(shown.model).tolist(),
        "rms_error_least_squares": shown.rms(shown.least_squares).tolist(),
        "rms_error_bodies": None if shown.consistent is None else shown.rms(shown.consistent).tolist(),
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_models(found: Identification, folder: Path) -> list[Path]:
    """identified.urdf and identified.xml (MJCF, which holds rotors, too)."""
    if found.arm is None:
        return []
    urdf, mjcf = folder / "identified.urdf", folder / "identified.xml"
    urdf.write_text(urdf_with_notes(found.arm.model).text, encoding="ascii")
    mjcf.write_text(mjcf_with_notes(found.arm.model, contacts=False).text, encoding="ascii")
    return [urdf, mjcf]


def write_trajectory(found: Excitation, path: Path, *, seed: int) -> None:
    """t, q1 ... qn, qd1 ..., qdd1 ..., one row per sample; numbers that give the same float64 back."""
    n = found.arm.n
    names = ["t", *(f"{kind}{j}" for kind in ("q", "qd", "qdd") for j in range(1, n + 1))]
    notes = {"robot": found.arm.name, "made by": f"elbowroom excite, seed {seed}", "joints": found.arm.joint_names}
    lines = [f"# {key}: {value if isinstance(value, str) else ' '.join(value)}" for key, value in notes.items()]
    lines.append(",".join(names))
    table = np.column_stack([found.t, found.q, found.qd, found.qdd])
    lines += [",".join(map(repr, row)) for row in table.tolist()]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ElbowroomError(f"{path}: cannot be written: {error.strerror or error}") from error
