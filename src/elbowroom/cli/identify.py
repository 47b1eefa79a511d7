"""`elbowroom identify` and `elbowroom excite`: parameters from measured torques, and motions that show them."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ElbowroomError
from .terminal import (
    AllowBare,
    DelayedBar,
    Tip,
    Xacro,
    allow_xacro,
    free_folder,
    heading,
    line,
    note,
    number,
    plain,
    table,
    writable,
    write_json,
)

if TYPE_CHECKING:
    from ..identification import Identification, Prediction

Robot = Annotated[str, typer.Option(metavar="NAME|FILE", help="The arm: a catalogue name, .urdf, .xml or .toml file.")]


def identify(
    robot: Robot,
    data: Annotated[
        list[Path], typer.Option(metavar="FILE", help="A measured run: CSV, Parquet, MCAP or a bag; may be repeated.")
    ],
    empty: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The same arm without the payload of --data, which is then found, too."),
    ] = None,
    payload: Annotated[
        bool, typer.Option("--payload", help="Find the payload alone, taking the links of --robot as true.")
    ] = False,
    validate: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A run that is not fitted, to predict its torques.")
    ] = None,
    rotors: Annotated[bool, typer.Option("--rotors", help="Fit rotor inertias, too.  [the model's]")] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Fit a constant torque for each joint, too.")] = False,
    cutoff: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="Of the zero-phase filter.  [by the motion; none with qd and qdd]"),
    ] = None,
    resample: Annotated[
        float | None, typer.Option(metavar="HZ", help="Rows a second, for times that are not even.  [as measured]")
    ] = None,
    regularisation: Annotated[
        float, typer.Option(metavar="R", help="How much the model counts where the data is silent.")
    ] = 1.0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.html, identified.urdf, .xml and .json there.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")] = False,
    json: Annotated[bool, typer.Option("--json", help="JSON on stdout instead of the tables.")] = False,
    tip: Tip = None,
    xacro: Xacro = False,
) -> None:
    """Find an arm's inertias and friction from measured positions and torques.

    \b
    elbowroom identify --robot panda --data run.csv --out found
    elbowroom identify --robot my.urdf --tip tool0 --data a.csv --data b.csv --validate c.csv --out found
    elbowroom identify --robot panda --data loaded.csv --empty empty.csv       what the arm carries
    elbowroom identify --robot panda --data loaded.csv --payload               the same, by the model's links

    Columns: t, q1 ... qn, tau1 ... taun (or q_JOINT, tau_JOINT); qd and qdd where they were measured, else by a
    zero-phase filter.  Weighted least squares with viscous and Coulomb friction, standard errors, and link parameters
    that bodies can have.  elbowroom excite designs a motion to record.
    """
    from ..identification import identify as fitted
    from ..identification import read, unseen
    from ..identification.files import facts, write_models
    from ..loading import load

    if out is not None:
        free_folder(out, force)
    for path in validate or ():
        if path.resolve() in {each.resolve() for each in [*data, *(empty or ())]}:
            raise typer.BadParameter(f"--validate: expected a run that is not fitted; {path} is in --data or --empty")
    allow_xacro(xacro)
    arm = load(robot, tip, xacro=xacro)
    runs, without, others = (
        [read(path, arm, resample=resample) for path in paths or ()] for paths in (data, empty, validate)
    )
    found = fitted(
        arm,
        runs,
        empty=without,
        carrying=payload,
        rotors=rotors,
        offset=offset,
        cutoff=cutoff,
        regularisation=regularisation,
    )
    predictions = tuple(unseen(found, run, cutoff) for run in others)
    content = facts(found, predictions)
    if json:
        write_json(content)
    else:
        _print(found, predictions)
    if found.reversed_joints:
        raise ElbowroomError(
            f"{', '.join(map(str, data))}: tau of {', '.join(found.reversed_joints)}: expected the torque that moves "
            f"the joint along its axis; it runs against that of {arm.name} in every run, as with the sign reversed"
            f"{'' if out is None else '; nothing was written'}"
        )
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    written = write_models(found, out)
    path = out / "identified.json"
    path.write_text(json_text.dumps(content, indent=1) + "\n", encoding="utf-8")
    written.append(path)
    try:
        from ..identification.report import page

        (out / "report.html").write_text(page(found, predictions), encoding="utf-8")
        written.append(out / "report.html")
    except ElbowroomError as error:  # no matplotlib
        note("no report", str(error))
    note("written", ", ".join(map(str, written)), "green")


def _print(found: Identification, predictions: tuple[Prediction, ...]) -> None:
    fit = found.fit
    heading(f"{found.prior.name}: {len(found.table)} parameters from {fit.rows} equations")
    table(
        ["parameter", "unit", "value", "std. error", "model", "bodies", ""],
        [
            (
                row.name,
                row.unit,
                number(row.value, 5),
                number(row.error, 2),
                "-" if row.model is None else number(row.model, 5),
                "-" if row.consistent is None else number(row.consistent, 5),
                "" if row.determined else "not determined",
            )
            for row in found.table
        ],
        words=2,
    )
    line(
        f"Condition number {fit.condition:.3g}; {fit.scaled_condition:.3g} with columns of length 1.",
        *([plain(f"Not determined by this data: {', '.join(found.undetermined)}.")] if found.undetermined else []),
    )
    heading("Torques: root mean square of measured less predicted")
    rows = []
    for shown in (*found.predictions, *predictions):
        kind = "fitted" if shown in found.predictions else "not fitted"
        errors = [shown.rms(shown.model), shown.rms(shown.least_squares)]
        errors += [] if shown.consistent is None else [shown.rms(shown.consistent)]
        for j, joint in enumerate(found.prior.joint_names):
            cells = [number(error[j], 3) for error in errors] + ["-"] * (3 - len(errors))
            rows.append((joint, f"{Path(shown.name).name}, {kind}", *cells))
    table(["joint", "run", "model", "least squares", "bodies"], rows, words=2)
    if found.consistent is not None and found.consistent.zeroed:
        line(plain(f"Set to 0, since it would be negative: {', '.join(found.consistent.zeroed)}."))
    if found.far_from_bodies:
        note("warning", "the data wants links that are no bodies: a sign, a frame or a unit of it may be wrong")
    if found.payload is not None:
        heading("Payload, in the tool frame")
        line(plain(f"{found.payload}; told apart by {found.payload.known_by}"))


def excite(
    robot: Robot,
    out: Annotated[Path, typer.Option(metavar="FILE.csv", help="Where the trajectory is written.")],
    seconds: Annotated[float, typer.Option(metavar="T", help="Its length.")] = 20.0,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Rows a second.")] = 100.0,
    harmonics: Annotated[int | None, typer.Option(metavar="L", help="Of the Fourier series.  [T/2, 4 to 10]")] = None,
    part: Annotated[float, typer.Option(metavar="P", help="Of the limits of speed and acceleration.")] = 0.8,
    acceleration: Annotated[
        float | None, typer.Option(metavar="A", help="Limit, rad/s2 and m/s2.  [10 and 5]", show_default=False)
    ] = None,
    floor: Annotated[float, typer.Option(metavar="Z", help="Height of the floor, m, in the world.")] = 0.0,
    no_floor: Annotated[bool, typer.Option("--no-floor", help="There is no floor.")] = False,
    margin: Annotated[float, typer.Option(metavar="D", help="m, kept from the floor and between links.")] = 0.05,
    load: Annotated[
        float, typer.Option("--load", metavar="KG", help="Carried at the tool: torque limits hold with it, too.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="The same seed gives the same trajectory.")] = 0,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Of each of the four descents.")] = 60,
    report: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write a page with its picture.")] = None,
    allow_bare: AllowBare = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The figures as JSON on stdout.")] = False,
    tip: Tip = None,
    xacro: Xacro = False,
) -> None:
    """Design a motion whose torques show an arm's parameters, within its limits and clear of the floor and itself.

    \b
    elbowroom excite --robot panda --seconds 20 --out traj.csv
    elbowroom excite --robot my.urdf --tip tool0 --part 0.5 --load 2 --out traj.csv --report traj.html

    A Fourier series that begins and ends at rest.  What is minimised is the volume of the parameters' confidence
    region; the condition number is printed before and after.  Half a minute for seven joints.
    """
    from ..geometry.body import bare_links
    from ..identification.excitation import excite as designed
    from ..identification.files import write_trajectory
    from ..loading import load as load_arm

    for path in (out, *([report] if report else [])):
        writable(path, force)
    allow_xacro(xacro)
    arm = load_arm(robot, tip, xacro=xacro)
    bare = bare_links(arm.model, arm.model.capsules)
    if bare and not allow_bare:
        raise ElbowroomError(
            f"{arm.name}: expected links with shapes, to keep them off the floor and off each other; there is none of "
            f"{', '.join(bare)}: give the file collision shapes, or --allow-bare where nothing can be hit"
        )
    arm = arm.with_payload(load) if load else arm
    with DelayedBar() as bar:
        found = designed(
            arm,
            seconds,
            rate=rate,
            harmonics=harmonics,
            part=part,
            acceleration=acceleration,
            floor=None if no_floor else floor,
            margin=margin,
            seed=seed,
            steps=steps,
            progress=bar,
        )
    write_trajectory(found, out, seed=seed)
    for told in found.notes:
        note("note", told)
    content = {
        "robot": arm.name,
        "seconds": found.seconds,
        "rows": len(found.t),
        "condition_before": found.condition_before,
        "condition": found.condition,
        "errors_smaller_by": found.gain,
        "clearance": found.clearance,
        "seed": seed,
    }
    if json:
        write_json(content)
    else:
        line(f"condition number   {found.condition_before:.4g} before, {found.condition:.4g} after")
        line(f"standard errors    smaller by a factor of {found.gain:.3g} (geometric mean)")
        if found.clearance is not None:
            line(f"clearance          at least {found.clearance:.3f} m")
        line("written           ", plain(f"{out}: {len(found.t)} rows, {found.seconds:g} s"))
    if report is not None:
        from ..identification.report import excitation_page

        report.write_text(excitation_page(found), encoding="utf-8")
        note("written", str(report), "green")
