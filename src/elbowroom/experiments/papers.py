"""The papers' tables, ours beside theirs, as data; and `write`, the page with all of them and the two curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import __version__, counting, dynamics
from ..algebra.polynomial import Polynomial, shown
from ..counting import recursions
from ..counting.compare import Cost, reason, tensor_rotations, verdict
from ..counting.steps import GDA_INERTIA, in_all
from ..dynamics.published import EXECUTION_TIMES, PUBLISHED, Published, published
from ..model.symbolic import CONDITIONS
from . import paper_curves
from .figure_style import pyplot
from .html_report import Part, Picture, ReportTable, Section, Words, inline_svg, page

NAMES = {
    "mass_matrix": "inertia matrix",
    "coriolis_matrix": "Coriolis matrix",
    "centrifugal_matrix": "centrifugal matrix",
    "mass_matrix_rate": "rate of the inertia matrix",
    "coriolis_transpose_qd": "Cᵀ(q, q̇) q̇",
    "inverse_dynamics": "inverse dynamics",
    "forward_dynamics": "forward dynamics",
    "mass_matrix and coriolis_matrix": "inertia and Coriolis matrices",
    "tensor_rotation": "rotation of a symmetric tensor",
}
METHODS = {
    "crba": "CRBA",
    "gda": "GDA",
    "gdahj": "GDAHJ",
    "rnea": "Newton-Euler",
    "rnea_columns": "Newton-Euler columns (RTB)",
    "difference": "numerical differentiation",
    "symbolic_numeric": "symbolic-numeric",
    "aba": "articulated body",
    "walker_orin_1": "Walker and Orin, 1st",
    "walker_orin_2": "Walker and Orin, 2nd",
    "walker_orin_3": "Walker and Orin, 3rd",
    "walker_orin_4": "Walker and Orin, 4th",
    "brandl": "Brandl",
    "kalman": "Kalman filter and smoother",
    "diagonalized": "normalized diagonal form",
    "diagonalized_unnormalized": "unnormalized diagonal form",
    "operator": "spatial operators",
    "lagrange_euler": "Lagrange-Euler",
    "dalembert": "generalized d'Alembert",
}
ABSENT = "-"

Timings = Mapping[tuple[str, str], tuple[float, float]]
"""(quantity, method) -> seconds of the text on floats, seconds of the compiled program."""

Progress = Callable[[int, int, str], None]
JOINTS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60)  # of the error curve

INTRODUCTION = (
    "Operation counts of five papers on the dynamics of serial robots, ours beside theirs (tinted). Ours are counted "
    "by running each formulation once on symbols. Counted `shared`: two equal expressions once, products with 0 and 1 "
    "never, work on parameters alone offline; subtractions are additions. Where the papers contradict themselves, the "
    "corrected figure stands here and the remark says what is printed."
)


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper with ours beside it."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: int  # leading columns that are words
    remarks: list[str] = field(default_factory=list)


def tables(timings: Timings) -> list[PaperTable]:
    """All of them, in the order of the documents."""
    return [
        _polynomials("Table 1, GDA paper (000)", "000 Table 1", _unknown_orders(rate=False)),
        _times(timings),
        _polynomials("Table 2.2, thesis (001)", "001 Table 2.2", _unknown_orders(rate=True)),
        _gda_steps(),
        _rotations(),
        _polynomials("Table I, GDAHJ paper (002)", "002 Table I"),
        _kozlowski_2(),
        _kozlowski_section_6(),
        _kozlowski_3(),
        _milicevic_3(),
    ]


def _ours(quantity: str, method: str, condition: str = "general", *, kinematics: bool = True) -> Cost | None:
    what = dynamics.REGISTRY.get(quantity)
    if what is None or method not in what.formulations | what.variants:
        return None
    return counting.cost(quantity, method, condition, kinematics)


def _polynomial(cost: Cost | None, kind: str) -> str:
    return ABSENT if cost is None or cost.since is None else str(cost.polynomials[kind])


def _total(cost: Cost | None, n: int) -> str:
    if cost is None:
        return ABSENT
    count = cost.at(n)
    return str(count.mul + count.add + count.div)


def _unknown_orders(*, rate: bool) -> list[tuple[str, str, str]]:
    rows = [("mass_matrix", "rnea_columns", "O(n²)"), ("coriolis_matrix", "rnea_columns", "O(n³)")]
    return [*rows, ("mass_matrix_rate", "difference", "O(n³)")] if rate else rows


def _polynomials(title: str, where: str, orders: Iterable[tuple[str, str, str]] = ()) -> PaperTable:
    """A table of polynomials: theirs and ours, both totals at 7 joints, and what the numbers say."""
    rows, remarks = [], []
    for figure in PUBLISHED:
        if figure.where != where:
            continue
        ours = _ours(figure.quantity, figure.method, figure.condition, kinematics=figure.kinematics)
        rows.append(
            (
                _method(figure.method),
                NAMES[figure.quantity],
                *(str(figure.mul), str(figure.add)),
                *(_polynomial(ours, kind) for kind in ("mul", "add")),
                *(shown(figure.total(7)), _total(ours, 7)),
            )
        )
        remarks += _remarks(figure, ours)
    for quantity, method, order in orders:
        ours = _ours(quantity, method)
        polynomials = (_polynomial(ours, kind) for kind in ("mul", "add"))
        rows.append((_method(method), NAMES[quantity], order, "", *polynomials, ABSENT, _total(ours, 7)))
        if quantity == "mass_matrix_rate":
            remarks.append(
                f"{_method(method)}, {NAMES[quantity]}: the thesis prints {order} and no polynomial. Ours is O(n²): "
                "one difference along the motion takes two inertia matrices, each O(n²). One for each joint, of "
                "which there are n, would make O(n³)."
            )
    caption = (
        "Multiplications and additions of n joints that turn, general chain, ours counted shared. GDA and GDAHJ start "
        "from ready link frames, theirs and ours; the others from the joint angles."
    )
    columns = ("method", "what", "theirs: mul", "add", "ours: mul", "add", "theirs, n = 7", "ours, n = 7")
    return PaperTable(title, caption, columns, rows, 2, remarks)


def _method(method: str) -> str:
    return METHODS.get(method, method)


def _remarks(figure: Published, ours: Cost | None) -> list[str]:
    name = f"{_method(figure.method)}, {NAMES[figure.quantity]}"
    if figure.condition != "general":
        name += f" ({figure.condition})"
    if ours is None:
        return [f"{name}: not among our methods."]
    text = f"{name}: ours is {verdict(ours, figure)}. {reason(figure.quantity, figure.method)}"
    if figure.note:
        text += f" Note: {figure.note}."
    recounts = [p for p in published(figure.quantity, figure.method, figure.condition) if not p.printed]
    for p in recounts:
        text += f" A {p.where} gives {p.mul} and {p.add}; {verdict(ours, p)}."
    return [text]


def _times(timings: Timings) -> PaperTable:
    rows = []
    for quantity, method, thesis in EXECUTION_TIMES:
        ours = timings.get((quantity, method))
        times = (ABSENT, ABSENT) if ours is None else (f"{1e3 * ours[0]:.2f} ms", f"{1e6 * ours[1]:.2f} µs")
        rows.append((_method(method), NAMES[quantity], f"{1e3 * thesis:.0f} ms", *times))
    caption = (
        "One call for a PUMA 560. The thesis: MATLAB, Core 2 Duo T6500 at 2.1 GHz. Ours, measured here: the "
        "formulation's text on floats, which is the like of a MATLAB function, and the compiled program, called from "
        "Python."
    )
    remarks = [*order_of_methods(timings), "DAMAROB's symbolic inertia matrix (32 ms there) has no counterpart here."]
    columns = ("method", "what", "thesis", "ours: text on floats", "ours: compiled")
    return PaperTable("Table 2.1, thesis (001): execution times", caption, columns, rows, 2, remarks)


WHY_REVERSED = {
    ("mass_matrix_rate", "difference"): (
        "It takes two inertia matrices by composite bodies, fewer operations than any exact rate here, and gives about "
        "nine digits."
    ),
    ("mass_matrix", "rnea_columns"): (
        "Compiled for one arm, the columns share their common parts and start from fewer numbers a link (base "
        "parameters); GDA takes the links as they are."
    ),
}


CLOSE = 0.95  # a ratio of times; repeated runs differ by a few percent


def order_of_methods(timings: Timings) -> list[str]:
    """Where two methods of Table 2.1 for one quantity come in the reverse order here, a sentence for each."""
    found = []
    for quantity, slower, slow in EXECUTION_TIMES:
        for same, faster, fast in EXECUTION_TIMES:
            if same != quantity or fast >= slow or not {(quantity, faster), (quantity, slower)} <= set(timings):
                continue
            times = zip(timings[quantity, slower], timings[quantity, faster], (1e3, 1e6), ("ms", "µs"), strict=True)
            reverse = [
                f"{way} {scale * ahead:.2f} against {scale * behind:.2f} {unit}"
                for way, (ahead, behind, scale, unit) in zip(("text", "compiled"), times, strict=True)
                if ahead < CLOSE * behind
            ]
            if reverse:
                found.append(
                    f"The reverse of the thesis' order, {NAMES[quantity]}: {_method(slower)} is ahead of "
                    f"{_method(faster)} here ({', '.join(reverse)}), behind it there ({1e3 * slow:.0f} against "
                    f"{1e3 * fast:.0f} ms). {WHY_REVERSED.get((quantity, slower), '')}".strip()
                )
    return found or ["For each quantity the methods come in the thesis' order here."]


def _gda_steps() -> PaperTable:
    """The two published counts of GDA's inertia matrix, and ours."""
    counts = ("paper", "thesis", "ours")
    rows = [
        (step.name, *(str(x) for which in counts for x in (getattr(step, which).mul, getattr(step, which).add)))
        for step in GDA_INERTIA
    ]
    sums = [in_all(which) for which in counts]
    rows.append(("in all", *(str(x) for each in sums for x in (each.mul, each.add))))
    caption = (
        "GDA's inertia matrix from ready link frames. The GDA paper's figure is the sum of the authors' count sheet. "
        "The thesis prints a sum alone: that sheet's with the sign of n² flipped in two lines, less 2n additions."
    )
    columns = ("step", "paper: mul", "add", "thesis: mul", "add", "ours: mul", "add")
    remarks = [f"{step.name}: {step.how}." for step in GDA_INERTIA]
    return PaperTable("Table 2.2, thesis (001): GDA's inertia matrix step by step", caption, columns, rows, 1, remarks)


