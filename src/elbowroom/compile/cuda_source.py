"""Programs as CUDA kernels: the steps of `source`, a thread a state.

    columns    element e of state s is x[e * count + s], a structure of arrays: neighbours read and write neighbours;
               at full speed where count is a multiple of 32, so that every column begins where a line of memory does
    rows       x[s * size + e], an array of structures: the states of a warp are one piece of memory, which passes
               through a tile of shared memory, so that the warp reads and writes it from end to end

In a tile a state takes an odd number of places: then the 32 threads of a warp hit 32 banks.  A tile is the warp's own,
so warps never wait for each other.  A tile that a block may always have is declared; a greater one, which the card
grants a launch that asks for it (`CudaText.dynamic` bytes), holds one warp.  Where 32 states do not fit into shared
memory at all, each thread writes its own row.

The kernels take the arrays, inputs first, then `count`, the number of states, then `odd`: null, or where a 1 is written
if an input is not finite.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..algebra import Port, Program, Repeated
from .source import Dialect, Reach, Source, Trig
from .source_writer import Real, bits, fused, own_sincos

Layout = Literal["rows", "columns"]
LAYOUTS: tuple[Layout, ...] = ("rows", "columns")
WARP = 32
THREADS: dict[Layout, int] = {"rows": 64, "columns": 128}
"""Of a block.  Measured on an H200: with 96 the tiles of the Panda's Coriolis matrix leave a third fewer warps."""
SHARED = 48 * 1024  # bytes that a block may always have
INFINITY: dict[Real, str] = {"double": "ew_real(0x7ff0000000000000ull)", "float": "ew_real(0x7f800000u)"}
"""By its bits: NVRTC has no math.h, and with it no HUGE_VALF."""


def dialect(real: Real = "double", trig: Trig = "own") -> Dialect:
    """CUDA C++."""
    return Dialect(
        real,
        trig,
        helper="static __device__ __forceinline__",
        product="__dmul_rn({}, {})" if real == "double" else "__fmul_rn({}, {})",
        integers=("unsigned int", "unsigned long long"),
        infinity=INFINITY[real],
        loop="#pragma unroll 1",
    )


