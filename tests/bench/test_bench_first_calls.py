"""`elbowroom bench first-calls`: derivatives that nothing has compiled yet."""

from __future__ import annotations

from elbowroom.bench import first_calls
from elbowroom.cli.bench.first_call_tables import first_calls as printed


def test_every_input_of_a_quantity_has_a_row(capsys):
    report = first_calls.run(["planar2"], quantities=("bias_torque",))
    assert [(row.quantity, row.by) for row in report.rows] == [
        ("bias_torque", "q"),
        ("bias_torque", "qd"),
        ("bias_torque", "all, vjp"),
    ]
    assert all(row.seconds > 0.0 and row.batch > 0.0 and row.operations > 0 for row in report.rows)
    printed(report)
    assert "The longest of 3: bias_torque by" in capsys.readouterr().out


def test_chains_take_the_place_of_arms():
    report = first_calls.run(joints=[3], quantities=("potential_energy",))
    assert [(row.n, row.by) for row in report.rows] == [(3, "q")]
