"""What `elbowroom bench` prints: a function for each benchmark, of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import pip_install
from ..terminal import duration, heading, line, plain, table

if TYPE_CHECKING:
    from ...bench.avoidance import CycleReport, CycleRow
    from ...bench.encounters.report import EncounterReport, MethodRow, PairRow
    from ...bench.encounters.rollouts import RolloutReport
    from ...bench.encounters.run import Interval
    from ...bench.encounters.search import SearchReport
    from ...bench.gpu import CardReport, CardRow
    from ...bench.paper_times import Figure4Report
    from ...bench.timing import Report, Row
    from ...viewer.session.page_benchmark import LoadReport

US = "elbowroom"
BEST = 6  # candidates of a search that are shown
EXTRAS = {"frax": "frax", "CuPy": "cupy-cuda13x"}  # too large for an extra, or for one kind of machine


def dynamics(report: Report) -> None:
    """One state."""
    _introduce(report)
    heading("One state: a call from Python, array in, new array out (out=: into one); in brackets how many times ours")
    _compare(report.rows)
    _first_calls(report)
    _end(report)


def batch(report: Report) -> None:
    """Batches, a table a size."""
    versions = _introduce(report)
    for size in dict.fromkeys(row.states for row in report.rows):
        heading(f"{size} states a call: time of one; in brackets how many times ours")
        _compare([row for row in report.rows if row.states == size])
    line(f"{US}: one thread, float64, a state a row, the result in a new array; the others of ours fill one with out=.")
    if "Pinocchio" in versions:
        line("Pinocchio: its own parallel calls, on one thread where none are named; matrices one call a state.")
    if "frax" in versions:
        line("frax: jitted and vmapped in float64, its arrays on the device before; on as many threads as JAX takes.")
    _end(report)


def derivatives(report: Report) -> None:
    """Derivatives, of one state and in batches, and several quantities at once."""
    _introduce(report)
    for size in dict.fromkeys(row.states for row in report.rows):
        what = "One state: a call from Python" if size == 1 else f"{size} states a call: time of one, one thread"
        heading(f"{what}; in brackets how many times ours")
        _compare([row for row in report.rows if row.states == size and " + " not in row.quantity])
    if several := [row for row in report.rows if " + " in row.quantity]:
        heading("Several quantities in one kernel (out=), and a kernel each")
        _compare(several)
    line("Pinocchio: computeRNEADerivatives, computeABADerivatives and computeJointTorqueRegressor, into its own data;")
    line("batches in a loop of calls.  It has no friction, so all arms are without.")
    _first_calls(report)
    _end(report)


def chains(report: Report) -> None:
    """Chains, a line a length."""
    _introduce(report)
    heading("Random chains, one state: a call from Python; in brackets how many times ours")
    _compare(report.rows)
    line(f"{US}: by the method that it chooses itself; crba and gdahj are named ones.")
    _first_calls(report)
    _end(report)


CODES = {
    "text": "The text on floats, in Python: the like of the paper's Matlab functions",
    "straight": "Compiled, a straight line",
    "loops": "Compiled, with loops",
}


def figure4(report: Figure4Report) -> None:
    """Figure 4 of the GDAHJ paper: a table for each kind of code, and where the curves cross."""
    line(f"{US} {__version__}; {plain(report.cpu)}")
    line(
        "Figure 4 of the GDAHJ paper (002): mass matrices of random chains by composite bodies and by GDAHJ, one call."
    )
    for code, title in CODES.items():
        crba = report.curve(code, "crba")
        if not crba:
            continue
        heading(title)
        both, apart = (report.curve(code, "gdahj", kinematics=k) for k in (True, False))
        table(
            ["joints", "CRBA", "GDAHJ", "without kinematics", "CRBA / GDAHJ", "without"],
            (
                (
                    *(str(a.n), *(duration(p.seconds) for p in (a, b, c))),
                    *(f"{a.seconds / p.seconds:.2f}" for p in (b, c)),
                )
                for a, b, c in zip(crba, both, apart, strict=True)
            ),
            words=0,
        )
        for each in report.crossovers:
            if each.code == code:
                best = f"at best {each.ratio:.2f} times as fast, at {each.ratio_joints} joints"
                line(f"GDAHJ ahead {each.text}; {best}")
    line("\nOf the lengths measured: where the curves cross lies between one and the next.")
    line("The paper, in Matlab: GDAHJ without its kinematics is ahead above 13 joints, by 2.2 times at most.")
    line("By the operations that it prints GDAHJ is ahead from 13 joints on (`elbowroom tables`, Figure 2.9).")


def distance(report: Report) -> None:
    """Distances."""
    versions = _introduce(report)
    heading("Capsules of an arm against those of a person: best time; in brackets how many times ours")
    _compare(report.rows)
    if "coal" in versions:
        line("coal: its function for two shapes, called from Python for each pair; the least taken as we go.")
    if "coal in Pinocchio" in versions:
        line("coal in Pinocchio: Pinocchio's own loop over all pairs (computeDistances); it does not pick the least.")
    line("Ours in one call also has the speed at which each pair closes.  A batch has a scene of ours after the other.")
    _end(report)


def gpu(report: CardReport) -> None:
    """Batches on a card, a line a layout, and how close it comes to what the card can do."""
    versions = {row.who: row.version for row in report.rows}
    told = [f"{who} {version}" for who, version in versions.items() if "," not in who]
    line(", ".join(told) + f"; {report.card}")
    rates = ", ".join(f"{rate / 1e12:.1f} T/s in {dtype}" for dtype, rate in report.fused_per_second.items())
    line(f"The card copies {report.copy_bytes_per_second / 1e12:.2f} TB/s, read and written; multiply-adds: {rates}.")
    rows: list[Any] = list(report.rows)
    for dtype in dict.fromkeys(row.dtype for row in rows):
        heading(f"{dtype}: time of one state; in brackets how many times ours in rows")
        table(
            ["robot", "quantity", "who", "states", "a state", "G states/s", "of copy", "of arithmetic", "spread"],
            (_card_cells(row) for row in rows if row.dtype == dtype),
            words=3,
        )
    line("of copy: what must be read and written, as a part of what a copy moves in that time; of arithmetic: steps,")
    line("as a part of the multiply-adds.  spread: nine tenths of the rounds kept within so many times the best.")
    worst = max(row.differs for row in rows if row.steps_per_state)
    line("Results: " + (f"up to {worst:.1e} from the CPU's." if worst else "the CPU's, to the last bit."))
    for dtype in dict.fromkeys(row.dtype for row in rows):
        others = [row for row in rows if row.dtype == dtype and not row.steps_per_state and row.differs]
        for who in dict.fromkeys(row.who for row in others):
            differs = max(row.differs for row in others if row.who == who)
            line(f"{who}'s in {dtype}: up to {differs:.1e} from ours on the CPU.")
    for row in rows:
        if row.spilled:
            where = f"{row.robot}, {row.quantity}, {row.dtype}, {row.layout}"
            line(f"{where}: {row.registers} registers and {row.spilled} bytes of local memory a thread.")
    _end(report)


def _card_cells(row: CardRow) -> list[object]:
    return [
        row.robot,
        row.quantity,
        "rows" if row.who == US else row.who.removeprefix(f"{US}, "),
        row.states,
        f"{row.seconds_per_state * 1e12:.1f} ps ({ratio(row.ratio_to_us)})",
        f"{1e-9 / row.seconds_per_state:.3g}",
        f"{100 * row.of_copy:.0f} %" if row.steps_per_state else "",
        f"{100 * row.of_arithmetic:.0f} %" if row.steps_per_state else "",
        f"{row.p90_seconds / row.seconds_per_state:.2f}",
    ]


def page(report: LoadReport) -> None:
    """How late cycles begin with pages open."""
    line(f"elbowroom {__version__}; {report.cpu}; the live cell's loop, {1000 * report.period:g} ms a cycle")
    heading("How late cycles begin, by open pages")
    table(
        ["pages", "cycles", "median", "99 %", "99.9 %", "worst", "overruns", "kB/s a page"],
        (
            [
                "an empty loop" if row.pages < 0 else str(row.pages),
                row.cycles,
                *map(duration, (row.median, row.p99, row.p999, row.worst)),
                row.overruns,
                f"{row.bytes_a_second / 1000:.0f}" if row.pages > 0 else "",
            ]
            for row in report.rows
        ),
    )
    line("A page here is a websocket client that reads all it is sent, and draws nothing.")


def avoidance(report: CycleReport) -> None:
    """The table of cycles, the machine's floor under it, and what each contender does."""
    versions = {row.who: row.version for row in report.rows}
    first = report.rows[0]
    line(", ".join(f"{who} {version}" for who, version in versions.items()) + f"; {report.cpu}")
    heading(
        f"One cycle, state and person in, command out: {first.robot}, {first.n} joints, {report.capsules} capsules, "
        f"a person of {report.person_capsules}, {report.pairs} pairs"
    )
    table(["who", "what", "cycles", "median", "99.9 %", "slowest", "ratio"], map(_cycle_cells, report.rows), words=2)
    line("Under it, in the same turns, this machine's own jitter:")
    table(["what", "median", "99.9 %", "slowest"], _floors(first))
    _distribution(report)
    line(f"ratio: of the medians, to {first.quantity!r}.  Times of batches are for one state.")
    line("99.9 %: all but one cycle in a thousand kept within it; a guess where there are fewer than 10000 cycles.")
    said = ", ".join(f"{status} {count}" for status, count in report.statuses.items())
    line(f"What {first.quantity!r} said, in its cycles: {said}.")
    stopped = sum(count for status, count in report.statuses.items() if status.startswith("STOP"))
    if stopped:
        line(f"It stood still in {stopped} of them: these times are not those of an arm at work.")
    heading("What a cycle does")
    for text in dict.fromkeys(f"{row.who}, {row.says}." for row in report.rows):
        line(text)
    if any(row.who in ("mink", "Pink") for row in report.rows):
        line(
            "mink and Pink solve a quadratic program and are another method: they bound speeds towards an obstacle, "
            "ours pushes away from it.  Times alone are compared here."
        )
    line(f"The thesis' simulation, all of it, took {duration(report.thesis_s)} a cycle on its computer; not run here.")
    missing(report.missing)


