"""The last minute of the cell: what the arm was doing, half second by half second, and a strip that shows it."""

from __future__ import annotations

from collections import deque

GREEN, AMBER, RED, GREY, ORANGE = "#3f8f5f", "#d9a441", "#c8372d", "#a9b2b8", "#b5651d"
WORSE = (GREY, GREEN, AMBER, ORANGE, RED)
"""From what does not matter to what does."""
EMPTY = "#eef0f1"  # where nothing was
COLUMN = 0.5  # s
COLUMNS = round(60.0 / COLUMN)
Columns = tuple[tuple[int, str], ...]
"""Number and colour of each, the oldest first."""


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
        """It begins anew."""
        self._columns.clear()

    def add(self, t: float, colour: str) -> None:
        """What the arm is doing at that time (s)."""
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
