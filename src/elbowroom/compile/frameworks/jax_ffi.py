"""Kernels as targets of XLA's foreign function interface: JAX's compiled code calls the machine code itself.

For a kernel a handler is emitted that finds the arrays in XLA's call frame and calls `many` with them, or puts the
kernel of a card into XLA's stream: no Python, no lock, no copy.  The frame's layout is that of XLA's C header
(xla/ffi/api/c_api.h), which comes with JAX; where the structures there are not word for word those that the handler was
written for, there is no handler, and `jax_function` goes through the host.

A handler lives as long as the process: XLA never gives a target back.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import threading
from functools import cache
from pathlib import Path
from typing import Any

from .. import engine

STRUCTURES = (
    "XLA_FFI_Extension_Base",
    "XLA_FFI_Api_Version",
    "XLA_FFI_Error_Create_Args",
    "XLA_FFI_Buffer",
    "XLA_FFI_Args",
    "XLA_FFI_Rets",
    "XLA_FFI_Attrs",
    "XLA_FFI_CallFrame",
    "XLA_FFI_Metadata",
    "XLA_FFI_Metadata_Extension",
    "XLA_FFI_Stream_Get_Args",
)
RENAMED = {"InternalExtension_Type": "Extension_Type", "InternalExtension": "Extension_Base"}
RENAMED |= {"InvokeContext": "ExecutionContext"}
"""What the same is called since JAX 0.11."""
KNOWN = frozenset(
    {
        "38c316853fde2365309470dc606267b810a6b9c939ae489414323bd89e76f837",  # JAX 0.5 to 0.7
        "b25755a9d897fd30db3869242dc8a323983141af64dbad21b7fb4f65f2671461",  # 0.9 to 0.11
    }
)
"""Of the structures as `_digest` finds them, in headers whose layout the handler has."""

# Offsets in bytes, for pointers of eight.
EXTENSION, API, STAGE, ARGS, RETS = 8, 16, 32, 40, 80  # of the call frame
PLACES = 32  # of XLA_FFI_Args and XLA_FFI_Rets: the pointers to buffers
DATA, RANK, DIMS = 24, 32, 40  # of a buffer
EXECUTE = 3  # the stage

SIZE = """\
@message = internal constant [{length} x i8] c"{message}"

define i64 @size(ptr %buffer) {{
entry:
  %rank_at = getelementptr i8, ptr %buffer, i64 {rank}
  %rank = load i64, ptr %rank_at
  %dims_at = getelementptr i8, ptr %buffer, i64 {dims}
  %dims = load ptr, ptr %dims_at
  br label %head
head:
  %k = phi i64 [0, %entry], [%k1, %body]
  %total = phi i64 [1, %entry], [%more, %body]
  %inside = icmp slt i64 %k, %rank
  br i1 %inside, label %body, label %done
body:
  %at = getelementptr i64, ptr %dims, i64 %k
  %dim = load i64, ptr %at
  %more = mul i64 %total, %dim
  %k1 = add i64 %k, 1
  br label %head
done:
  ret i64 %total
}}
"""
HANDLER = """
define ptr @handler(ptr %frame) {{
entry:
  %told = alloca {{ i64, ptr, ptr, i32, i32 }}
  %places = alloca [{count} x ptr]
{room}
  %api_at = getelementptr i8, ptr %frame, i64 {api}
  %api = load ptr, ptr %api_at
  %extension_at = getelementptr i8, ptr %frame, i64 {extension}
  %extension = load ptr, ptr %extension_at
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %stage, label %extended
extended:
  %kind_at = getelementptr i8, ptr %extension, i64 8
  %kind = load i32, ptr %kind_at
  %asked = icmp eq i32 %kind, 1
  br i1 %asked, label %metadata, label %stage
metadata:
  %metadata_at = getelementptr i8, ptr %extension, i64 24
  %facts = load ptr, ptr %metadata_at
  %major_at = getelementptr i8, ptr %facts, i64 24
  store i32 {major}, ptr %major_at
  %minor_at = getelementptr i8, ptr %facts, i64 28
  store i32 {minor}, ptr %minor_at
  %traits_at = getelementptr i8, ptr %facts, i64 32
  store i32 0, ptr %traits_at
  ret ptr null
stage:
  %stage_at = getelementptr i8, ptr %frame, i64 {stage}
  %now = load i32, ptr %stage_at
  %runs = icmp eq i32 %now, {execute}
  br i1 %runs, label %run, label %fine
fine:
  ret ptr null
run:
{arrays}
  %states = sdiv i64 %elements, {own}
  %some = icmp sgt i64 %states, 0
  br i1 %some, label %call, label %fine
call:
{work}
  br i1 %good, label %fine, label %bad
bad:
  %size_at = getelementptr {{ i64, ptr, ptr, i32, i32 }}, ptr %told, i64 0, i32 0
  store i64 28, ptr %size_at
  %none_at = getelementptr {{ i64, ptr, ptr, i32, i32 }}, ptr %told, i64 0, i32 1
  store ptr null, ptr %none_at
  %text_at = getelementptr {{ i64, ptr, ptr, i32, i32 }}, ptr %told, i64 0, i32 2
  store ptr @message, ptr %text_at
  %code_at = getelementptr {{ i64, ptr, ptr, i32, i32 }}, ptr %told, i64 0, i32 3
  store i32 3, ptr %code_at
  %create_at = getelementptr i8, ptr %api, i64 48
  %create = load ptr, ptr %create_at
  %error = call ptr %create(ptr %told)
  ret ptr %error
}}
"""
ON_CPU = """\
  %many = inttoptr i64 {many} to ptr
  %answer = call i64 %many(ptr %places, i64 %states)
  %good = icmp eq i64 %answer, -1"""

ON_CARD = """\
  %asks_size = getelementptr {{ i64, ptr, ptr, ptr }}, ptr %asks, i64 0, i32 0
  store i64 32, ptr %asks_size
  %asks_none = getelementptr {{ i64, ptr, ptr, ptr }}, ptr %asks, i64 0, i32 1
  store ptr null, ptr %asks_none
  %context_at = getelementptr i8, ptr %frame, i64 24
  %context = load ptr, ptr %context_at
  %asks_context = getelementptr {{ i64, ptr, ptr, ptr }}, ptr %asks, i64 0, i32 2
  store ptr %context, ptr %asks_context
  %stream_get_at = getelementptr i8, ptr %api, i64 80
  %stream_get = load ptr, ptr %stream_get_at
  %refused = call ptr %stream_get(ptr %asks)
  %got = icmp eq ptr %refused, null
  br i1 %got, label %launch, label %without