@dataclass(frozen=True)
class Tile:
    """Where a warp keeps the rows of its states: per array its first place, and how many places a state takes."""

    inputs: dict[str, tuple[int, int]]
    outputs: dict[str, tuple[int, int]]
    size: int  # places in all; outputs lie over inputs

    @classmethod
    def of(cls, program: Program | Repeated) -> Tile:
        """The tile of a program."""
        inputs, taken = cls._packed(program.inputs)
        outputs, given = cls._packed(program.outputs)
        return cls(inputs, outputs, max(taken, given))

    @staticmethod
    def _packed(ports: Iterable[Port]) -> tuple[dict[str, tuple[int, int]], int]:
        places, end = {}, 0
        for port in ports:
            stride = port.size | 1
            places[port.name] = end, stride
            end += WARP * stride
        return places, end

    def bytes(self, real: Real) -> int:
        """What the tile of one warp takes of shared memory."""
        return self.size * (8 if real == "double" else 4)

    def warps(self, real: Real, shared: int) -> int:
        """How many tiles a block has: as many as it always has room for, one if the card has to be asked, or none."""
        size = self.bytes(real)
        return min(THREADS["rows"] // WARP, SHARED // size) or int(size <= shared)


def _column(name: str, port: Port, k: int) -> str:
    return f"{name}[{k} * count + state]"


def _row(name: str, port: Port, k: int) -> str:
    return f"{name}[state * {port.size} + {k}]"


STATE = """\
    const long long state = (long long)blockIdx.x * {threads} + threadIdx.x;
    if (state >= count) {{
        return;
    }}"""

WARPS = """\
    {room}
    {real}* const tile = ew_room + threadIdx.x / 32 * {tile};
    const int lane = threadIdx.x % 32;
    const long long first = (long long)blockIdx.x * {threads} + (threadIdx.x - lane);
    if (first >= count) {{
        return;
    }}
    const int states = count - first < 32 ? (int)(count - first) : 32;
    const int mine = lane < states ? lane : states - 1; /* beyond the last state: that one again */"""

MOVE = """\
#pragma unroll 8
    for (int k = 0; k < {size}; ++k) {{
        const int i = 32 * k + lane;
        if (i < {size} * states) {{
            {line};
        }}
    }}"""


class CudaText:
    """One Program as the text of a CUDA kernel, for a card that grants a block so many bytes of shared memory."""

    def __init__(
        self,
        program: Program | Repeated,
        real: Real = "double",
        layout: Layout = "rows",
        trig: Trig = "own",
        shared: int = SHARED,
    ) -> None:
        self.source = Source(program, dialect(real, trig))
        self.real, self.layout = real, layout
        self._tile = Tile.of(program)
        warps = self._tile.warps(real, shared) if layout == "rows" else 0
        self.tiled = warps > 0
        size = self._tile.bytes(real) if self.tiled else 0
        self.dynamic = size if size > SHARED else 0  # bytes of shared memory that a launch has to ask for
        self.threads = WARP * warps or THREADS[layout]

    def signature(self, name: str) -> str:
        """The kernel's name and arguments."""
        arguments = [f"const {self.real}* __restrict__ {x}" for x, _ in self.source.inputs.values()]
        arguments += [f"{self.real}* __restrict__ {x}" for x, _ in self.source.outputs.values()]
        listed = ", ".join([*arguments, "long long count", "int* odd"])
        return f'extern "C" __global__ void __launch_bounds__({self.threads}) {name}({listed})'

    def text(self, name: str) -> str:
        """The whole kernel."""
        return "\n".join([self.signature(name), "{", *(self._tiled() if self.tiled else self._direct()), "}", ""])

    def _direct(self) -> list[str]:
        """Each thread reads and writes where its state lies."""
        reach = _column if self.layout == "columns" else _row
        return [STATE.format(threads=self.threads), *self.source.body(reach, reach, self._watch(reach))]

    def _tiled(self) -> list[str]:
        """Rows through shared memory: in, steps, out."""
        tile = self._tile
        places = tile.size * self.threads // WARP
        room = (
            f"extern __shared__ {self.real} ew_room[];"
            if self.dynamic
            else f"__shared__ {self.real} ew_room[{places}];"
        )
        lines = [WARPS.format(real=self.real, room=room, tile=tile.size, threads=self.threads)]
        for port, (name, p) in self.source.inputs.items():
            lines.append(self._move(p, "{tile} = {array}", name, *tile.inputs[port]))
        lines.append("    __syncwarp();")

        def read(name: str, port: Port, k: int) -> str:
            first, stride = tile.inputs[port.name]
            return f"tile[{first + k} + {stride} * mine]"

        def write(name: str, port: Port, k: int) -> str:
            first, stride = tile.outputs[port.name]
            return f"tile[{first + k} + {stride} * lane]"

        between = [*self._watch(read), "    __syncwarp(); /* results take the place of inputs */"]
        lines += self.source.body(read, write, between)
        lines.append("    __syncwarp();")
        for port, (name, p) in self.source.outputs.items():
            lines.append(self._move(p, "{array} = {tile}", name, *tile.outputs[port]))
        return lines

    def _move(self, port: Port, line: str, name: str, first: int, stride: int) -> str:
        """The rows of a warp's states, from end to end, between an array and its tile."""
        place = "i" if stride == port.size else f"i / {port.size} * {stride} + i % {port.size}"
        moved = line.format(tile=f"tile[{first} + {place}]", array=f"{name}[first * {port.size} + i]")
        return MOVE.format(size=port.size, line=moved)

    def _watch(self, read: Reach) -> list[str]:
        """Whether all inputs are finite: the greatest exponent of them says it.  Integers: they cost no real step."""
        loaded = {place: f"t{k}" for k, place in self.source.lowered.loads.items()}
        width, mantissa = ("0x7ff00000u", " >> 32") if self.real == "double" else ("0x7f800000u", "")
        lines = ["    unsigned int greatest = 0u;"]
        for port, (name, p) in self.source.inputs.items():
            for k in range(p.size):
                x = loaded.get((port, k)) or read(name, p, k)
                lines.append(f"    greatest = max(greatest, (unsigned int)(ew_bits({x}){mantissa}) & 0x7fffffffu);")
        return [*lines, f"    if (greatest >= {width} && odd) {{", "        *odd = 1;", "    }"]


def support(kernels: Iterable[CudaText]) -> str:
    """What kernels of one kind of number stand on; it goes before them, once."""
    first, *_ = kernels = list(kernels)
    d = first.source.dialect
    turns = d.trig == "own" and any(k.source.has("sin", "cos") for k in kernels)
    return "\n".join([fused(d.real), own_sincos(d) if turns else bits(d)])


def text(kernel: CudaText, name: str) -> str:
    """One kernel with all that it stands on."""
    return "\n".join([support([kernel]), kernel.text(name)])
