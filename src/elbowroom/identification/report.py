"""The reports: one HTML page of an identification, and one of an exciting trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..experiments.html_report import Definitions, Note, Part, Picture, ReportTable, Section, Words
from ..experiments.html_report import page as html_page
from ..model.parameters import NAMES
from . import figures
from .excitation import Excitation
from .identify import Identification, Prediction

FOOTER = "Standard errors hold for the model that was fitted: rigid links, viscous and Coulomb friction."


def page(found: Identification, unseen: tuple[Prediction, ...] = ()) -> str:
    """The page of an identification, with predictions of runs that were not fitted."""
    sections = [_torques(found, unseen), _parameters(found)]
    if found.consistent is not None:
        sections.append(_links(found))
    if found.payload is not None:
        sections.insert(0, _payload(found))
    title = f"Identification of {found.prior.name}"
    return html_page(title, _introduction(found), sections, FOOTER)


def _introduction(found: Identification) -> list[Part]:
    fit = found.fit
    filters = ["as measured" if f is None else f"{f:.3g} Hz" for f in found.cutoffs]
    parts: list[Part] = [
        Words(f"{len(found.table)} parameters from {fit.rows:,} equations by weighted least squares.", "lead"),
        Definitions(
            [
                (
                    "runs",
                    ", ".join(f"{Path(p.name).name} ({f})" for p, f in zip(found.predictions, filters, strict=True)),
                ),
                ("condition number", f"{fit.condition:.3g}; {fit.scaled_condition:.3g} with columns of length 1"),
                ("not determined by this data", ", ".join(found.undetermined) or "none"),
            ]
        ),
    ]
    if found.consistent is not None and found.consistent.prior_notes:
        parts.append(Note("Prior", listed=list(found.consistent.prior_notes)))
    if (fit.correlation > 0).any():
        joints = [
            f"{joint}: {r:.2f}" for joint, r in zip(found.prior.joint_names, fit.correlation, strict=True) if r > 0
        ]
        parts.append(
            Note(
                "Residuals of neighbouring rows are correlated",
                f"{', '.join(joints)}. The fitted model misses something there; standard errors are widened for it.",
            )
        )
    return parts


def _payload(found: Identification) -> Section:
    load = found.payload
    assert load is not None
    rows = [("mass, kg", f"{load.mass:.4f}", f"{load.mass_error:.4f}")]
    rows += [(f"centre {axis}, m", f"{load.com[k]:.4f}", f"{load.com_error[k]:.4f}") for k, axis in enumerate("xyz")]
    rows += [
        (f"{name} about the tool frame, kg m2", f"{load.parameters[k]:.4g}", f"{load.errors[k]:.2g}")
        for k, name in enumerate(NAMES)
        if k > 3
    ]
    words = Words(f"The body that the arm carries, in its tool frame; told apart by {load.known_by}.")
    return Section("payload", "Payload", "Payload", [words, ReportTable(("", "value", "standard error"), rows)])


def _torques(found: Identification, unseen: tuple[Prediction, ...]) -> Section:
    parts: list[Part] = [
        Words(
            "Root mean square of measured less predicted torque, after the filter: by the model as it was given, by "
            "least squares, and by the model of bodies that is written."
        )
    ]
    for k, shown in enumerate((*found.predictions, *unseen)):
        fitted = k < len(found.predictions)
        head = ("joint", "torque, rms", "model as given", "least squares", "bodies")
        columns = [shown.rms(0.0 * shown.measured), shown.rms(shown.model), shown.rms(shown.least_squares)]
        bodies = None if shown.consistent is None else shown.rms(shown.consistent)
        rows = [
            (joint, *(f"{column[j]:.4g}" for column in columns), "" if bodies is None else f"{bodies[j]:.4g}")
            for j, joint in enumerate(found.prior.joint_names)
        ]
        title = f"{Path(shown.name).name}: {'fitted' if fitted else 'not fitted'}"
        parts.append(ReportTable(head, rows, caption=title, unbroken=True))
        parts.append(Picture(figures.torques(found, shown, f"torques{k}"), f"torques{k}", title))
    return Section("torques", "Torques", "Torques", parts)


def _parameters(found: Identification) -> Section:
    head = ("parameter", "what it is", "unit", "value", "standard error", "model as given", "bodies", "")
    rows = [
        (
            row.name,
            row.meaning,
            row.unit,
            f"{row.value:.5g}",
            f"{row.error:.2g}" if np.isfinite(row.error) else "-",
            "-" if row.model is None else f"{row.model:.5g}",
            "-" if row.consistent is None else f"{row.consistent:.5g}",
            "" if row.determined else "not determined",
        )
        for row in found.table
    ]
    picture = Picture(figures.parameters(found), "parameters", "Parameters, 95 % intervals; grey: not determined")
    words = Words(
        "Base parameters are the combinations of link parameters that torques depend on. Not determined: the standard "
        "error is larger than the model is taken to be wrong by (50 % of a link in size), or makes the whole torque."
    )
    return Section("parameters", "Parameters", "Parameters", [words, picture, ReportTable(head, rows, words=3)])


def _links(found: Identification) -> Section:
    assert found.consistent is not None
    assert found.arm is not None
    p, e = found.consistent.parameters.reshape(-1, 10), found.consistent.errors.reshape(-1, 10)
    before, after = found.prior.model, found.arm.model
    rows = []
    for i, link in enumerate(before.link_names):
        centre = ", ".join(f"{c:.4f}" for c in after.com[i])
        old = ", ".join(f"{c:.4f}" for c in before.com[i])
        moments = ", ".join(f"{v:.3g}" for v in np.linalg.eigvalsh(after.inertia[i]))
        rows.append((link, f"{p[i, 0]:.4g} ± {e[i, 0]:.2g}", f"{before.mass[i]:.4g}", centre, old, moments))
    head = ("link", "mass, kg", "model as given", "centre, m", "model as given", "principal moments, kg m2")
    words = (
        "Link parameters that bodies can have: every pseudo-inertia is positive definite. Torques alone do not say "
        "how a base parameter is shared among links; there the model as it was given decides, by the log-determinant "
        f"divergence of pseudo-inertias. This costs {found.consistent.distance:.3g} squared standard errors of the "
        f"estimate in all ({len(found.table)} parameters)."
    )
    parts: list[Part] = [Words(words), ReportTable(head, rows, unbroken=True)]
    if found.far_from_bodies:
        parts.append(
            Note(
                "The data wants links that are no bodies",
                "The estimate of least squares is far from all that bodies can have, beyond its standard errors: "
                "frames, signs or units of the data may be wrong, or the model that was fitted misses something.",
            )
        )
    if found.consistent.zeroed:
        parts.append(Note("Set to 0, since it would be negative", ", ".join(found.consistent.zeroed)))
    return Section("links", "Links", "Links", parts)


def excitation_page(found: Excitation) -> str:
    """The page of a trajectory."""
    facts = [
        ("seconds", f"{found.seconds:g}"),
        ("condition number", f"{found.condition_before:.3g} before, {found.condition:.3g} after; columns of length 1"),
        ("standard errors", f"smaller by a factor of {found.gain:.3g} (geometric mean)"),
        ("clearance", "not looked at" if found.clearance is None else f"at least {found.clearance:.3f} m"),
    ]
    parts: list[Part] = [Definitions(facts)]
    if found.notes:
        parts.append(Note("Notes", listed=list(found.notes)))
    picture = Picture(figures.motion(found), "motion", "Positions and speeds; dashed: the limits that it keeps to")
    section = Section("motion", "The trajectory", "Trajectory", [picture])
    return html_page(f"Exciting trajectory of {found.arm.name}", parts, [section], FOOTER)