def _distribution(report: CycleReport) -> None:
    """Which part of the cycles took longer than some times: the tail in figures."""
    heading("Cycles that took longer than ...")
    floors = {"empty": "the clock alone", "busy": "a loop that computes nothing"}
    table(
        ["who", *map(duration, report.thresholds_s)],
        (
            [floors.get(name, name.replace(":", "", 1)), *map(_part, parts)]
            for name, parts in report.beyond.items()
            if not name.endswith(("at once", "step alone"))
        ),
    )


def _part(part: float) -> str:
    return "-" if part == 0.0 else f"{100 * part:.2g} %" if part < 0.995 else "all" if part == 1.0 else "> 99 %"


def _cycle_cells(row: CycleRow) -> list[object]:
    times = (duration(s) for s in (row.median_s, row.p999_s, row.max_s))
    return [row.who, row.quantity, row.cycles, *times, f"{row.ratio_to_us:.2f}"]


def _floors(row: CycleRow) -> list[list[object]]:
    empty = (row.floor_median_s, row.floor_p999_s, row.floor_max_s)
    busy = (row.busy_median_s, row.busy_p999_s, row.busy_max_s)
    return [
        ["the clock read twice, nothing between", *map(duration, empty)],
        ["a loop that computes nothing, as long as our cycle", *map(duration, busy)],
    ]


