"""A graphics card for tests on machines without one: CuPy's part of the CUDA backend, the kernels by the C++ compiler.

The text of a kernel is compiled as C++ after a few lines that say what CUDA's words mean; the 32 threads of a warp are
threads, and `__syncwarp` is a barrier of them.  Where nobody waits for others they are one, which does all their work.
An array "on the card" is a NumPy array of a class of its own, so that one in plain memory is told from it.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ccompiler import FUSED, compiled

CXX = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
needs_cxx = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler (c++, g++, clang++) on this machine")

SHIM = """\
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __launch_bounds__(...)
static double __dmul_rn(double a, double b) { return a * b; }
static float __fmul_rn(float a, float b) { return a * b; }
static unsigned int max(unsigned int a, unsigned int b) { return a > b ? a : b; }
struct Index { unsigned int x; };
static Index blockIdx;
static thread_local Index threadIdx;
static pthread_barrier_t warp;
static void __syncwarp() { pthread_barrier_wait(&warp); }
static int atomicAdd(int* x, int by) { return __atomic_fetch_add(x, by, __ATOMIC_SEQ_CST); }
"""
SHARED = 227 * 1024  # bytes that this card grants a block, as an H200 does
LAUNCH = """
static void run_NAME(void** a) { NAME(ARGUMENTS); }
extern "C" void launch_NAME(void** a, unsigned int blocks, unsigned int threads)
{
    launch(run_NAME, a, blocks, threads);
}
"""
THREADS = """
struct Lane { void (*kernel)(void**); void** a; unsigned int thread; };

static void* run(void* given)
{
    const Lane* const lane = (const Lane*)given;
    threadIdx.x = lane->thread;
    lane->kernel(lane->a);
    return 0;
}

static void launch(void (*kernel)(void**), void** a, unsigned int blocks, unsigned int threads)
{
    (void)__dmul_rn; (void)__fmul_rn; (void)__syncwarp; (void)atomicAdd;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        if (!WAITS) {
            for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(a);
            continue;
        }
        for (unsigned int first = 0; first < threads; first += 32) {
            Lane lanes[32];
            pthread_t running[32];
            pthread_barrier_init(&warp, 0, 32);
            for (unsigned int k = 0; k < 32; ++k) {
                lanes[k] = {kernel, a, first + k};
                pthread_create(&running[k], 0, run, &lanes[k]);
            }
            for (unsigned int k = 0; k < 32; ++k) pthread_join(running[k], 0);
            pthread_barrier_destroy(&warp);
        }
    }
}
"""


class CardArray(np.ndarray):
    """An array "on the card"."""

    @property
    def device(self):
        return Device(getattr(self, "card", 0))

    def __array_finalize__(self, other):
        self.card = getattr(other, "card", 0)


class Device:
    """What CuPy's device is here: a number, what it grants, and a block to be entered."""

    attributes = {"MaxSharedMemoryPerBlockOptin": SHARED}  # noqa: RUF012 - nobody changes it

    def __init__(self, id=0):
        self.id = id

    def synchronize(self):
        """Everything is done at once here."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class RawModule:
    """Text compiled by the C++ compiler."""

    def __init__(self, code, options):
        assert "--fmad=false" in options
        self.folder = tempfile.TemporaryDirectory()
        folder, self.pointers = Path(self.folder.name), {}
        source = folder / "kernel.cpp"
        code, self.asks = re.subn(
            r"extern __shared__ (\w+) ew_room\[\];", rf"static \1 ew_room[{SHARED} / sizeof(\1)];", code
        )
        launches = [THREADS.replace("WAITS", str(int("__syncwarp" in code)))]
        for name, arguments in re.findall(r"__global__ void \w+\([\d, ]+\) (\w+)\((.*)\)", code):
            kinds = [re.sub(r"^const | __restrict__|\b\w+$", "", each).strip() for each in arguments.split(", ")]
            self.pointers[name] = [kind.endswith("*") for kind in kinds]
            given = (f"({kind})a[{k}]" if kind.endswith("*") else f"*({kind}*)a[{k}]" for k, kind in enumerate(kinds))
            launches.append(LAUNCH.replace("NAME", name).replace("ARGUMENTS", ", ".join(given)))
        source.write_text(SHIM + code + "\n".join(launches))
        flags = ["-std=c++17", "-O0", "-ffp-contract=off", *FUSED, "-fPIC", "-shared", "-pthread"]
        compiled([CXX, *flags, "-o", folder / "kernel.so", source], cwd=folder)
        self.library = ctypes.CDLL(str(folder / "kernel.so"))

    def get_function(self, name):
        return Function(self, name)


class Function:
    """A kernel of it: refused, as by a card, if it is launched with less shared memory than it was granted."""

    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, blocks, threads, arguments, *, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes <= SHARED
        assert bool(shared_mem) == bool(self.module.asks)
        pointers = self.module.pointers[self.name]
        assert len(arguments) == len(pointers)
        arrays = [np.asarray(x) for x in arguments]  # numbers by their address, no pointer as one that is null
        at = [x.ctypes.data if x.ndim or not pointer else 0 for x, pointer in zip(arrays, pointers, strict=True)]
        launch = self.module.library[f"launch_{self.name}"]

        def launched():
            assert arrays  # kept
            launch((ctypes.c_void_p * len(at))(*at), blocks[0], threads[0])

        if Stream.recorded is None:
            launched()
        else:
            Stream.recorded.append(launched)


class Stream:
    """A stream that records launches as a graph."""

    recorded = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def begin_capture(self):
        Stream.recorded = []

    def end_capture(self):
        launches, Stream.recorded = Stream.recorded, None
        return SimpleNamespace(launch=lambda stream: [each() for each in launches])


def to_card(x, dtype=None):
    """A copy on the card."""
    return np.array(x, dtype, order="C").view(CardArray)


def _as_array(x, dtype=None):
    if isinstance(x, np.ndarray):
        return to_card(x, dtype)
    return _of_interface(x)


def _of_interface(x):
    interface = x.__cuda_array_interface__
    assert interface["typestr"][1] == "f"
    return to_card(x.hidden)


cupy = SimpleNamespace(
    __version__="test",
    ndarray=CardArray,
    asarray=_as_array,
    asnumpy=lambda x: np.array(x),
    moveaxis=np.moveaxis,
    tile=lambda x, times: to_card(np.tile(x, times)),
    from_dlpack=lambda x: np.from_dlpack(x).view(CardArray),
    empty=lambda shape, dtype: np.full(shape, np.nan, dtype).view(CardArray),
    zeros=lambda shape, dtype: np.zeros(shape, dtype).view(CardArray),
    ascontiguousarray=lambda x: np.ascontiguousarray(x).view(CardArray).reshape(x.shape),
    isfinite=np.isfinite,
    may_share_memory=np.may_share_memory,
    RawModule=RawModule,
    cuda=SimpleNamespace(Device=Device, Stream=Stream, runtime=SimpleNamespace(memGetInfo=lambda: (0, 140e9))),
)