def _rotations() -> PaperTable:
    ours = tensor_rotations()
    rows = [
        (p.method, str(p.mul), str(p.add), str(ours[p.method].mul), str(ours[p.method].add))
        for p in PUBLISHED
        if p.quantity == "tensor_rotation"
    ]
    caption = "R I Rᵀ of a symmetric tensor by three ways, counted as written; the thesis' form is made offline."
    columns = ("way", "theirs: mul", "add", "ours: mul", "add")
    return PaperTable("Appendix I, thesis (001)", caption, columns, rows, 1)


def _kozlowski_2() -> PaperTable:
    rows: list[tuple[str, ...]] = []
    remarks = list(recursions.REMARKS)
    for form, method in recursions.FORMS.items():
        columns = [recursions.table_2(form, condition) for condition in CONDITIONS]
        for line in zip(*columns, strict=True):
            rows.append((form, line[0].name, *(cell for each in line for cell in recursions.cells(each))))
        figures = [published("forward_dynamics", method, condition)[0] for condition in CONDITIONS]
        rows.append((form, "in all", *(cell for each in CONDITIONS for cell in recursions.in_all(form, each))))
        costs = [_ours("forward_dynamics", method, condition) for condition in CONDITIONS]
        on = [(_with_divisions(cost, "mul"), _with_divisions(cost, "add")) for cost in costs]
        rows.append((form, "and on to q̈", *(cell for mul, add in on for cell in (ABSENT, mul, ABSENT, add))))
        for figure, cost in zip(figures, costs, strict=True):
            remarks += _remarks(figure, cost)
    caption = (
        "From quasi-velocities to their rates in the two diagonal forms, N joints that turn: 1 the general chain, 2 "
        "twists of 0 and ±90 degrees with offsets along x. Divisions count as multiplications, roots and sines are "
        "left out, theirs and ours (shared). `elbowroom count --recursions` prints the same."
    )
    heads = (
        "form",
        "recursion",
        *(f"{name}{k}" for k in (1, 2) for name in ("mul, ", "ours, ", "add, ", "ours, add, ")),
    )
    return PaperTable("Table 2, Kozłowski (003)", caption, heads, rows, 2, remarks)