def encounters(report: EncounterReport) -> None:
    """A table of contacts and one of work for each arm, and what the columns mean."""
    who = "one person" if report.people == 1 else f"{report.people} people"
    sensor = {"camera": "a skeleton camera", "ideal": "an ideal sensor"}[report.sensor]
    last = report.seed + report.runs - 1
    line(
        f"{report.runs} encounters of {report.duration:g} s, seeds {report.seed} to {last}: {who}, no point of them "
        f"faster than {report.limb_speed:g} m/s; {sensor}; {report.cpu}"
    )
    for robot in dict.fromkeys(row.robot for row in report.rows):
        rows = [row for row in report.rows if row.robot == robot]
        heading(f"{plain(robot)}: people")
        table(
            ["method", "touched, %", "approach, %", "least, m: min", "5 %", "median", "p, as K"],
            map(_contacts, rows),
        )
        heading(f"{plain(robot)}: the arm and its work")
        table(
            ["method", "throughput", "itself, %", "floor, %", "ends, %", "jerk", "stops", "us"],
            map(_work, rows),
        )
    if report.pairs:
        heading("Beside the same without, in the same scenes")
        table(
            ["arm", "method", "runs", "goals", "without", "more", "better, worse", "touched", "without", "p, touched"],
            map(_pair, report.pairs),
        )
    line("In brackets: intervals at 95 %.  Rates: Clopper and Pearson's exact ones.  Throughput: the bootstrap's.")
    line("touched: runs in which capsules of arm and person overlapped.  approach: while the arm itself closed in by")
    line("more than 5 cm/s.  least: distance over a run; its minimum, 5 % quantile and median over the runs.")
    line("p, as K: McNemar's exact test of touches in the same scenes against K alone.  throughput: goals reached over")
    line("those of the arm alone.  itself, floor: runs in which the arm overlapped them.  ends: with a joint at")
    line("a limit.  jerk: RMS, rad/s^3.  stops: latched ones a run.  us: median time of a step, here.")
    if report.pairs:
        line(
            "more: goals, with the bootstrap's interval.  better, worse: runs with more goals, and with fewer.  In p's"
        )
        line("brackets: runs touched with it alone, and without alone.")
    if report.load is not None and report.load > 1.5 * report.cores:
        line(f"This machine was busy: {report.load:.1f} processes on {report.cores} cores; the times show it.")
    missing(report.missing)


