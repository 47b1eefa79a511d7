"""Numbers of the report: values with units, how far they are from the thesis', and results that hold or do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ..outcome import Outcome, Value
from .html import table, text, verdict
from .texts import METRICS, TOLERANCE, Name

ABSENT = "–"


@dataclass(frozen=True)
class Check:
    """A result that is said to hold: in words, what was found, what was wanted, and whether it does.

    `test` is None for what concerns more than one test.
    """

    test: int | None
    text: str
    value: str | float
    wanted: str
    met: bool


def shown(value: Value, name: Name) -> str:
    """A value with its unit, as HTML."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return text(", ".join(f"{key} {part:.3g}" for key, part in value.items()))
    if isinstance(value, list):
        return " · ".join(_number(part, name) for part in value) + (f" {escape(name.unit)}" if name.unit else "")
    if isinstance(value, str):
        return text(value)
    gap = "" if name.unit in ("", "°") else "\u00a0"
    return f"{_number(value, name)}{gap}{escape(name.unit)}"


def _number(value: float, name: Name) -> str:
    return (f"{value:.{name.decimals}f}" if name.decimals else f"{value:g}").replace("-", "−")


def deviation(value: Value, thesis: float) -> float | None:
    """How far a value is from the thesis', as a part of it."""
    if isinstance(value, int | float) and not isinstance(value, bool) and thesis:
        return (value - thesis) / thesis
    return None


def met(metric: str, value: Value, thesis: float) -> bool | None:
    """Whether a value is within the tolerance of the thesis'; None where there is none."""
    tolerance = TOLERANCE.get(metric)
    if tolerance is None:
        return None
    off = deviation(value, thesis)
    return off is not None and abs(off) <= tolerance


def beside(metric: str, value: Value, thesis: float | None) -> str:
    """A value, and under it how far it is from the thesis'."""
    cell = shown(value, METRICS.get(metric, Name(metric, "", 3)))
    off = None if thesis is None else deviation(value, thesis)
    if thesis is None or off is None:
        return cell
    percent = f"{100 * off:+.0f} %".replace("-", "−")
    return f"{cell}<small>{percent} {verdict(met(metric, value, thesis))}</small>"


def listed_checks(checks: Iterable[Check], *, named: bool = False) -> str:
    """The checks as a list, each with a sign, words and numbers; `named`, with their tests."""
    items = []
    for check in checks:
        sign = "✓" if check.met else "✗"
        word = '<span class="met">holds</span>' if check.met else '<span class="unmet">does not hold</span>'
        where = f"Test {check.test}: " if named and check.test is not None else ""
        value = f"{check.value:.4g}" if isinstance(check.value, float) else str(check.value)
        items.append(
            f"<li><b>{sign}</b>{escape(where)}{text(check.text)} – {word}"
            f"<small>found {text(value)}; wanted {text(check.wanted)}</small></li>"
        )
    return f'<ul class="checks">{"".join(items)}</ul>'


def listed_runs(
    runs: Sequence[Outcome], first: Sequence[str], cells: Sequence[Sequence[str]], metrics: Sequence[str]
) -> str:
    """A row a run: its names, then these metrics.  A name that all rows share stands above the table instead."""
    kept = [metric for metric in metrics if any(run.metrics.get(metric) is not None for run in runs)]
    shared = [k for k in range(1, len(first)) if len({names[k] for names in cells}) == 1]
    apart = [k for k in range(len(first)) if k not in shared]
    rows = [
        [*(names[k] for k in apart), *(shown(run.metrics.get(metric), METRICS[metric]) for metric in kept)]
        for run, names in zip(runs, cells, strict=True)
    ]
    head = [*(first[k] for k in apart), *(text(METRICS[metric].short or METRICS[metric].words) for metric in kept)]
    caption = ", ".join(f"{first[k]}: {cells[0][k]}" for k in shared)
    return table(head, rows, words=len(apart), caption=caption)
