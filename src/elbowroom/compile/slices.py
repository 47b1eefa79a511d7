"""The loop of a Sliced: the function of its Rolled with one unit vector after the other, results into place."""

from __future__ import annotations

from ..algebra.sliced import Sliced
from .ir import hex_float
from .loops import arguments
from .rolled import Block, OneState

ALIGNMENT = 64


def function(name: str, sliced: Sliced, scalar: str, lanes: int, fma: bool, needed: set[str]) -> str:
    """The function `one` or `block`, and the one of a slice that it calls."""
    kind, states = (OneState, 1) if name == "one" else (Block, lanes)
    rolled, n = sliced.rolled, sliced.rolled.joints
    size = 8 if scalar == "double" else 4
    needed |= {
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    }
    inner = kind(rolled, scalar, lanes, fma, needed).text("slice")
    given = [f"ptr %{'unit' if p.name == sliced.by else f'i_{p.name}'}" for p in rolled.inputs]
    unit, slices = states * n, states * n * n
    set_to = []
    for value in (1.0, 0.0):
        lines = []
        for lane in range(states):
            tag = f"{'s' if value else 'c'}{lane}"
            lines += [
                f"  %{tag} = getelementptr {scalar}, ptr %unit, i64 {lane * n}",
                f"  %{tag}k = getelementptr {scalar}, ptr %{tag}, i64 %k",
                f"  store {scalar} {hex_float(value, scalar)}, ptr %{tag}k",
            ]
        set_to.append(lines)
    moves = []
    for lane in range(states):
        moves += [
            f"  %f{lane} = getelementptr {scalar}, ptr %slices, i64 {lane * n * n}",
            f"  %from{lane} = getelementptr {scalar}, ptr %f{lane}, i64 %ij",
            f"  %x{lane} = load {scalar}, ptr %from{lane}",
            f"  %t{lane} = getelementptr {scalar}, ptr %o_{sliced.name}, i64 {lane * n**3}",
            f"  %to{lane} = getelementptr {scalar}, ptr %t{lane}, i64 %ijk",
            f"  store {scalar} %x{lane}, ptr %to{lane}",
            f"  %tu{lane} = getelementptr {scalar}, ptr %t{lane}, i64 %ikj",
            f"  store {scalar} %x{lane}, ptr %tu{lane}",
        ]
    return "\n".join(
        [
            *inner,
            f"define void @{name}({arguments(sliced, 'ptr noalias')}) {{",
            "entry:",
            f"  %room = call ptr @malloc(i64 {(unit + slices) * size + ALIGNMENT})",
            "  %none = icmp eq ptr %room, null",
            "  br i1 %none, label %poor, label %start",
            "poor:",
            "  call void @llvm.trap()",
            "  unreachable",
            "start:",
            f"  %slices = getelementptr {scalar}, ptr %room, i64 {unit}",
            "  %unit = getelementptr i8, ptr %room, i64 0",
            f"  call void @llvm.memset.p0.i64(ptr %unit, i8 0, i64 {unit * size}, i1 false)",
            "  br label %slice",
            "slice:",
            "  %k = phi i64 [0, %start], [%k1, %after]",
            *set_to[0],
            f"  call void @slice({', '.join(given)}, ptr %slices)",
            *set_to[1],
            "  br label %row",
            "row:",
            "  %i = phi i64 [0, %slice], [%i1, %next]",
            f"  %in = mul i64 %i, {n}",
            "  %ik = add i64 %in, %k",
            f"  %ikn = mul i64 %ik, {n}",
            "  br label %element",
            "element:",
            "  %j = phi i64 [0, %row], [%j1, %element]",
            "  %ij = add i64 %in, %j",
            f"  %ijn = mul i64 %ij, {n}",
            "  %ijk = add i64 %ijn, %k",
            "  %ikj = add i64 %ikn, %j",
            *moves,
            "  %j1 = add i64 %j, 1",
            "  %morej = icmp sle i64 %j1, %k",
            "  br i1 %morej, label %element, label %next",
            "next:",
            "  %i1 = add i64 %i, 1",
            f"  %morei = icmp slt i64 %i1, {n}",
            "  br i1 %morei, label %row, label %after",
            "after:",
            "  %k1 = add i64 %k, 1",
            f"  %morek = icmp slt i64 %k1, {n}",
            "  br i1 %morek, label %slice, label %done",
            "done:",
            "  call void @free(ptr %room)",
            "  ret void",
            "}",
        ]
    )