def _capital(polynomial: Polynomial | None) -> str:
    return ABSENT if polynomial is None else str(polynomial).replace("n", "N")


def _with_divisions(cost: Cost | None, kind: str) -> str:
    if cost is None or cost.since is None:
        return ABSENT
    p = cost.polynomials
    return _capital(p["mul"] + p["div"] if kind == "mul" else p["add"])


def _kozlowski_section_6() -> PaperTable:
    rows, remarks = [], []
    for condition in ("general", "orthogonal"):
        figure = published("inverse_dynamics", "operator", condition)[0]
        ours = _ours("inverse_dynamics", "operator", condition)
        cells = (_with_divisions(ours, kind) for kind in ("mul", "add"))
        rows.append((condition, _capital(figure.mul), _capital(figure.add), *cells))
        remarks += _remarks(figure, ours)
    columns = ("condition", "theirs: mul", "add", "ours: mul", "add")
    caption = "Inverse dynamics by the spatial operators, N joints that turn, ours counted shared."
    return PaperTable("Section 6, Kozłowski (003)", caption, columns, rows, 1, remarks)


def _kozlowski_3() -> PaperTable:
    rows, remarks = [], []
    forms = ("diagonalized", "diagonalized_unnormalized")
    for figure in PUBLISHED:
        general = figure.condition == "general" and figure.quantity == "forward_dynamics"
        if not general or not (figure.where == "003 Table 3" or figure.method in forms):
            continue
        ours = _ours("forward_dynamics", figure.method)
        total = None if ours is None else ours.total
        name = "numerical solution" if figure.method == "crba" else _method(figure.method)
        sixes = (shown(figure.total(6)), _total(ours, 6), shown(figure.total(12)), _total(ours, 12))
        rows.append((name, _capital(figure.total), ABSENT if total is None else _capital(total), *sixes))
        if figure.method not in forms:
            remarks += _remarks(figure, ours)
    caption = (
        "Forward dynamics, N joints that turn, general chain: multiplications, additions and divisions together, ours "
        "counted shared. Integration is not included."
    )
    columns = ("method", "theirs", "ours", "theirs, N = 6", "ours", "theirs, N = 12", "ours")
    return PaperTable("Table 3, Kozłowski (003)", caption, columns, rows, 1, remarks)


