"""The progress of a campaign on a terminal: runs done, rate, remaining time."""

from __future__ import annotations

import sys
import time

from ..terminal import Interrupts, note, progress_bar

EVERY = 30.0  # s between two lines where stderr is no terminal
REFRESH = 0.2  # s between two movements of the bar


class CampaignProgress:  # a Watch by its methods: importing campaigns takes a second, which --help need not wait for
    """A bar on a terminal, and a line now and then elsewhere: runs done, rate, remaining time.  An engine's `Watch`."""

    def __init__(self, runs: int, before: int, interrupts: Interrupts) -> None:
        from rich.progress import BarColumn, TextColumn

        parts = (
            TextColumn("{task.completed:.0f} of {task.total:.0f} runs"),
            BarColumn(),
            TextColumn("{task.description}"),
        )
        self._bar = progress_bar(*parts, thread=False)
        self._task = self._bar.add_task("compiling ...", total=runs, completed=before)
        self._runs, self._before, self._done, self._steps = runs, before, 0, 0
        self._began: float | None = None
        self._drawn = self._told = time.monotonic()
        self._seconds = 0.0
        self._interrupts = interrupts

    def __enter__(self) -> CampaignProgress:
        self._bar.start()
        self._bar.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._seconds = time.monotonic() - self._began if self._began is not None else 0.0

    def done(self, runs: int, steps: int) -> None:
        """So many more runs; draws, and raises KeyboardInterrupt if Ctrl-C was pressed."""
        self._interrupts.check()
        now = time.monotonic()
        self._done += runs
        self._steps += steps
        if self._began is None:
            self._began = now if runs or steps else None  # the first run's own time is compiling, too
        if now - self._drawn >= REFRESH:
            self._drawn = now
            self._bar.update(self._task, completed=self._before + self._done, description=self._words(now))
            self._bar.refresh()
        if self._bar.disable and now - self._told >= EVERY:
            self._told = now
            print(f"{self._before + self._done} of {self._runs} runs, {self._words(now)}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line above the bar."""
        note("note", text)

    def _words(self, now: float) -> str:
        if self._began is None or now <= self._began or self._done <= 0:
            return "compiling ..."
        seconds = now - self._began
        left = seconds / self._done * (self._runs - self._before - self._done)
        return f"{self._steps / seconds:,.0f} control steps/s, {_clock(left)} left"

    def said(self) -> str:
        """What was done, for the last line."""
        if not self._done or not self._seconds:
            return ""
        rate = f"{self._steps / self._seconds:,.0f} control steps/s"
        return f": {self._done} in {_clock(self._seconds)} after compiling, {rate}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
