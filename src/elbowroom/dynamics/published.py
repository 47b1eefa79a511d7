"""The operation counts that the papers print, as exact polynomials in the number of joints, with their places.

    000   Safeea, Neto, Bearee: A Geometric Dynamics Algorithm for Serially Linked Robots            (GDA paper)
    001   Safeea: Collision avoidance for collaborative robotics                                     (thesis)
    002   Safeea, Neto, Bearee: Reducing the computational complexity of mass-matrix calculation     (GDAHJ paper)
    003   Kozlowski: Robot dynamics models in terms of generalized and quasi-coordinates
    004   Milicevic, Golubovic, Slavkovic: Transformation matrix approach to dynamics of manipulative robots

What a figure includes differs.  Those of GDA and GDAHJ start from ready link frames (`kinematics=False`); all others
start from the joint angles, with sines and cosines apart.  003 counts divisions among the multiplications and leaves
roots out.  Where a print contradicts itself the figure here is the corrected one and `note` says what is printed; where
it only contradicts a recount, the printed figure stays and the recount stands beside it with `printed=False`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..algebra.polynomial import Polynomial

DOCUMENTS = {
    "000": "Safeea, Neto, Béarée: A Geometric Dynamics Algorithm for Serially Linked Robots",
    "001": "Safeea: Collision avoidance for collaborative robotics (thesis)",
    "002": "Safeea, Béarée, Neto: Reducing the computational complexity of mass-matrix calculation for high DOF robots",
    "003": "Kozłowski: Robot dynamics models in terms of generalized and quasi-coordinates: a comparison",
    "004": "Milićević, Golubović, Slavković: Transformation matrix approach to dynamics of manipulative robots",
}


@dataclass(frozen=True)
class Published:
    """One printed count."""

    quantity: str
    method: str
    condition: str  # "general" or "orthogonal"
    kinematics: bool  # whether the figure starts from joint angles (else from ready link frames)
    where: str  # document, table
    mul: Polynomial | None
    add: Polynomial | None
    total: Polynomial
    note: str = ""
    printed: bool = True
    values: tuple[tuple[int, int], ...] = ()  # (n, total) where the paper evaluates it, as corrected

    @property
    def document(self) -> str:
        """The title of the document it stands in."""
        return DOCUMENTS.get(self.where[:3], "")


def _counts(
    quantity: str,
    method: str,
    mul: str,
    add: str,
    where: str,
    *,
    condition: str = "general",
    kinematics: bool = True,
    note: str = "",
    printed: bool = True,
    values: tuple[tuple[int, int], ...] = (),
) -> Published:
    m, a = Polynomial.read(mul), Polynomial.read(add)
    return Published(quantity, method, condition, kinematics, where, m, a, m + a, note, printed, values)


def _total(method: str, total: str, at_6: int, at_12: int, note: str = "") -> Published:
    polynomial, values = Polynomial.read(total), ((6, at_6), (12, at_12))
    return Published(
        "forward_dynamics", method, "general", True, "003 Table 3", None, None, polynomial, note, values=values
    )


_CRBA = ("mass_matrix", "crba", "10n^2 + 22n - 32", "6n^2 + 37n - 43")
_BOTH = ("mass_matrix and coriolis_matrix", "symbolic_numeric")
_SYMBOLIC_NUMERIC = (*_BOTH, "3/2n^3 + 35/2n^2 + 9n - 16", "7/6n^3 + 23/2n^2 + 64/3n - 28")
_CENTRIFUGAL = ("centrifugal_matrix", "gda", "15n^2 + 58n", "13.5n^2 + 39.5n - 3")
_GDAHJ = ("mass_matrix", "gdahj", "3n^2 + 88n - 3", "2.5n^2 + 95.5n - 18")
_TOO_LOW = "cannot be right: the authors' count sheet leaves a loop out and flips two signs; see the recount"
_SIGNS = (
    "the thesis' figure cannot be right: it is the paper's with two signs flipped and 2n additions left out (errata)"
)

PUBLISHED: tuple[Published, ...] = (
    # GDA, from ready link frames
    _counts("mass_matrix", "gda", "18n^2 + 49n", "16n^2 + 37n - 3", "000 Table 1", kinematics=False),
    _counts("mass_matrix", "gda", "12n^2 + 49n", "11n^2 + 35n - 3", "001 Table 2.2", kinematics=False, note=_SIGNS),
    _counts("coriolis_matrix", "gda", "36n^2 + 49n - 3", "34.5n^2 + 32.5n - 6", "000 Table 1", kinematics=False),
    _counts("coriolis_matrix", "gda", "31.5n^2 + 53.5n - 3", "33n^2 + 31n - 6", "001 Table 2.2", kinematics=False),
    _counts(*_CENTRIFUGAL, "000 Table 1", kinematics=False, note=_TOO_LOW),
    _counts(*_CENTRIFUGAL, "001 Table 2.2", kinematics=False, note=_TOO_LOW),
    _counts(
        "centrifugal_matrix",
        "gda",
        "24n^2 + 52n",
        "22.5n^2 + 35.5n - 3",
        "recount of the authors' code",
        kinematics=False,
        note="their matrix multiplies the squared speeds, ours the speeds",
        printed=False,
    ),
    _counts(
        "mass_matrix_rate",
        "gda",
        "46.5n^2 + 124.5n - 36",
        "51.5n^2 + 117.5n - 41",
        "000 Table 1",
        kinematics=False,
    ),
    _counts(
        "mass_matrix_rate",
        "gda",
        "46.5n^2 + 122.5n - 36",
        "51.5n^2 + 117.5n - 41",
        "001 Table 2.2",
        kinematics=False,
    ),
    _counts(*_GDAHJ, "001 Table 2.2", kinematics=False),
    _counts(*_GDAHJ, "002 Table I", kinematics=False),
    # what the GDA papers compare with
    _counts(*_CRBA, "000 Table 1"),
    _counts(*_CRBA, "001 Table 2.2"),
    _counts(*_CRBA, "002 Table I"),
    _counts("inverse_dynamics", "rnea", "93n - 108", "81n - 100", "002 Table I"),
    _counts(*_SYMBOLIC_NUMERIC, "000 Table 1"),
    _counts(*_SYMBOLIC_NUMERIC, "001 Table 2.2"),
    _counts(*_SYMBOLIC_NUMERIC, "002 Table I"),
    # Kozlowski
    _counts("inverse_dynamics", "operator", "142n - 161", "109n - 135", "003 section 6"),
    _counts("inverse_dynamics", "operator", "104n - 117", "87n - 102", "003 section 6", condition="orthogonal"),
    _counts(
        "forward_dynamics",
        "diagonalized",
        "605n - 462",
        "530n - 448",
        "003 Table 2",
        note="additions common to both forms are 345N - 180 (print: 354N - 180), as the totals show",
        values=((6, 5900), (12, 12710)),
    ),
    _counts("forward_dynamics", "diagonalized", "406n - 381", "376n - 359", "003 Table 2", condition="orthogonal"),
    _counts(
        "forward_dynamics",
        "diagonalized_unnormalized",
        "500n - 319",
        "426n - 286",
        "003 Table 2",
        values=((6, 4951), (12, 10507)),
    ),
    _counts(
        "forward_dynamics",
        "diagonalized_unnormalized",
        "314n - 238",
        "284n - 218",
        "003 Table 2",
        condition="orthogonal",
        note="z+ takes 13N - 3 multiplications (print: 43N - 3), as the subtotal shows",
    ),
    _total("aba", "579n - 526", 2948, 6422),
    _total("walker_orin_1", "1/3n^3 + 261/2n^2 + 1183/6n - 33", 5920, 21701),
    _total("walker_orin_2", "1/3n^3 + 133/2n^2 + 1567/6n - 33", 4000, 13253),
    _total(
        "walker_orin_3",
        "1/3n^3 + 43/2n^2 + 2149/6n - 113",
        2882,
        7857,
        "the cubic term is N^3/3 (print: N^3/6), as 2882 and 7857 show",
    ),
    _total(
        "walker_orin_4",
        "265/2n^2 + 207n - 31",
        5981,
        21533,
        "the polynomial gives 5981 and 21533 (print: 5967 and 21537)",
    ),
    _total(
        "walker_orin_4_short",
        "265/2n^2 + 207n - 31",
        5981,
        21533,
        "as for walker_orin_4; the short form is the textbook's conjugate gradients",
    ),
    _total("brandl", "470n - 420", 2400, 5220),
    _total(
        "crba",
        "1/3n^3 + 41/2n^2 + 2047/6n - 395",
        2462,
        7227,
        "called the numerical solution of the dynamic equations there",
    ),
    _total("kalman", "477n - 503", 2359, 5221),
    # Milicevic
    _counts(
        "inverse_dynamics",
        "lagrange_euler",
        "128/3n^4 + 512/3n^3 + 739/3n^2 + 160/3n",
        "98/3n^4 + 781/6n^3 + 559/3n^2 + 245/6n",
        "004 Table 3",
    ),
    _counts(
        "inverse_dynamics",
        "rnea",
        "132n",
        "111n - 4",
        "004 Table 3",
        note="its Newton-Euler figure, taken for the recursion in link frames, the efficient one of its two",
    ),
    _counts(
        "inverse_dynamics",
        "dalembert",
        "13/6n^3 + 105/2n^2 + 268/3n + 69",
        "4/3n^3 + 44n^2 + 146/3n + 45",
        "004 Table 3",
    ),
    # R I R^T of a symmetric tensor
    _counts("tensor_rotation", "naive", "54", "36", "001 Appendix I"),
    _counts("tensor_rotation", "featherstone", "28", "29", "001 Appendix I"),
    _counts("tensor_rotation", "thesis", "28", "21", "001 Algorithm 2.2"),
)


class Recursion(NamedTuple):
    """A line of 003's Table 2: what one recursion costs in the general and in the orthogonal case."""

    part: str  # "common", "normalized" or "unnormalized"
    name: str
    mul: str
    mul_orthogonal: str
    add: str
    add_orthogonal: str


