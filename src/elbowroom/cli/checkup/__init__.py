"""What `elbowroom doctor` looks at: what is installed, this machine, the kernel cache, and whether it computes.

    findings = examine()          a `Finding` a line; none of the looks can raise
    healthy(findings)             whether the core works
    mending(findings)             what is missing for which feature, and the command that mends it

This folder needs the standard library alone, so that it can be run where the rest of elbowroom cannot be imported.
What may crash is tried in a process of its own (probe.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from . import core, extras, machine
from .parts import BROKEN, CORE, EXTRAS, MACHINE, MISSING, NOTE, Finding, said

MEND = "What would mend the rest"
WELL = "The core works."
ILL = "The core does not work here: see what is broken above."


def examine() -> list[Finding]:
    """Everything, in the order in which it is told.  A look that fails is told as broken."""
    found: list[Finding] = []
    for section, name, look in (
        (CORE, "elbowroom", core.python),
        (CORE, "packages", core.packages),
        (CORE, "self check", core.kernel),
        (CORE, "kernel cache", core.kernel_cache),
        (MACHINE, "CPU", machine.cpu),
        (MACHINE, "GPU", machine.gpu),
        (MACHINE, "timer", machine.timer),
        (MACHINE, f"port {machine.PORT}", machine.port),
        (EXTRAS, "extras", extras.packages),
        (EXTRAS, "browser", extras.browser),
    ):
        found += _looked(section, name, look)
    return found


def _looked(section: str, name: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What one look finds; the doctor never falls ill itself."""
    found: list[Finding] = []
    try:
        found.extend(look())
    except Exception as error:
        state = BROKEN if section == CORE else NOTE
        found.append(Finding(section, name, state, f"could not be looked at: {said(error)}"))
    return found


def healthy(findings: Sequence[Finding]) -> bool:
    """Whether the core works: nothing that it needs is missing or broken."""
    return not any(each.state in (BROKEN, MISSING) for each in findings if each.section == CORE)


def mending(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """(what for, command) of everything that can be mended, the core first; each command once."""
    chosen: dict[str, str] = {}
    for each in sorted(findings, key=lambda each: each.section != CORE):
        if each.mend:
            chosen.setdefault(each.mend, each.data.get("use", each.name))
    return [(use, command) for command, use in chosen.items()]


def as_json(findings: Sequence[Finding]) -> str:
    """All of it as data."""
    told = [
        {"section": e.section, "name": e.name, "state": e.state, "text": e.text, "data": dict(e.data), "mend": e.mend}
        for e in findings
    ]
    mend = [{"for": use, "command": command} for use, command in mending(findings)]
    return json.dumps({"healthy": healthy(findings), "findings": told, "mend": mend}, indent=1) + "\n"


def as_text(findings: Sequence[Finding]) -> str:
    """A doctor's note: what was found, aligned, and at the end what would mend it."""
    wide = max(len(each.name) for each in findings)
    lines: list[str] = []
    for section in dict.fromkeys(each.section for each in findings):
        here = [each for each in findings if each.section == section]
        lines += ["", section, *(f"  {each.state:8}{each.name:{wide}}  {_printable(each.text)}" for each in here)]
    if todo := mending(findings):
        wide = max(len(use) for use, _ in todo)
        lines += ["", MEND, *(f"  {use:{wide}}   {_printable(command)}" for use, command in todo)]
    return "\n".join([*lines, "", WELL if healthy(findings) else ILL, ""])


def _printable(text: str) -> str:
    """On one line: names and messages come from elsewhere."""
    return "".join(c if c.isprintable() else " " for c in text)
