"""What the three ways to turn a symmetric tensor cost, by tracing them; the thesis' Appendix I."""

from __future__ import annotations

from typing import Any

from ..algebra import Graph, trace
from ..algebra.count import Count
from ..algebra.linalg import Array, matrix
from ..algebra.tensors import PrincipalForm, rotate_featherstone, rotate_naive, rotate_principal


class _Symbols:
    """What a trace takes its graph from."""

    def __init__(self) -> None:
        self.graph = Graph(share=False)


def tensor_rotations() -> dict[str, Count]:
    """The count of R I R^T by each of them, as written; the thesis' way has its form made offline."""

    def offline(symbols: _Symbols, R: Array) -> Array:
        def known(name: str) -> Any:
            return symbols.graph.input(name, parameter=True)

        Q = matrix([[known(f"Q{i}{k}") for k in range(2)] for i in range(3)])
        return rotate_principal(R, PrincipalForm(known("lambda3"), known("trace"), Q))

    def online(way: Any) -> Any:
        return lambda _, R, tensor: way(R, tensor)

    both, alone = {"R": (3, 3), "tensor": (3, 3)}, {"R": (3, 3)}
    return {
        "naive": trace(online(rotate_naive), _Symbols(), both).count,
        "featherstone": trace(online(rotate_featherstone), _Symbols(), both).count,
        "thesis": trace(offline, _Symbols(), alone).count,
    }
