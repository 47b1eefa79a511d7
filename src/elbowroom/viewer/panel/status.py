"""What the page says of the arm: a headline with its colour, facts, bars of what is allowed, and the last minute.

All texts are HTML with every name escaped.  A bar is the part of what is allowed that is used: full is the limit.
"""

from __future__ import annotations

import html
import math
import re
from collections import deque

from ...avoidance.planning.detour import RouteState
from ..snapshot import Columns, Snapshot
from .margins import FORBIDDEN, NO_MASS, STANDING, UNKNOWN

SAFETY = "Not a safety-rated device: informed by ISO 10218:2025 / ISO/TS 15066, not certified."
GREEN, AMBER, RED, GREY, ORANGE = "#3f8f5f", "#d9a441", "#c8372d", "#a9b2b8", "#b5651d"
WORSE = (GREY, GREEN, AMBER, ORANGE, RED)
"""From what does not matter to what does."""
EMPTY = "#eef0f1"  # where nothing was
COLUMN = 0.5  # s
COLUMNS = round(60.0 / COLUMN)
HEADLINE = "font-size:15px;font-weight:600;line-height:1.25;min-height:38px;padding:2px 12px 0"
WAITS = 1.0  # s that the arm has stood for a person, from which on it waits
SLOWED = {"SLOWING_LIMIT": "the arm's own limits", "SLOWING_SINGULARITY": "a singularity"}
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


# ---- the headline, and facts under it
def judged(snapshot: Snapshot) -> tuple[str, str]:
    """What the arm is doing in a sentence, and its colour; "working" only where there is nothing else to say."""
    status, law, verdict = snapshot.status, snapshot.law_status, snapshot.verdict
    distance = snapshot.distance
    if snapshot.stopped:
        return f"stopped: {html.escape(snapshot.reason or verdict)}", RED
    if snapshot.touching:
        return "touching a person", RED
    if "IN_COLLISION" in (status, law, verdict) or distance <= 0:
        return "overlapping a person", RED
    if not snapshot.running:
        return "paused", GREY
    if math.isnan(distance):
        return "how near people are is not known", RED
    if status.startswith("STOP"):
        return f"stopped: {_words(status[5:])}", RED
    if snapshot.route_state is RouteState.AROUND:
        return f"{around(snapshot)}: {near(snapshot)}", AMBER
    if snapshot.waited >= WAITS:
        said = around(snapshot) if snapshot.route_state.waits else "waiting for room"
        return f"{said}: {near(snapshot)}", ORANGE
    if "AVOIDING" in (law, status):
        return f"avoiding: {near(snapshot)}", RED if distance < 0.1 else AMBER
    if "SLOWING_HUMAN" in (law, status):
        if not math.isfinite(distance):  # an empty snapshot is believed after limits.clear_confirm
            return "slowed until it is sure that nobody is there", AMBER
        return f"slowed for a person near: {near(snapshot)}", AMBER
    for each in (law, status):
        if each in SLOWED:
            return f"working, slowed by {SLOWED[each]}", AMBER
        if each not in ("", "OK", "AVOIDING"):
            return _words(each), AMBER
    apart = f", {near(snapshot)}" if distance < 3.0 else ""
    state = _words(snapshot.state)
    return f"{state if state == 'resting' else f'working: {state}'}{apart}", GREEN


def works(snapshot: Snapshot) -> str:
    """The colour of what the arm is doing, for the last minute: slowed by its own limits it works, too."""
    said, colour = judged(snapshot)
    return GREEN if said.startswith("working") else colour


def around(snapshot: Snapshot) -> str:
    """What is said of a way around: going around torso."""
    return html.escape(snapshot.route_state.words(snapshot.route_part))


def near(snapshot: Snapshot) -> str:
    """The least distance in words: torso 0.33 m from flange."""
    apart, nearest = f"{snapshot.distance:.2f} m", snapshot.nearest
    if nearest is None:
        return apart
    own, part = snapshot.scene.link(nearest.link), snapshot.scene.part(nearest.part)
    return f"{html.escape(part)} {apart} from {html.escape(own)}"