def search(report: SearchReport) -> None:
    """The best candidates and today's settings."""
    from ...bench.encounters.search import TOUCH, defaults  # what simulates is loaded when something is simulated

    last = report.seed + report.runs - 1
    line(f"{', '.join(report.robots)}: {report.runs} training encounters each, seeds {report.seed} to {last}")
    today = defaults()
    names = list(today)
    shown = [c for k, c in enumerate(report.candidates) if k < BEST or c.settings == today]
    figures = {
        "score": [f"{c.score:.3f}" for c in shown],
        "throughput": [f"{c.throughput:.3f}" for c in shown],
        "touched, %": [f"{100 * c.touched:.1f}" for c in shown],
        "jerk, of the law's": [f"{c.jerk:.2f}" for c in shown],
        "faults": [str(c.faults) for c in shown],
    }
    figures |= {name.replace("_", " "): [f"{c.settings[name]:g}" for c in shown] for name in names}
    heads = ["today" if c.settings == today else str(1 + report.candidates.index(c)) for c in shown]
    table(["", *heads], [[name, *values] for name, values in figures.items()])
    line(f"score: throughput less {TOUCH:g} times the part of the runs with a touch, averaged over the arms.")
    line("jerk, of the law's: on the arm where it is most; above 1 a candidate does not count.  jerk: the limit.")
    line("faults: runs with an approach contact, an overlap with the arm itself or the floor, a joint at its end.")


def _contacts(row: MethodRow) -> list[object]:
    pair = row.against_reference
    return [
        row.method,
        rate_text(row.touched),
        rate_text(row.approach),
        f"{row.least:.3f}",
        f"{row.least_5:.3f}",
        f"{row.least_median:.3f}",
        "-" if pair is None else f"{pair.p:.2g} ({pair.only_this}:{pair.only_other})",
    ]


def _pair(row: PairRow) -> list[object]:
    more, touches = row.more, row.touches
    return [
        row.robot,
        row.method,
        row.runs,
        row.goals,
        row.goals_without,
        f"{more.value:.0f} ({more.low:.0f} to {more.high:.0f})",
        f"{row.better}, {row.worse}",
        row.touched,
        row.touched_without,
        f"{touches.p:.2g} ({touches.only_this}:{touches.only_other})",
    ]


def _work(row: MethodRow) -> list[object]:
    return [
        row.method,
        f"{row.throughput.value:.2f} ({row.throughput.low:.2f} to {row.throughput.high:.2f})",
        rate_text(row.itself),
        rate_text(row.floor),
        rate_text(row.ends),
        f"{row.jerk:.0f}",
        f"{row.stops:.1f}",
        f"{row.microseconds:.0f}",
    ]