without:
  ret ptr %refused
launch:
  %stream_at = getelementptr {{ i64, ptr, ptr, ptr }}, ptr %asks, i64 0, i32 3
  %stream = load ptr, ptr %stream_at
  store i64 %states, ptr %number
  store ptr null, ptr %odd
{parameters}
  %up = add i64 %states, {last}
  %wide = sdiv i64 %up, {threads}
  %grid = trunc i64 %wide to i32
  %go = inttoptr i64 {launch} to ptr
  %kernel = inttoptr i64 {function} to ptr
  %status = call i32 %go(ptr %kernel, i32 %grid, i32 1, i32 1, {block}, i32 {shared}, ptr %stream, ptr %given, ptr null)
  %good = icmp eq i32 %status, 0"""


def target(kernel: Any) -> str | None:
    """The name by which XLA knows the kernel; None where it cannot be one."""
    found = vars(kernel).get("_xla")
    if found is None:
        with _lock:
            found = vars(kernel)["_xla"] = _registered(kernel) or ""
    return found or None


_lock = threading.Lock()
_alive: dict[str, Any] = {}  # by name: the handler, and the kernel whose code it calls


def _registered(kernel: Any) -> str | None:
    """Emit the handler and give it to XLA."""
    ports = kernel.signature.inputs
    if version() is None or any(port.shared for port in ports) or not any(port.size for port in ports):
        return None
    import jax

    # by its content: XLA may keep compiled code on disk, where the name stands for the kernel
    content = getattr(kernel, "identity", None) or kernel.program.digest
    where = "CUDA" if kernel.on_card else "cpu"
    name = f"elbowroom_{hashlib.sha256(f'{content} {kernel.dtype.str} {where}'.encode()).hexdigest()[:24]}"
    if name not in _alive:
        text = card_handler(kernel, _launcher()) if kernel.on_card else cpu_handler(kernel)
        loaded = engine.Loaded(engine.object_code(text, engine.host()))
        capsule = jax.ffi.pycapsule(ctypes.c_void_p(loaded.address("handler")))
        jax.ffi.register_ffi_target(name, capsule, platform=where)
        _alive[name] = loaded, kernel
    return name


def _launcher() -> int:
    """Where the driver's cuLaunchKernel is."""
    driver = ctypes.CDLL("libcuda.so.1")
    return int(ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value or 0)


def cpu_handler(kernel: Any) -> str:
    """The handler of a kernel of the CPU, in LLVM IR."""
    kernel.backend._ready_for_many()
    told = f"{kernel.name}: inputs must be finite; one of them has a NaN or an infinity"
    return _text(kernel, told, "", ON_CPU.format(many=kernel.backend._many_at))


