"""CUDA: Programs as kernels for a graphics card, as text, and compiled and called through CuPy.

Programs as CUDA kernels: the steps of `source`, a thread a state.

    columns    element e of state s is x[e * count + s], a structure of arrays: neighbours read and write neighbours;
               at full speed where count is a multiple of 32, so that every column begins where a line of memory does
    rows       x[s * size + e], an array of structures: the states of a warp are one piece of memory, which passes
               through a tile of shared memory, so that the warp reads and writes it from end to end

In a tile a state takes an odd number of places: then the 32 threads of a warp hit 32 banks.  A tile is the warp's own,
so warps never wait for each other.  A tile that a block may always have is declared; a greater one, which the card
grants a launch that asks for it (`CudaText.dynamic` bytes), holds one warp.  Where 32 states do not fit into shared
memory at all, each thread writes its own row.

Values that a thread has no registers for wait in shared memory, too (spill.py): in places of the tile whose results
are not written yet, and in places of their own.

The kernels take the arrays, inputs first, then `count`, the number of states, then `odd`: null, or where a 1 is written
if an input is not finite.

The CUDA backend: a kernel for millions of states on a graphics card, through CuPy.

    f = arm.compile("mass_matrix", device="cuda")                     # (B, n) -> (B, n, n), as on the CPU
    f = arm.compile("mass_matrix", device="cuda", layout="columns")   # (n, B) -> (n, n, B)
    M = f(Q)                                                          # CuPy, torch or JAX in, the same out
    f(Q, out=M, check=False)                                          # queued on the current stream, nothing awaited

The steps are those of the CPU's kernels, and so are the roundings: the compiler may fuse nothing that `lower` did not.
Inputs that are not finite are found in passing and refused with `ValueError`, for which the call waits until the card
is done; with check=False it does not wait, and such a state's results are meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from ..algebra import Count, Port, Program, Repeated
from ..errors import DtypeError, ElbowroomError, ShapeError, pip_install
from . import source_support
from .frameworks import call, product, traced_by_jax
from .kernel import Signature, bound, bundle
from .source import Dialect, Reach, Real, Source, Trig, identifier
from .spill import Spills

Layout = Literal["rows", "columns"]
LAYOUTS: tuple[Layout, ...] = ("rows", "columns")
WARP = 32
THREADS: dict[Layout, int] = {"rows": 64, "columns": 128}
"""Of a block.  Measured on an H200: with 96 the tiles of the Panda's Coriolis matrix leave a third fewer warps."""
SHARED = 48 * 1024  # bytes that a block may always have
ALIVE: dict[Real, int] = {"double": 100, "float": 200}  # values at once that are left to the compiler
KEPT: dict[tuple[Real, Layout], int] = {
    ("double", "rows"): 72, ("double", "columns"): 118, ("float", "rows"): 170, ("float", "columns"): 160
}  # fmt: skip
"""Values that stay in a thread's 255 registers where more are alive; the rest is for steps that are under way and, in
columns, for the addresses of results, a sixth of them.  Measured on an H200."""
LEAST_KEPT = 48
WIDTH: dict[Real, int] = {"double": 8, "float": 4}  # bytes
RESIDENT = 256  # threads with all their registers that a multiprocessor has room for
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
    more: tuple[int, int] = (0, 0)  # of values that wait: their first place, and how many places a state takes

    @classmethod
    def of(cls, program: Program | Repeated) -> Tile:
        """The tile of a program."""
        inputs, taken = cls._packed(p for p in program.inputs if not p.shared)
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
        return self.size * WIDTH[real]

    def with_more(self, count: int) -> Tile:
        """The tile with so many places a state behind it."""
        stride = count | 1 if count else 0
        return replace(self, size=self.size + WARP * stride, more=(self.size, stride))

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

WAIT = "    volatile {real}* const ew_wait = {at}; /* values that no register is left for */"

MOVE = """\
#pragma unroll 8
    for (int k = 0; k < {size}; ++k) {{
        const int i = 32 * k + lane;
        if (i < {size} * states) {{
            {line};
        }}
    }}"""


def _spilled(source: Source, layout: Layout, given: Sequence[tuple[str, int]] = ()) -> Spills:
    """What waits in shared memory: nothing where the compiler can be expected to find registers for all."""
    real = source.dialect.real
    if not source.spills(ALIVE[real]).moves:
        return Spills()
    addresses = sum(p.size for _, p in source.outputs.values()) // 6 if layout == "columns" else 0
    return source.spills(max(LEAST_KEPT, KEPT[real, layout] - addresses), given)


def spilling_cost(program: Program) -> int:
    """What it costs, in operations, that a thread has too few registers for the values of a program in float64."""
    return 4 * _spilled(Source(program, dialect()), "rows").moves