def rate_text(interval: Interval) -> str:
    """A part of the runs with its interval, %."""
    low, high = 100 * interval.low, 100 * interval.high
    return f"0 (< {high:.1f})" if interval.value == 0.0 else f"{100 * interval.value:.1f} ({low:.1f} to {high:.1f})"


def _introduce(report: Report) -> dict[str, str]:
    versions = {row.who: row.version for row in report.rows}
    told = {who: version for who, version in versions.items() if who.split(",")[0] == who}
    cores = f"{report.cores} core{'s' if report.cores > 1 else ''}"
    line(", ".join(f"{who} {version}" for who, version in told.items()) + f"; {report.cpu}, {cores}")
    return versions


def _compare(rows: list[Row]) -> None:
    """A line a robot and quantity, a column a contender, and how noisy it was."""
    others = list(dict.fromkeys(row.who for row in rows if row.who != US))
    lines: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        lines.setdefault((row.robot, row.quantity), {})[row.who] = row

    def theirs(row: Row | None) -> str:
        return "" if row is None else f"{duration(row.seconds_per_state)} ({ratio(row.ratio_to_us)})"

    table(
        ["robot", "quantity", US, *(who.removeprefix(f"{US}, ") for who in others), "spread"],
        (
            [
                robot,
                quantity,
                duration(by[US].seconds_per_state),
                *(theirs(by.get(who)) for who in others),
                f"{max(row.p90_seconds / row.seconds_per_state for row in by.values()):.1f}",
            ]
            for (robot, quantity), by in lines.items()
        ),
        words=2,
    )
    line("spread: nine tenths of the rounds of all contenders in a line kept within so many times their best.")


def ratio(value: float) -> str:
    """With a digit after the point where it tells something."""
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _first_calls(report: Report) -> None:
    if report.first_calls:
        told = ", ".join(f"{call.robot} {duration(call.seconds)}" for call in report.first_calls)
        line(f"A first call of {report.first_calls[0].quantity}, without the cache of compiled code: {told}.")


def _end(report: Report) -> None:
    if report.load is not None and report.load > 0.75 + 0.5 * report.cores:
        line(
            f"The machine was busy: {report.load:.1f} processes on {report.cores} cores.  Long calls suffer more from "
            "that than short ones: ratios are too large."
        )
    for note in report.notes:
        line(note)
    missing(report.missing)


def missing(names: list[str]) -> None:
    """What is not installed, and how to get it."""
    if not names:
        return
    there = [name for name in names if name not in EXTRAS]
    advice = [f"{', '.join(there)}: {pip_install('bench')}." if there else ""]
    advice += [f"{name}: pip install {EXTRAS[name]}." for name in names if name in EXTRAS]
    line(f"Not installed here: {', '.join(names)}. ", " ".join(filter(None, advice)))


def rollouts(report: RolloutReport) -> None:
    """Control steps a second."""
    line(f"elbowroom {__version__}; {plain(report.cpu)}; {report.cores} cores; encounters of {report.duration:g} s")
    heading("Supervised encounters: control steps a second, in thousands; in brackets how many times one by one")
    table(
        ["robot", "how", "precision", "encounters", "processes", "best", "median", "by time of a core"],
        (
            [
                *(r.robot, r.what, r.precision, r.encounters, r.processes, f"{1e-3 * r.rate:.0f}"),
                *(f"{1e-3 * r.median:.0f}", f"{1e-3 * r.core_rate:.0f} ({r.ratio:.1f})"),
            ]
            for r in report.rows
        ),
        words=3,
    )
    if any(r.what == "on a card" for r in report.rows):
        line("on a card: closed loops; best and median with the way there of what people do, last by the card's time.")
    line("one by one: the loop of an arm.  in lanes: many closed loops in SIMD lanes.  with all: goals, people, sensor")
    line(
        f"and figures, too.  Of {report.compared} encounters twice, in lanes and one by one (float32: alone in lanes),"
    )
    line(f"{report.same} had the same numbers to the bit.  A process had {report.memory:.0f} MB at most.")
    busy(report.load, report.cores)


def busy(load: float | None, cores: int) -> None:
    """Says so where others used the machine."""
    if load is not None and load > 0.75 + 0.5 * cores:
        line(f"The machine was busy: {load:.1f} processes on {cores} cores; the times show it.")