def card_handler(kernel: Any, launcher: int) -> str:
    """The handler of a kernel of a card: queued on XLA's stream, with nothing awaited and nothing looked at."""
    count = len(kernel.signature.inputs) + len(kernel.signature.outputs)
    kind = f"[{count + 2} x ptr]"
    room = [f"  %given = alloca {kind}", "  %number = alloca i64", "  %odd = alloca ptr"]
    room.append("  %asks = alloca { i64, ptr, ptr, ptr }")
    parameters = []
    for k in range(count + 2):
        parameters.append(f"  %g{k} = getelementptr {kind}, ptr %given, i64 0, i64 {k}")
        place = ("%number", "%odd")[k - count] if k >= count else f"%w{k}"
        if k < count:
            parameters.append(f"  {place} = getelementptr [{count} x ptr], ptr %places, i64 0, i64 {k}")
        parameters.append(f"  store ptr {place}, ptr %g{k}")
    threads, shared = kernel.launched
    work = ON_CARD.format(
        parameters="\n".join(parameters),
        last=threads - 1,
        threads=threads,
        block=f"i32 {threads}, i32 1, i32 1",
        shared=shared,
        launch=launcher,
        function=kernel.pointer,
    )
    return _text(kernel, f"{kernel.name}: the card's driver refused to launch it", "\n".join(room), work)


def _text(kernel: Any, told: str, room: str, work: str) -> str:
    """A handler: its arrays, and what is done with them."""
    inputs, outputs = kernel.signature.inputs, kernel.signature.outputs
    count = len(inputs) + len(outputs)
    lines = []
    for side, base, ports in (("a", ARGS, inputs), ("r", RETS, outputs)):
        lines += [
            f"  %{side} = getelementptr i8, ptr %frame, i64 {base + PLACES}",
            f"  %{side}s = load ptr, ptr %{side}",
        ]
        for k in range(len(ports)):
            first = k + (len(inputs) if side == "r" else 0)
            lines += [
                f"  %{side}at{k} = getelementptr ptr, ptr %{side}s, i64 {k}",
                f"  %{side}b{k} = load ptr, ptr %{side}at{k}",
                f"  %{side}d{k} = getelementptr i8, ptr %{side}b{k}, i64 {DATA}",
                f"  %{side}x{k} = load ptr, ptr %{side}d{k}",
                f"  %{side}p{k} = getelementptr [{count} x ptr], ptr %places, i64 0, i64 {first}",
                f"  store ptr %{side}x{k}, ptr %{side}p{k}",
            ]
    counted = next(k for k, port in enumerate(inputs) if port.size)
    lines.append(f"  %elements = call i64 @size(ptr %ab{counted})")
    major, minor = version() or (0, 0)  # which `_registered` looks at
    own, offsets = inputs[counted].size, {"api": API, "extension": EXTENSION, "stage": STAGE, "execute": EXECUTE}
    size = SIZE.format(message=told + "\\00", length=len(told) + 1, rank=RANK, dims=DIMS)
    facts = {"count": count, "major": major, "minor": minor, "own": own}
    return size + HANDLER.format(arrays="\n".join(lines), room=room, work=work, **offsets, **facts)


@cache
def version() -> tuple[int, int] | None:
    """Of the interface of the installed JAX; None where handlers are not written for it."""
    import jax

    try:
        header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    except (AttributeError, OSError):
        return None
    numbers = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header))
    if ctypes.sizeof(ctypes.c_void_p) != 8 or digest_of(header) not in KNOWN or len(numbers) < 2:
        return None
    return int(numbers["MAJOR"]), int(numbers["MINOR"])


def digest_of(header: str) -> str:
    """A hash of the structures that a handler reads, without comments and spaces; "" where one is missing."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    for now, before in RENAMED.items():
        text = text.replace(now, before)
    found = []
    for name in STRUCTURES:
        match = re.search(rf"struct {name} \{{(.*?)\}}", text, re.DOTALL)
        if match is None:
            return ""
        found.append(re.sub(r"\s+", "", match[1]))
    text = text.replace("XLA_FFI_Error_GetDetails", "XLA_FFI_Error_GetMessage")
    api = re.search(r"struct XLA_FFI_Api \{(.*?XLA_FFI_Error_Create\).*?XLA_FFI_Stream_Get\))", text, re.DOTALL)
    found.append("" if api is None else re.sub(r"\s+", "", api[1]))
    return hashlib.sha256("|".join(found).encode()).hexdigest()
