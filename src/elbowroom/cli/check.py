"""`elbowroom check`: what looks wrong with an arm, and what it is good for."""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ..errors import MissingShapeWarning, ModelError, ModelNotice, ModelWarning
from .terminal import Tip, What, Xacro, allow_xacro, as_options, console, one_line, plain, write_json

if TYPE_CHECKING:
    from ..cell.suitability import Suitability

_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@dataclass
class _ArmReport:
    """What was found of an arm, and what it is good for."""

    name: str
    found: list[tuple[str, str]] = field(default_factory=list)  # severity, message
    use: Suitability | None = None

    def count(self, severity: str) -> int:
        return sum(kind == severity for kind, _ in self.found)


def check(
    what: What,
    tip: Tip = None,
    xacro: Xacro = False,
    json: Annotated[bool, typer.Option("--json", help="All of it as JSON, alone on stdout.")] = False,
) -> None:
    """Say what looks wrong with an arm, and what it is good for.

    \b
    elbowroom check my.urdf
    elbowroom check my.urdf --tip tool0
    elbowroom check puma560 --json
    ROS_PACKAGE_PATH=/folder/that/holds/NAME elbowroom check my.urdf     where meshes of package://NAME/ are not found

    The exit status is 1 if there is an error, or if the standard cell (that of `demo`) cannot be run with the arm; also
    with --json.
    """
    allow_xacro(xacro)
    report = _examined(what, tip)
    if json:
        write_json(_plain(report))
    else:
        _print(report)
    if report.count("error") or report.use is None or not report.use.cell.possible:
        raise typer.Exit(1)


def _examined(what: str, tip: str | None) -> _ArmReport:
    from ..arm import Arm
    from ..cell.layout import reasons_of, without_shape
    from ..cell.suitability import suitability
    from ..loading import read, with_masses
    from ..model.inertia import DENSITY, about_estimates

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        warnings.simplefilter("always", ModelNotice)
        try:
            model = read(what, tip)
        except ModelError as error:
            return _ArmReport(what, [("error", as_options(str(error)).removeprefix(f"{what}: "))])
        arm = Arm(with_masses(model, DENSITY))
        findings = arm.examine()
    report = _ArmReport(model.name)
    if said := about_estimates(arm.model):
        load = f"er.load refuses the arm without density={DENSITY:g}, and the cell estimates by itself"
        report.found.append(("warning", f"{said}; {load}"))
    report.found += [(finding.severity, str(finding)) for finding in findings]
    if not report.count("error"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # what is not drawn is said where it is drawn
            report.use = suitability(arm, what, tip)
        report.found += _shape(report.use, without_shape(arm, report.use.bare, reasons_of(caught)))
        report.found += [("note", odd) for odd in report.use.odd]
    told = report.use is not None and report.use.bare  # why is in the error then
    for warning in caught:
        if told and isinstance(warning.message, MissingShapeWarning):
            continue
        severity = "note" if issubclass(warning.category, ModelNotice) else "warning"
        report.found.append((severity, as_options(str(warning.message))))
    report.found = [(severity, text.removeprefix(f"{model.name}: ")) for severity, text in report.found]
    report.found.sort(key=lambda pair: list(_STYLE).index(pair[0]))
    return report


def _shape(use: Suitability, bare: str) -> list[tuple[str, str]]:
    """What is to be said of the arm's shape: links without any, and what sticks far out of the capsules."""
    from ..cell.suitability import MUCH, far_out

    found = [("error", f"{bare}; dynamics need none")] if use.bare else []
    far = [cover for cover in far_out(use.covers) if cover.link not in use.bare]
    if far and use.capsules:
        links = [f"{c.link} {1e3 * c.sticks_out:.0f} mm" if c.sticks_out < math.inf else f"{c.link} whole" for c in far]
        bound = f"more than {1e3 * MUCH:.0f} mm"
        found.append(("warning", f"sticks out of its capsules by {bound}, unseen by distances: {', '.join(links)}"))
    return found


def _print(report: _ArmReport) -> None:
    out = console()
    for severity, message in report.found:
        mark = Text(f"{severity:<9}", style=_STYLE[severity])
        out.print(Text.assemble(mark, one_line(message)), soft_wrap=True)
    if report.use is not None:
        for label, said in _lines(report.use):
            out.print(Text.assemble(Text(f"{label:<15}", style="bold"), one_line(said)), soft_wrap=True)
    told = f"{_many(report.count('error'), 'error')}, {_many(report.count('warning'), 'warning')}"
    verdict = "" if report.use is None else f"; {report.use.cell.sentence}"
    out.print(Text.assemble(plain(report.name), ": ", told, one_line(verdict)), soft_wrap=True)


def _lines(use: Suitability) -> list[tuple[str, str]]:
    from ..cell.suitability import POOR, SINGULAR

    lost = use.dexterity < SINGULAR or (use.joints > 2 and use.manipulability == 0.0)  # the tool cannot go everywhere
    posture = "singular" if lost else "poor" if use.dexterity < POOR else "good"
    lines = [
        ("reach", f"{use.reach:.2f} m from the base, {_many(use.joints, 'joint')}"),
        ("ready pose", f"{posture}: dexterity {use.dexterity:.3f} of 1, manipulability {use.manipulability:.3g}"),
    ]
    if use.capsules:
        lines.append(("capsules", f"{use.capsules}{_cover(use)}"))
    if use.unlimited:
        told = [f"{what} of {_some(joints, use.joints)}" for what, joints in use.unlimited.items()]
        lines.append(("limits missing", "; ".join(told)))
    return lines


def _some(joints: tuple[str, ...], all_: int) -> str:
    return f"all {all_} joints" if len(joints) == all_ else ", ".join(map(repr, joints))


def _cover(use: Suitability) -> str:
    from ..cell.suitability import STICKS_OUT

    worst = use.worst
    if worst is None:
        return "; nothing else is known of its shape"
    out = [cover for cover in use.covers if cover.sticks_out > STICKS_OUT]
    if not out:
        return ", and nothing that is seen sticks out of them"
    bare = [cover.link for cover in out if cover.sticks_out == float("inf")]
    told = [f"{cover.link} {1e3 * cover.sticks_out:.0f} mm" for cover in out if cover.link not in bare]
    told += [f"{link} has none" for link in bare]
    return f"; what sticks out of them: {', '.join(told)}"


def _plain(report: _ArmReport) -> dict[str, object]:
    """As JSON has it; a link without capsules sticks out by null."""
    use: dict[str, Any] | None = None
    if report.use is not None:
        use = dataclasses.asdict(report.use)
        for cover in use["covers"]:
            if cover["sticks_out"] == float("inf"):
                cover["sticks_out"] = None
    findings = [{"severity": severity, "message": message} for severity, message in report.found]
    return {"name": report.name, "findings": findings, "use": use}


def _many(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