def _milicevic_3() -> PaperTable:
    """As printed: an approach a column."""
    figures = [p for p in PUBLISHED if p.where == "004 Table 3"]
    ours = [_ours(p.quantity, p.method) for p in figures]
    base = _ours("inverse_dynamics", "rnea_base")
    rows: list[tuple[str, ...]] = []
    remarks: list[str] = []
    for kind, name in (("mul", "multiplications"), ("add", "additions")):
        rows.append((f"{name}, theirs", *(str(getattr(p, kind)) for p in figures), ABSENT))
        rows.append((f"{name}, ours", *(_polynomial(cost, kind) for cost in (*ours, base))))
    for n in (6, 30):
        rows.append((f"in all, n = {n}, theirs", *(shown(p.total(n)) for p in figures), ABSENT))
        rows.append((f"in all, n = {n}, ours", *(_total(cost, n) for cost in (*ours, base))))
    for figure, cost in zip(figures, ours, strict=True):
        remarks += _remarks(figure, cost)
    if base is not None:
        remarks.append(
            "Newton-Euler in the base frame is the document's Table 1; it prints one figure for both recursions."
        )
    caption = "Inverse dynamics of n joints that turn, general chain, from the joint angles on, ours counted shared."
    columns = ("approach", *(_method(p.method) for p in figures), "Newton-Euler, base frame")
    return PaperTable("Table 3, Milićević, Golubović, Slavković (004)", caption, columns, rows, 1, remarks)