TABLE_2: tuple[Recursion, ...] = (
    Recursion("common", "P", "101n - 108", "51n - 58", "94n - 105", "53n - 64"),
    Recursion("common", "G", "5n - 1", "5n - 1", "0", "0"),
    Recursion("common", "V⁺", "6n - 12", "2n - 4", "6n - 12", "2n - 4"),
    Recursion("common", "V", "16n - 29", "8n - 16", "9n - 17", "5n - 9"),
    Recursion("common", "z", "6n - 12", "2n - 4", "6n - 12", "2n - 4"),
    Recursion("common", "ψ", "44n - 1", "12n - 1", "19n - 1", "5n - 1"),
    Recursion("common", "b", "59n - 43", "55n - 53", "40n - 27", "38n - 35"),
    Recursion("common", "X", "18n - 12", "18n - 12", "0", "0"),
    Recursion("common", "λ", "159n - 6", "95n - 6", "171n - 6", "113n - 6"),
    Recursion("normalized", "θ̇", "7n - 10", "7n - 11", "6n - 10", "6n - 11"),
    Recursion("normalized", "ε", "n", "n", "n - 1", "n - 1"),
    Recursion("normalized", "z⁺", "23n - 4", "14n - 3", "15n - 8", "10n - 7"),
    Recursion("normalized", "y", "158n - 223", "134n - 211", "162n - 249", "140n - 217"),
    Recursion("normalized", "C(θ, ν)", "2n - 1", "2n - 1", "0", "0"),
    Recursion("normalized", "ν̇", "0", "0", "n", "n"),
    Recursion("unnormalized", "θ̇", "5n - 8", "5n - 9", "5n - 8", "5n - 9"),
    Recursion("unnormalized", "κ", "0", "0", "n - 1", "n - 1"),
    Recursion("unnormalized", "z⁺", "21n - 4", "13n - 3", "13n - 8", "9n - 7"),
    Recursion("unnormalized", "y", "59n - 83", "47n - 71", "61n - 89", "50n - 78"),
    Recursion("unnormalized", "C(θ, ξ)", "0", "0", "0", "0"),
    Recursion("unnormalized", "ξ̇", "n", "n", "n", "n"),
)
"""003's Table 2 line by line; the z⁺ of the unnormalized form as its subtotal needs it (print: 43N - 3)."""

EXECUTION_TIMES: tuple[tuple[str, str, float], ...] = (
    ("mass_matrix", "crba", 0.015),
    ("mass_matrix", "rnea_columns", 0.460),
    ("mass_matrix", "gda", 0.021),
    ("coriolis_matrix", "rnea_columns", 1.328),
    ("coriolis_matrix", "gda", 0.064),
    ("centrifugal_matrix", "gda", 0.030),
    ("mass_matrix_rate", "gda", 0.069),
    ("coriolis_transpose_qd", "gda", 0.080),
    ("mass_matrix_rate", "difference", 0.085),
)
"""001's Table 2.1: quantity, our name of the method, seconds in MATLAB on a PUMA 560 (a 32-bit Core 2 Duo)."""


def published(quantity: str, method: str, condition: str = "general") -> tuple[Published, ...]:
    """All figures for a method of a quantity, the recounts last."""
    found = [p for p in PUBLISHED if (p.quantity, p.method, p.condition) == (quantity, method, condition)]
    return tuple(sorted(found, key=lambda p: not p.printed))