def _threads(usual: int, size: int, shared: int) -> int:
    """Of a block whose threads need so many bytes of shared memory each: as most threads run at once; 0: no room."""
    if not size:
        return usual
    fitting = [threads for threads in (128, 64, WARP) if threads <= usual and size * threads <= shared]
    return max(fitting, key=lambda threads: min(RESIDENT, shared // (size * threads) * threads), default=0)


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
        self._results = [(p.name, k) for p in program.outputs for k in range(p.size)]
        warps = 0
        if layout == "rows":
            self.spilled = _spilled(self.source, layout, self._results)
            self._tile = self._tile.with_more(self.spilled.slots)
            warps = self._tile.warps(real, shared)
        self.tiled = warps > 0
        if self.tiled:
            self.threads, self._places = WARP * warps, self._tile.size * warps
        else:
            self.spilled = _spilled(self.source, layout)
            self.threads = _threads(THREADS[layout], self.spilled.slots * WIDTH[real], shared)
            if not self.threads:
                self.spilled, self.threads = Spills(), THREADS[layout]
            self._places = self.spilled.slots * self.threads
        size = self._places * WIDTH[real]
        self.dynamic = size if size > SHARED else 0  # bytes of shared memory that a launch has to ask for

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

        def waiting(slot: int) -> str:
            return f"ew_wait[{(-1 - slot) * self.threads} + threadIdx.x]"

        room = [f"    {self._room()}", WAIT.format(real=self.real, at="ew_room")] if self._places else []
        steps = self.source.body(reach, reach, self._watch(reach), self.spilled, waiting)
        return [STATE.format(threads=self.threads), *room, *steps]

    def _room(self) -> str:
        """The shared memory of a block."""
        size = "" if self.dynamic else str(self._places)
        return f"{'extern ' if self.dynamic else ''}__shared__ {self.real} ew_room[{size}];"

    def _tiled(self) -> list[str]:
        """Rows through shared memory: in, steps, out."""
        tile = self._tile
        lines = [WARPS.format(real=self.real, room=self._room(), tile=tile.size, threads=self.threads)]
        for port, (name, p) in self.source.inputs.items():
            if not p.shared:
                lines.append(self._move(p, "{tile} = {array}", name, *tile.inputs[port]))
        lines.append("    __syncwarp();")

        def read(name: str, port: Port, k: int) -> str:
            first, stride = tile.inputs[port.name]
            return f"tile[{first + k} + {stride} * mine]"

        def write(name: str, port: Port, k: int) -> str:
            first, stride = tile.outputs[port.name]
            return f"tile[{first + k} + {stride} * lane]"

        def waiting(slot: int) -> str:
            if slot < 0:
                return f"ew_wait[{tile.more[0] - 1 - slot} + {tile.more[1]} * lane]"
            name, k = self._results[slot]
            first, stride = tile.outputs[name]
            return f"ew_wait[{first + k} + {stride} * lane]"

        between = [*self._watch(read), "    __syncwarp(); /* results take the place of inputs */"]
        between += [WAIT.format(real=self.real, at="tile")] if self.spilled.moves else []
        lines += self.source.body(read, write, between, self.spilled, waiting)
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
            for k in range(0 if p.shared else p.size):  # what all states share is looked through by itself
                x = loaded.get((port, k)) or read(name, p, k)
                lines.append(f"    greatest = max(greatest, (unsigned int)(ew_bits({x}){mantissa}) & 0x7fffffffu);")
        return [*lines, f"    if (greatest >= {width} && odd) {{", "        *odd = 1;", "    }"]


def support(kernels: Iterable[CudaText]) -> str:
    """What kernels of one kind of number stand on; it goes before them, once."""
    first, *_ = kernels = list(kernels)
    d = first.source.dialect
    return source_support.support(d, [k.source for k in kernels], always=True)


def text(kernel: CudaText, name: str) -> str:
    """One kernel with all that it stands on."""
    return "\n".join([support([kernel]), kernel.text(name)])


OPTIONS = ("-std=c++17", "--fmad=false")
"""For NVRTC.  No fusing on its own: `lower` chose what is fused, for all backends alike."""


def library() -> Any:
    """CuPy, if it is there and sees a card."""
    try:
        import cupy
    except ImportError as error:
        raise ElbowroomError(f"device 'cuda' needs CuPy ({pip_install('gpu')}): {error}") from error
    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ElbowroomError(f"device 'cuda': CuPy {cupy.__version__} finds no card: {error}") from error
    if not devices:
        raise ElbowroomError(f"device 'cuda': CuPy {cupy.__version__} finds no card")
    return cupy


class CudaKernel:
    """A compiled Program on the card.  Thread-safe: it keeps no state between calls."""

    def __init__(
        self,
        method: str,
        program: Program | Repeated,
        dtype: Any = np.float64,
        layout: Layout = "rows",
        result: type[tuple[Any, ...]] | None = None,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise DtypeError(f"dtype must be float64 or float32; got {self.dtype}")
        if layout not in LAYOUTS:
            raise ElbowroomError(f"layout: expected one of {', '.join(map(repr, LAYOUTS))}; got {layout!r}")
        self.signature = Signature(program.name, method, program.inputs, program.outputs)
        self.name, self.method, self.layout, self.program = program.name, method, layout, program
        self._result, self._bundle = result, bundle(self.name, program.outputs, result)

    @cached_property
    def _kernel(self) -> CudaText:
        """Its text for the current card; for any card where there is none."""
        try:
            shared = int(library().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
        except ElbowroomError:
            shared = SHARED
        real: Real = "double" if self.dtype.itemsize == 8 else "float"
        return CudaText(self.program, real, self.layout, shared=shared)

    @property
    def source(self) -> Source:
        """The steps as they are written."""
        return self._kernel.source

    @property
    def count(self) -> Count:
        """The operations of one evaluation."""
        return self.program.count

    def __reduce__(self) -> tuple[type[CudaKernel], tuple[object, ...]]:  # compiled again where it arrives
        return type(self), (self.method, self.program, self.dtype, self.layout, self._result)

    @cached_property
    def text(self) -> str:
        """The CUDA text that is compiled."""
        return text(self._kernel, identifier(self.name))

    @cached_property
    def function(self) -> Any:
        """CuPy's kernel of it; its attributes tell the registers, local memory and shared memory it takes."""
        cupy = library()
        function = cupy.RawModule(code=self.text, options=OPTIONS).get_function(identifier(self.name))
        if self._kernel.dynamic:
            function.max_dynamic_shared_size_bytes = self._kernel.dynamic
        return function

    def __repr__(self) -> str:
        takes = ", ".join(f"{p.name} {self._shown(p, 'B')}" for p in self.signature.inputs)
        return f"<CUDA kernel {self.name}({takes}) by {self.method}, {self.dtype}, {self.layout}>"

    def __call__(self, *args: Any, out: Any = None, check: bool = True, **named: Any) -> Any:
        """The output for a batch; see the module's docstring."""
        cupy = library()
        ports = self.signature.inputs
        given = bound(self.name, ports, args, named)
        if out is None and any(getattr(x, "requires_grad", False) is True for x in given):
            return call(self, "torch", given)
        if out is None and traced_by_jax(given):
            return call(self, "jax", given)
        arrays = [self._taken(cupy, port, x) for port, x in zip(ports, given, strict=True)]
        batch = self._batch(arrays)
        if len({x.device.id for x in arrays}) > 1:
            told = ", ".join(f"{p.name} on {x.device.id}" for p, x in zip(ports, arrays, strict=True))
            raise ElbowroomError(f"{self.name}: inputs must be on one card; got {told}")
        with arrays[0].device:
            outputs = self._destinations(cupy, out, batch, arrays)
            self._launch(cupy, arrays, outputs, math.prod(batch), check)
        if out is not None:
            return out
        back = _like(given[0])
        results = [back(x) for x in outputs]
        return results[0] if self._bundle is None else self._bundle(*results)

    on_card = True

    @property
    def launched(self) -> tuple[int, int]:
        """Threads of a block, and the bytes of shared memory that it asks for."""
        return self._kernel.threads, self._kernel.dynamic

    @property
    def pointer(self) -> int:
        """The driver's handle of it."""
        return int(self.function.kernel.ptr)

    def vjp(self, *of: str) -> CudaKernel:
        """The kernel of `program.vjp(*of)`, a vector times the Jacobian; compiled at every call, so keep it."""
        return cast("CudaKernel", product(self, "vjp", of))

    def jvp(self, *of: str) -> CudaKernel:
        """The kernel of `program.jvp(*of)`, the Jacobian times a vector; compiled at every call, so keep it."""
        return cast("CudaKernel", product(self, "jvp", of))

    def like(self, program: Program) -> CudaKernel:
        """A kernel of another program, for the same card, dtype and layout."""
        return CudaKernel(self.method, program, self.dtype, self.layout)

    def of_tensors(self, tensors: list[Any]) -> tuple[Any, ...]:
        """The outputs, always several, for torch tensors without a history."""
        found = self(*tensors)
        return tuple(found) if self._bundle is not None else (found,)

    def _launch(self, cupy: Any, arrays: list[Any], outputs: list[Any], states: int, check: bool) -> None:
        if not states:
            return
        odd: Any = cupy.zeros(1, np.int32) if check else np.uint64(0)
        threads, dynamic = self._kernel.threads, self._kernel.dynamic
        given = (*arrays, *outputs, np.int64(states), odd)
        self.function((-(-states // threads),), (threads,), given, shared_mem=dynamic)
        shared = [x for p, x in zip(self.signature.inputs, arrays, strict=True) if p.shared]
        if check and (int(odd[0]) or any(not bool(cupy.isfinite(x).all()) for x in shared)):  # waits for the card
            for port, x in zip(self.signature.inputs, arrays, strict=True):
                if not bool(cupy.isfinite(x).all()):
                    raise ValueError(f"{self.name}: {port.name} must be finite; it has a NaN or an infinity")

    def _taken(self, cupy: Any, port: Port, x: Any) -> Any:
        """An input as a contiguous CuPy array of the right kind: a view where that can be."""
        array = _viewed(cupy, f"{self.name}: {port.name}", x)
        if array.dtype != self.dtype:
            raise DtypeError(
                f"{self.name}: {port.name} must be an array of {self.dtype} on the card; got {array.dtype} "
                f"(compile with dtype={str(array.dtype)!r}, or convert)"
            )
        inner = array.shape if port.shared else self._inner(port, array.shape)
        if inner != port.shape:
            raise ShapeError(f"{self.name}: {port.name} must have shape {self._shown(port, 'B')}; got {array.shape}")
        return cupy.ascontiguousarray(array)

    def _inner(self, port: Port, shape: tuple[int, ...]) -> tuple[int, ...]:
        own = len(port.shape)
        return shape[len(shape) - own :] if self.layout == "rows" else shape[:own]

    def _outer(self, port: Port, shape: tuple[int, ...]) -> tuple[int, ...]:
        own = len(port.shape)
        return shape[: len(shape) - own] if self.layout == "rows" else shape[own:]

    def _whole(self, port: Port, batch: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, *port.shape) if self.layout == "rows" else (*port.shape, *batch)

    def _shown(self, port: Port, batch: str) -> str:
        if port.shared:
            return str(port.shape)
        sides = [batch, *map(str, port.shape)] if self.layout == "rows" else [*map(str, port.shape), batch]
        return f"({', '.join(sides)}{',' if len(sides) == 1 else ''})"

    def _batch(self, arrays: list[Any]) -> tuple[int, ...]:
        ports = self.signature.inputs
        shapes = [self._outer(p, x.shape) for p, x in zip(ports, arrays, strict=True) if not p.shared]
        if any(s != shapes[0] for s in shapes):
            told = ", ".join(f"{p.name} {x.shape}" for p, x in zip(ports, arrays, strict=True))
            raise ShapeError(f"{self.name}: inputs must have one batch shape; got {told}")
        return shapes[0]

    def _destinations(self, cupy: Any, out: Any, batch: tuple[int, ...], inputs: list[Any]) -> list[Any]:
        ports = self.signature.outputs
        shapes = [self._whole(p, batch) for p in ports]
        if out is None:
            return [cupy.empty(s, self.dtype) for s in shapes]
        wanted = list(out) if self._bundle is not None else [out]
        if len(wanted) != len(shapes):
            raise ShapeError(f"{self.name}: out must be {len(shapes)} arrays; got {len(wanted)}")
        outputs: list[Any] = []
        for port, given, shape in zip(ports, wanted, shapes, strict=True):
            x = _viewed(cupy, f"{self.name}: out for {port.name}", given)
            if x.dtype != self.dtype:
                raise DtypeError(f"{self.name}: out for {port.name} must be an array of {self.dtype}; got {x.dtype}")
            if x.shape != shape or not x.flags.c_contiguous:
                kind = "contiguous" if x.flags.c_contiguous else "strided"
                raise ShapeError(
                    f"{self.name}: out for {port.name} must be contiguous, of shape {shape}; got {kind} {x.shape}"
                )
            if any(cupy.may_share_memory(x, other) for other in (*inputs, *outputs)):
                raise ValueError(f"{self.name}: out for {port.name} lies on an input or on another output")
            outputs.append(x)
        return outputs


def _viewed(cupy: Any, what: str, x: Any) -> Any:
    """An array on the card as CuPy's, without a copy."""
    if isinstance(x, cupy.ndarray):
        return x
    try:
        if hasattr(x, "__cuda_array_interface__"):
            return cupy.asarray(x)
        if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            return cupy.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DtypeError(f"{what} must be an array on the card; this {type(x).__name__} is not: {error}") from error
    raise DtypeError(
        f"{what} must be an array on the card (CuPy, or what has DLPack or __cuda_array_interface__: torch, JAX); "
        f"got {type(x).__name__}; cupy.asarray(x) copies it there"
    )


def _like(x: Any) -> Callable[[Any], Any]:
    """What turns a result into an array of the library that x came from, on the same memory."""
    name = type(x).__module__.partition(".")[0]
    if name == "torch":
        import torch

        return lambda result: torch.from_dlpack(result)
    if name in ("jax", "jaxlib"):
        import jax

        return lambda result: jax.dlpack.from_dlpack(result)
    return lambda result: result