def detail(snapshot: Snapshot) -> str:
    """What goes with the sentence: for how long, and what would let the arm go on."""
    waited, farther = snapshot.waited, snapshot.farther
    if snapshot.stopped:
        return "press go on once the reason has gone"
    silent = around(snapshot) if snapshot.route_state is RouteState.WITHOUT else ""
    if not snapshot.running or waited < WAITS:
        return silent
    said = f"{silent}; for {waited:.0f} s" if silent else f"for {waited:.0f} s"
    if farther > 0.0:
        said += f"; goes on when they are {max(farther, 0.01):.2f} m farther away"
    return said


def _words(status: str) -> str:
    return html.escape(status.replace("_", " ").lower())


def facts(snapshot: Snapshot, whole: float | None = None) -> str:
    """Numbers under the sentence, and what the supervisor is for; `whole` (s) is how long a run is that has ended."""
    cycles, contacts = snapshot.cycles, snapshot.contacts
    said = [
        f"{cycles} task {'cycle' if cycles == 1 else 'cycles'} done",
        f"{contacts} {'contact' if contacts == 1 else 'contacts'}",
        f"{snapshot.t:.1f} s" if whole is None else f"{snapshot.t:.1f} s of {whole:.1f} s",
    ]
    if snapshot.would_stop:
        said.append("supervisor only watches; it would have stopped the arm")
    elif snapshot.scene.supervision != "stop":
        said.append("supervisor off" if snapshot.scene.supervision == "off" else "supervisor only watches")
    return " · ".join(said)


def timing(snapshot: Snapshot) -> str:
    """How late control steps begin."""
    pace = snapshot.pace
    if pace is None:
        return ""
    return (
        f"control loop: late by {1e3 * pace.median:.2f} ms (median), {1e3 * pace.p999:.2f} ms (99.9 %),"
        f" {pace.overruns} {'overrun' if pace.overruns == 1 else 'overruns'}"
    )


def headline(said: str, colour: str, more: str = "", there: bool = True) -> str:
    """The sentence at the top as HTML; access/server.py looks at `data-cell`."""
    dot = f'<span style="color:{colour};font-size:18px;line-height:0.8">&#9679;</span>'
    under = f'<div style="font-weight:400;font-size:12px;color:#55606a">{more}</div>' if more else ""
    said = re.sub(r"\d+\.\d+ m\b", r'<span style="white-space:nowrap">\g<0></span>', said)  # no line ends before a unit
    return f'<div data-cell="{"there" if there else "loading"}" style="{HEADLINE}">{dot} {said}{under}</div>'


def line(text: str, style: str = "") -> str:
    """A line of small grey text."""
    return f'<div style="font-size:12px;line-height:1.4;padding:0 12px;color:#55606a;{style}">{text}</div>'


# ---- bars
def _bar(part: float, colour: str = "") -> str:
    """A part that is no number has no bar."""
    known = math.isfinite(part)
    shade = colour or (RED if part >= 1.0 else AMBER if part > CLOSE else GREEN)
    fill = f'<i style="display:block;height:100%;width:{100 * min(max(part, 0.0), 1.0):.0f}%;background:{shade}"></i>'
    return f'<span style="{BAR}">{fill if known else ""}</span>'


def _row(label: str, parts: float | list[float], value: str, colour: str = "", about: str = "") -> str:
    """A label, a bar, or several side by side, and a number."""
    bars = "".join(_bar(part, colour) for part in (parts if isinstance(parts, list) else [parts]))
    return (
        f'<div style="{ROW}" title="{html.escape(about)}"><span style="width:68px">{label}</span>'
        f'<span style="flex:1;display:flex;gap:2px">{bars}</span>'
        f'<b style="width:166px;text-align:right;font-weight:600">{value}</b></div>'
    )


def _speed(value: float) -> str:
    return f"{value:.2f}" if value < TOP else f"over {TOP:g}"


def gauges(snapshot: Snapshot) -> str:
    """The bars of a snapshot as HTML."""
    found = snapshot.safety
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
    if len(snapshot.residual):
        rows.append(_felt(snapshot))
    if not snapshot.replayed:  # a recording does not say what would have been
        rows.append(_throughput(snapshot))
    return f'<div style="padding:2px 12px 0">{"".join(rows)}</div>'