# ---- the page


def write(folder: Path, timings: Timings, *, progress: Progress | None = None) -> list[Path]:
    """Everything into a folder, which is made if it is not there; the paths written, the page first."""
    pyplot()  # say early if matplotlib is missing
    folder.mkdir(parents=True, exist_ok=True)
    found = paper_curves.measure(JOINTS, progress=progress)
    if progress is not None:
        progress(0, 2, "counting for the curves")
    operations = paper_curves.operations(folder / "operations")
    errors = paper_curves.errors(folder / "errors", found)
    if progress is not None:
        progress(1, 2, "counting for the tables")
    index = folder / "index.html"
    index.write_text(_page(tables(timings), operations, errors), encoding="utf-8")
    return [index, *operations, *errors]


def _page(found: Sequence[PaperTable], operations: Sequence[Path], errors: Sequence[Path]) -> str:
    sections = [Section(f"table-{k}", each.title, each.title, _table(each)) for k, each in enumerate(found, 1)]
    sections.append(
        _curve(
            "Figure 2.9, thesis (001): operations against joints",
            operations,
            "Thick lines are ours, thin lines with rings the published polynomials. CRBA works in link frames and "
            "costs the same on both sides; GDA and GDAHJ start from ready link frames on the left and from the joint "
            "angles on the right.",
        )
    )
    sections.append(
        _curve(
            "Figure 5, GDAHJ paper (002): rounding error against joints",
            errors,
            "Metric (32): the sum of all absolute differences over the largest entry. As in the paper between the two "
            "methods, and each against a sum over the links in extended precision, which shows whose error it is.",
        )
    )
    footer = f"elbowroom {__version__}. The same numbers: elbowroom count; elbowroom count --json."
    return page("The papers' tables, ours beside theirs", [Words(INTRODUCTION)], sections, footer)


def _table(found: PaperTable) -> list[Part]:
    our_rows = [k for k, row in enumerate(found.rows) if any(cell.endswith(", ours") for cell in row)]
    ours = _ours_columns(found.columns)
    shown = ReportTable(found.columns, found.rows, words=found.words, ours=ours, our_rows=our_rows, unbroken=True)
    return [Words(found.caption), shown, Words("\n".join(f"- {remark}" for remark in found.remarks))]


def _ours_columns(columns: Sequence[str]) -> set[int]:
    """The columns that are ours: those named so, and the unnamed additions right of one."""
    found: set[int] = set()
    for k, name in enumerate(columns):
        if name.startswith("ours") or (name == "add" and k - 1 in found):
            found.add(k)
    return found


def _curve(title: str, files: Sequence[Path], caption: str) -> Section:
    vector = next(path for path in files if path.suffix == ".svg")
    svg = inline_svg(vector.read_text(encoding="utf-8"), f"{vector.stem}-", title)
    return Section(vector.stem, title, title, [Picture(svg, "", caption, [path.name for path in files])])
