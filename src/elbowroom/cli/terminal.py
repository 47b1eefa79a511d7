"""What the commands share: options, consoles, tables, safe text, progress, and Ctrl-C that waits for a good moment."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Self, TextIO

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..errors import ElbowroomError, ModelNotice, ModelWarning, RecordingWarning

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

INTERRUPTED = 130  # the exit status that a shell expects of a program that Ctrl-C ended
PATIENCE = 1.0  # seconds before the bar of a `DelayedBar` appears

What = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A catalogue name, or a .urdf, .xml (MJCF) or .toml file.")
]
Tip = Annotated[str | None, typer.Option(metavar="LINK", help="The link that the arm of a file ends at.")]
AllowBare = Annotated[
    bool, typer.Option("--allow-bare", help="Go on though links of the arm have no shape: distances ignore them.")
]


class RecordingKind(StrEnum):
    """File formats of recordings, where a folder is named and not a file."""

    CSV = "csv"
    MCAP = "mcap"


RecordingFormat = Annotated[RecordingKind, typer.Option("--format", help="Recordings as csv, or as mcap for Foxglove.")]
Xacro = Annotated[bool, typer.Option("--xacro", help="Evaluate a xacro file, which runs expressions in it.")]
# of a scene, for `run` and `plant`
Variant = Annotated[str | None, typer.Option(metavar="NAME", help="A variant that the file has.")]
OtherRobot = Annotated[str | None, typer.Option(metavar="NAME", help="Another arm: a name, a URDF or a TOML file.")]
OtherTip = Annotated[str, typer.Option(metavar="LINK", help="Of --robot, a URDF file: where the arm ends.")]
Start = Annotated[
    str, typer.Option(metavar="Q1,Q2,...", help="Joints at the start, rad or m.  [the scene's, or a ready pose]")
]


class Interrupts:
    """Within it the first Ctrl-C is remembered, and `check` raises it where nothing is half done.

    A second one before that raises at once, for what never comes to a `check`.  Where interrupts are ignored, as in a
    shell's background, they stay so.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        mine = threading.current_thread() is threading.main_thread()  # others cannot set handlers
        if mine and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.asked = not self.asked
        if not self.asked:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt if one was asked for since the last time."""
        if self.asked:
            self.asked = False
            raise KeyboardInterrupt


WIDTH = 100  # columns where there is no terminal to ask


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr as it is now; colours only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(file=stream, width=width, highlight=False, soft_wrap=False, emoji=False)


def plain(text: object) -> Text:
    """Text from a file: never markup, and what does not print is spelled out."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))
    return Text(shown, overflow="fold")


def one_line(text: str) -> Text:
    """A message on one line."""
    return plain(" ".join(text.split()))


def as_options(message: str) -> str:
    """A message of the library as the command line has it: its `tip=` is an option here."""
    return re.sub(r"\btip= ", "--tip ", message)


def heading(text: str) -> None:
    """A line of ours that starts a section."""
    console().print(Text("\n" + text, style="bold"), soft_wrap=True)


def styled(text: str) -> None:
    """A text of ours, with rich's markup."""
    console().print(text, soft_wrap=True)


def line(*parts: str | Text) -> None:
    """Parts joined by spaces.  What comes from a file goes through `plain` first."""
    console().print(Text(" ").join(Text(p) if isinstance(p, str) else p for p in parts), soft_wrap=True)


def fail(message: str) -> None:
    """An error on stderr, on one line."""
    note("error", message, "bold red")


def note(kind: str, message: str, style: str = "yellow") -> None:
    """A warning, or whatever `kind` says, on stderr, on one line."""
    console(stderr=True).print(Text.assemble((f"{kind}: ", style), one_line(message)), soft_wrap=True)