def _felt(snapshot: Snapshot) -> str:
    """A bar for each joint, full where what it feels is all that the model's errors account for, and the fullest."""
    names, felt = snapshot.scene.joints, [abs(float(r)) for r in snapshot.residual]
    units = ["N" if kind == "P" else "N m" for kind in snapshot.scene.kinds] or ["N m"] * len(felt)
    known = len(snapshot.allowed) == len(felt)  # a recording has the part of the fullest alone
    parts = [r / most if most > 0.0 else 0.0 for r, most in zip(felt, snapshot.allowed, strict=True)] if known else []
    each = [f"{name} {r:.2f} {unit}" for name, r, unit in zip(names, felt, units, strict=True)]
    if known:
        each = [f"{said} of {most:.2f}" for said, most in zip(each, snapshot.allowed, strict=True)]
        fullest = parts.index(max(parts))
        value = f"joint {fullest + 1}: {_short(felt[fullest])} of {_short(snapshot.allowed[fullest])} {units[fullest]}"
    else:
        joint, value = snapshot.felt_joint, f"{100 * snapshot.felt:.0f} %"
        if joint is not None and 1 <= joint <= len(units):
            value = f"joint {joint}: {_short(abs(snapshot.felt_torque))} {units[joint - 1]}; {value}"
    about = (
        "torque from outside that each joint feels, or its sudden change, and what errors of the model account for: "
        + ", ".join(each)
    )
    return _row("felt", parts or [snapshot.felt], value, about=about)


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def _throughput(snapshot: Snapshot) -> str:
    cycles, alone = snapshot.cycles, snapshot.undisturbed
    about = "task cycles done, of those that the same arm does in the same time with nobody there"
    if alone is None:
        return _row("throughput", math.nan, "no task cycles here", about=about)
    if not alone:
        return _row("throughput", math.nan, "first task cycle", about=about)
    part = cycles / alone
    return _row("throughput", part, f"{cycles} of {alone} task cycles", GREEN if part > 0.9 else AMBER, about)


# ---- the last minute
class LastMinute:
    """The last minute of simulated time: the worst colour of each half second.

    Whoever runs the cell keeps it, not who shows it: a page that is slow, as the first one is while its scene is built,
    misses snapshots.
    """

    def __init__(self) -> None:
        self._columns: deque[tuple[int, str]] = deque(maxlen=COLUMNS)

    @property
    def columns(self) -> Columns:
        """From the oldest to the newest."""
        return tuple(self._columns)

    def clear(self) -> None:
        """Forgets all."""
        self._columns.clear()

    def add(self, t: float, colour: str) -> None:
        """Adds the colour of what the arm is doing at that time (s)."""
        k = int(t / COLUMN)
        if self._columns and self._columns[-1][0] == k:
            colour = max(colour, self._columns[-1][1], key=WORSE.index)
            self._columns.pop()
        self._columns.append((k, colour))


def strip(columns: Columns) -> str:
    """A band of the last minute as HTML, the newest on the right; grey where nothing was."""
    now = columns[-1][0] if columns else 0
    stops, last = [] if columns else [f"{EMPTY} 0% 100%"], 0.0
    for k, colour in columns:
        start = 100.0 * (COLUMNS - 1 - (now - k)) / COLUMNS
        if start < 0.0:
            continue
        if start > last + 1e-6:
            stops.append(f"{EMPTY} {last:.2f}% {start:.2f}%")
        last = start + 100.0 / COLUMNS
        stops.append(f"{colour} {start:.2f}% {last:.2f}%")
    keys = ((GREEN, "works"), (AMBER, "gives way"), (ORANGE, "waits"), (RED, "stopped"))
    legend = "".join(
        f'<span><i style="display:inline-block;width:8px;height:8px;background:{c}"></i> {word}</span>'
        for c, word in keys
    )
    return (
        f'<div style="padding:3px 12px 4px"><div data-strip="{len(columns)}" style="height:12px;'
        f'border-radius:3px;background:linear-gradient(to right,{",".join(stops)})"></div>'
        '<div style="display:flex;justify-content:space-between;font-size:11px;line-height:1.5;color:#7b858c">'
        f"<span>last minute:</span>{legend}</div></div>"
    )
