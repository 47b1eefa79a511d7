"""The `elbowroom` command.

    robots   the arms that come with elbowroom        count   operations by method, as the papers count
    show     all that is known about one arm          tables  the papers' tables and curves, ours beside theirs
    check    what looks wrong with a file             bench   our speed beside that of others
    demo     the live cell in a browser               export  an arm as MJCF or URDF
    tour     a guided tour in the terminal            codegen quantities of an arm as C for a controller
    run      a scene of one's own, from its file      experiment  the thesis' seven tests, run again
    plant    an arm in a program of its own, for run  replay  a recording again, with a slider for time
    doctor   what is installed, and what is missing   campaign    encounters by the thousand, drawn from a file
    convert  a recording as CSV, MCAP or Parquet      ros2    an arm on ROS 2, guarded
    excite   a motion that shows inertias             identify    inertias and friction from measured torques

What was asked for goes to stdout, all else to stderr.  The exit status is 0, 1 for an error and 2 for a call that was
not understood.  Names and messages that come from files are printed as they are, never as terminal markup.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from .. import __version__
from ..errors import ElbowroomError
from . import (
    bench,
    campaign,
    check,
    convert,
    count,
    demo,
    experiment,
    export,
    identify,
    plant,
    replay,
    ros2,
    run,
    show,
    tour,
)
from .terminal import INTERRUPTED, as_options, console, fail, note, noted, styled

app = typer.Typer(
    name="elbowroom",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("robots")(show.robots)
app.command("show")(show.show)
app.command("check")(check.check)
app.command("demo")(demo.demo)
app.command("tour")(tour.tour)
app.command("count")(count.count)
app.command("tables")(count.tables)
app.command("bench")(bench.bench)
app.command("export")(export.export)
app.command("codegen")(export.codegen)
app.command("run")(run.run)
app.command("plant")(plant.plant)
app.command("replay")(replay.replay)
app.command("convert")(convert.convert)
app.command("ros2")(ros2.ros2)
app.command("experiment")(experiment.experiment)
app.command("identify")(identify.identify)
app.command("excite")(identify.excite)
app.add_typer(
    campaign.app, name="campaign", help="Run encounters with arms, laws, people and sensor faults drawn from a file."
)

OVERVIEW = """\
[bold]elbowroom {version}[/]: the dynamics of serial robot arms, and room for the people beside them

[bold]See[/]    elbowroom [cyan]demo[/]                        the live cell in a browser; drag a person into its way
       elbowroom [cyan]tour[/]                        a guided tour of one arm in the terminal
       elbowroom [cyan]replay[/] run.csv              a recording again, with a slider for time
       elbowroom [cyan]convert[/] run.csv run.mcap    a recording for Foxglove and Rerun, or as Parquet

[bold]Ask[/]    elbowroom [cyan]robots[/]                      the arms that come with it
       elbowroom [cyan]show[/] panda                  joints, limits, inertias, friction, operation counts
       elbowroom [cyan]check[/] my.urdf --tip LINK    what looks wrong with a URDF or TOML file
       elbowroom [cyan]count[/] panda                 operations by method, beside the papers' figures
       elbowroom [cyan]tables[/] --out DIR            the papers' tables and curves, ours beside theirs

[bold]Run[/]    elbowroom [cyan]run[/] cell.toml               a scene of your own: arm, task, people
       elbowroom [cyan]plant[/] cell.toml             its arm in a program of its own; run --plant HOST:PORT
       elbowroom [cyan]ros2[/] --dry-run              an arm on ROS 2, guarded; without a ROS installation
       elbowroom [cyan]experiment[/] all              the thesis' seven tests again, with a report
       elbowroom [cyan]campaign[/] my.toml --out DIR  encounters by the thousand, drawn from a file
       elbowroom [cyan]bench[/] dynamics              how fast it runs here, beside other libraries
       elbowroom [cyan]bench[/] batch                 many states in a call; bench chains, bench gpu, too
       elbowroom [cyan]bench[/] distance              all distances of arm and person, beside coal
       elbowroom [cyan]bench[/] avoidance             one control cycle and its tail, beside mink and Pink
       elbowroom [cyan]bench[/] encounters            touches and throughput among people, beside others
       elbowroom [cyan]bench[/] traps                 an obstacle in the way; planning, replanning, too
       elbowroom [cyan]bench[/] contact               pushes felt; identification, rollouts, too
       elbowroom [cyan]bench[/] page                  whether open pages make the live cell late

[bold]Build[/]  elbowroom [cyan]export[/] panda --format urdf  the arm as MJCF or URDF, for MuJoCo, ROS, Pinocchio
       elbowroom [cyan]codegen[/] panda pose --out C  its dynamics as C for a controller, with a self-test
       elbowroom [cyan]excite[/] --robot panda --out traj.csv     a motion that shows inertias and friction
       elbowroom [cyan]identify[/] --robot panda --data run.csv   inertias and friction from measured torques
       elbowroom [cyan]doctor[/]                      what is installed here, and what is missing for what

In Python:  import elbowroom as er;  arm = er.load("panda");  arm.mass_matrix(arm.ready)
Options and examples of a command:  elbowroom COMMAND --help

Informed by ISO 10218:2025 / ISO/TS 15066, not certified;
run it under a certified safety controller."""


STATES = {r"^  ok\b": "green", r"^  (note|missing)\b": "yellow", r"^  broken\b": "bold red", r"^\S.*": "bold"}
"""How the lines of `elbowroom doctor` are coloured."""


@app.command("doctor")
def _doctor(
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, alone on stdout.")] = False,
) -> None:
    """Say what is installed, what this machine can do, and what is missing for which feature.

    \b
    elbowroom doctor
    elbowroom doctor --json

    It takes a few seconds: it compiles a kernel and imports what is optional.  The exit status is 1 if the core does
    not work.
    """
    from . import doctor  # which must not need typer: it is run where that is missing, too

    found = doctor.examine()
    if json:
        sys.stdout.write(doctor.as_json(found))
    else:
        out = console()
        for line in doctor.as_text(found).splitlines():
            text = Text(line)
            for pattern, style in STATES.items():
                text.highlight_regex(pattern, style)
            out.print(text, soft_wrap=True)
    raise typer.Exit(0 if doctor.healthy(found) else 1)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"elbowroom {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
) -> None:
    """The dynamics of serial robot arms by several formulations.  Without a command: an overview."""
    if context.invoked_subcommand is None:
        styled(OVERVIEW.format(version=__version__))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with these arguments (else the process's own) and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given  # before or after the command
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without our letters shows ? and goes on
    try:
        with noted():
            app(args=[word for word in given if word != "--debug"], prog_name="elbowroom")
    except ElbowroomError as error:
        if debug:
            raise
        fail(as_options(str(error)))
    except OSError as error:
        if debug:
            raise
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:  # before the command itself could hear it
        if debug:
            raise
        note("ended", "by Ctrl-C", "green")
        sys.exit(INTERRUPTED)
    sys.exit(1)