def joints(text: str) -> tuple[float, ...]:
    """What --start says: numbers with commas between them; none for an empty text."""
    try:
        values = tuple(float(part) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        values = (math.nan,)
    if not all(map(math.isfinite, values)):
        raise ElbowroomError(
            f"--start: expected a finite number for each joint, rad or m, commas between; got {text!r:.80}"
        )
    return values


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits; no limit is a dash."""
    value = float(value) + 0.0  # -0.0 becomes 0.0
    if math.isinf(value):
        return "-"
    text = f"{value:.{digits}g}"
    return "0" if text == "-0" else text


def duration(seconds: float) -> str:
    """A time with three digits, in a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, words: int = 1) -> None:
    """A table whose first `words` columns are words, which wrap, and whose others are numbers, which never do."""
    cells = [[cell if isinstance(cell, Text) else plain(cell) for cell in row] for row in rows]
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        if i < words:
            grid.add_column(column, overflow="fold", min_width=min(12, max(len(row[i]) for row in cells)))
        else:
            longest = max(len(column), *(len(row[i]) for row in cells))
            grid.add_column(column, justify="right", no_wrap=True, min_width=longest)
    for row in cells:
        grid.add_row(*row)
    out = console()
    needed = Measurement.get(out, out.options.update_width(10_000), grid).minimum
    # Where the terminal is narrower than that, it breaks our lines; numbers are never cut short.
    out.width = max(out.width, needed)
    out.print(grid)


@contextmanager
def noted() -> Iterator[None]:
    """What is said about arms meanwhile is a line on stderr each, once, instead of a Python warning."""
    said: set[str] = set()
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, ModelWarning | ModelNotice | RecordingWarning):
                others(message, category, filename, lineno, file, line)
            elif str(message) not in said:
                said.add(str(message))
                note("note" if issubclass(category, ModelNotice) else "warning", as_options(str(message)))

        warnings.showwarning = show
        for category in (ModelWarning, ModelNotice, RecordingWarning):
            warnings.simplefilter("always", category)
        yield


def needs_format(kind: RecordingKind) -> None:
    """Raises before anything runs where what writes recordings of that kind is missing."""
    from ..cell.recording.mcap_read import needs_mcap

    if kind is RecordingKind.MCAP:
        needs_mcap()


def writable(out: Path, force: bool, *endings: str) -> None:
    """Refuses a file that cannot be written, before anything is computed; what happens later shows when it is.

    And one whose name has none of these endings, if there are any: it would hold what its name does not say.
    """
    if out.is_dir():
        raise ElbowroomError(f"{out}: is a folder; expected the name of a file")
    if not out.parent.is_dir():
        raise ElbowroomError(f"{out}: there is no folder {str(out.parent)!r}")
    if endings and out.suffix.lower() not in endings:
        raise ElbowroomError(f"{out}: expected a name that ends in {' or '.join(endings)}; got {out.suffix!r}")
    if out.exists() and not force:
        raise ElbowroomError(f"{out}: is there already; --force overwrites it")


def free_folder(out: Path, force: bool) -> None:
    """Refuses a file in a folder's place and, without --force, a folder with anything in it."""
    from ..codegen.folder import refuse_taken

    try:
        refuse_taken(out, force=force)
    except ElbowroomError as error:
        raise ElbowroomError(str(error).replace("or force", "or --force")) from error


def allow_xacro(asked: bool) -> None:
    """With --xacro, this process and those that it starts may evaluate xacro files."""
    from ..model.xacro import ALLOWED

    if asked:
        os.environ[ALLOWED] = "1"


def write_json(data: object, indent: int = 1) -> None:
    """Data as JSON on stdout."""
    sys.stdout.write(json.dumps(data, indent=indent) + "\n")
    sys.stdout.flush()


# ---- progress, on stderr


def progress_bar(*columns: ProgressColumn, refresh: float = 10.0, thread: bool = True) -> Progress:
    """A bar that is gone when it is done, moved `refresh` times a second; disabled where stderr is no terminal.

    Without a `thread` it moves when it is told to: a process that forks must not have others.
    """
    from rich.progress import Progress

    errors = console(stderr=True)
    off = not errors.is_terminal
    return Progress(
        *columns, console=errors, transient=True, disable=off, refresh_per_second=refresh, auto_refresh=thread
    )


class DelayedBar:
    """A progress bar that appears only once something takes longer than a second; call it with done, total, text."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

        self._bar = progress_bar(BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._task = self._bar.add_task("")
        self._shown = False
        self._start = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int, text: str) -> None:
        """So much of so many is done, and this comes next."""
        self._bar.update(self._task, completed=done, total=total, description=text)
        if not self._shown and time.perf_counter() - self._start > PATIENCE:
            self._bar.start()
            self._shown = True

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.stop()


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """A line that shows on a terminal alone.  No thread renews it: benchmarks would time that, too."""
    from rich.live import Live

    with Live(console=console(stderr=True), auto_refresh=False, transient=True) as live:
        yield lambda text: live.update(plain(text), refresh=True)
