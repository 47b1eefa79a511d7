"""Bars of the panel: how much of what is allowed is used now, and what the work lost to people.

A bar is the part of what is allowed that is used: full is the limit.
"""

from __future__ import annotations

import html
import math

from ..snapshot import Snapshot
from .last_minute import AMBER, GREEN, RED
from .margins import FORBIDDEN, NO_MASS, STANDING, UNKNOWN, Margins

CLOSE = 0.7  # of what is allowed: from here on a bar is amber
TOP = 2.0  # m/s: what is allowed beyond is only called more
NO_CONTACT = {
    FORBIDDEN: "power and force: contact with this part of the body is not permitted",
    NO_MASS: "power and force: the speed that a contact bears goes by the arm's masses, and its file has none",
    STANDING: "power and force: this link does not move",
    UNKNOWN: "power and force: this person is one shape without named parts, so that what it bears is not known;"
    " a supervisor takes no contact as permitted then",
}
BAR = "flex:1;height:7px;background:#e6e9eb;border-radius:3px;overflow:hidden"
ROW = "display:flex;align-items:center;gap:6px;font-size:12px;line-height:1.5;color:#55606a;white-space:nowrap"


def _row(label: str, part: float, value: str, colour: str = "", about: str = "") -> str:
    """A label, a bar and a number; a part that is no number has no bar."""
    known = math.isfinite(part)
    shade = colour or (RED if part >= 1.0 else AMBER if part > CLOSE else GREEN)
    fill = f'<i style="display:block;height:100%;width:{100 * min(max(part, 0.0), 1.0):.0f}%;background:{shade}"></i>'
    bar = f'<span style="{BAR}">{fill if known else ""}</span>'
    return (
        f'<div style="{ROW}" title="{html.escape(about)}"><span style="width:68px">{label}</span>{bar}'
        f'<b style="width:166px;text-align:right;font-weight:600">{value}</b></div>'
    )


def _speed(value: float) -> str:
    return f"{value:.2f}" if value < TOP else f"over {TOP:g}"


def gauges(snapshot: Snapshot) -> str:
    """The bars of a snapshot as HTML."""
    found: Margins | None = snapshot.safety
    rows = []
    if found is None:
        why = "not known" if math.isfinite(snapshot.distance) else "nobody is there"
        rows += [_row(label, math.nan, why) for label in ("separation", "approach", "contact")]
    else:
        part = html.escape(snapshot.scene.part(found.part))
        if math.isfinite(found.needed):
            had = found.had if math.isnan(found.believed) else min(found.had, found.believed)
            share = found.needed / had if had > 0 else math.inf
            other = f"{had:.2f}" != f"{found.had:.2f}"
            about = "distance to the nearest person, and what speed and separation need at this speed"
            if other:
                about += f"; true: {found.had:.2f} m, seen: {had:.2f} m, to the body as last seen, grown by its age"
            said = f"{'seen ' if other else ''}{had:.2f} m, needs {found.needed:.2f}"
            rows.append(_row("separation", share, said, about=about))
        else:
            rows.append(_row("separation", math.nan, f"{found.had:.2f} m"))
        allowed = found.allowed
        rows.append(
            _row(
                "approach",
                found.used / allowed,
                f"{found.used:.2f} m/s, allowed {_speed(allowed)}",
                about="speed towards the person: used, and what speed and separation allow at this distance",
            )
            if not math.isnan(allowed)
            else _row("approach", math.nan, f"{found.used:.2f} m/s")
        )
        if not found.why:
            rows.append(
                _row(
                    "contact",
                    found.used / found.bears,
                    f"{found.used:.2f} m/s, allowed {_speed(found.bears)}",
                    about=f"power and force: the speed at which a contact with the {part} keeps to the force it bears",
                )
            )
        else:
            said = f"{part}: {found.why}" if found.why == FORBIDDEN else found.why
            rows.append(_row("contact", math.nan, said, about=NO_CONTACT.get(found.why, "")))
    if not snapshot.replayed:  # a recording does not say what would have been
        rows.append(_throughput(snapshot))
    return f'<div style="padding:2px 12px 0">{"".join(rows)}</div>'


def _throughput(snapshot: Snapshot) -> str:
    cycles, alone = snapshot.cycles, snapshot.undisturbed
    about = "task cycles done, of those that the same arm does in the same time with nobody there"
    if alone is None:
        return _row("throughput", math.nan, "no task cycles here", about=about)
    if not alone:
        return _row("throughput", math.nan, "first task cycle", about=about)
    part = cycles / alone
    return _row("throughput", part, f"{cycles} of {alone} task cycles", GREEN if part > 0.9 else AMBER, about)
