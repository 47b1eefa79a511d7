"""The tables of `elbowroom bench identification`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terminal import line, plain, table

if TYPE_CHECKING:
    from ...bench.identification import IdentificationReport, IdentifiedArm


def identification(report: IdentificationReport) -> None:
    """A line an arm, and what the columns mean."""
    line(
        f"{report.runs} draws of the noise an arm, seed {report.seed}, {report.seconds:g} s in MuJoCo; "
        f"{plain(report.cpu)}"
    )
    table(
        ["arm", "parameters", "condition", "errors by", "within 95 %", "z", "payload within", "mass, kg", "centre, mm"],
        (_cells(row) for row in report.rows),
    )
    line("parameters: base parameters and friction; in brackets not determined by the data.  condition: of the")
    line(
        "weighted regressor with columns of length 1, of the best of 30 random motions and of the designed one; errors"
    )
    line("by: how many times smaller it makes standard errors.  within 95 %: intervals of 1.96 standard errors that")
    line("hold the true value; z: rms of the deviations in standard errors.  payload within: of its mass and centre.")
    line("mass, centre: off by, rms (standard error that was stated), of 1.5 kg.")
    table(
        ["arm", "torque", "model as given", "identified", "joints better"],
        (
            [
                row.robot,
                f"{100 * row.torque:.2f} %",
                f"{100 * row.torque_model:.2f} %",
                f"{100 * row.torque_found:.3f} %",
                f"{row.joints_better} of {row.joints}",
            ]
            for row in report.rows
        ),
    )
    line("On an unseen trajectory, with the payload: rms torque, and rms errors of its prediction, of each joint's")
    line("largest torque, mean over joints; joints better: predicted better than by the model in every draw.")
    for note in report.notes:
        line(plain(note))


def _cells(row: IdentifiedArm) -> list[object]:
    return [
        row.robot,
        f"{row.parameters} ({row.undetermined})",
        f"{row.condition_before:.1f} to {row.condition:.1f}",
        f"{row.errors_smaller_by:.2f}",
        f"{100 * row.covered:.1f} % of {row.intervals}",
        f"{row.spread:.2f}",
        f"{100 * row.payload_covered:.0f} % of {row.payload_intervals}",
        f"{row.mass_off:.4f} ({row.mass_error:.4f})",
        f"{1000 * row.centre_off:.2f} ({1000 * row.centre_error:.2f})",
    ]
