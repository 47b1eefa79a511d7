"""The identity of a value, a hash: equal in every process for equal values, another once anything in it has changed.

The kernels on disk go by it, so it covers what tracing a function may read:

    a function      its bytecode and constants, defaults, closure, attributes, and the globals and builtins it names
    a module        a global of a function: what the function takes of it by name (`helper.GAIN`, `np.linalg.norm`)
    a class         its functions and plain attributes, and its bases
    an object       its class, and what pickle would keep of it; cached properties are left out, as they follow from the
                    rest.  One with a method `compiled_as` is known by its class and what that returns instead.
                    One whose own class says `unchanging = True` is looked into once.

Code of elbowroom, NumPy and Python itself is known by its name: elbowroom's sources and NumPy's version are in every
key (disk_cache.py), and Python's is in that of every other function.  What cannot be known has no identity
and raises: a lock, an open file, a C function of another library, an import of another library within a function.  So
does what may lead anywhere in a module: another library's or a program's module as a value (in a closure, an attribute,
a list, an argument), and what finds things by a text (`getattr`, `globals`, `eval`, `sys.modules`, `importlib`).  What
a function reads of files, clocks or the environment while it is traced cannot be seen, nor what a program puts into
elbowroom's own modules, NumPy's or Python's.
"""

from __future__ import annotations

import builtins
import copyreg
import hashlib
import itertools
import sys
import weakref
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .loops import Compilable

if TYPE_CHECKING:
    from dis import Instruction

OWN = __name__.partition(".")[0]
KNOWN = {OWN, "numpy", *sys.stdlib_module_names} - {"__main__"}
"""Top-level modules whose code is known by name."""

FINDERS = {"sys", "gc", "inspect", "importlib", "_frozen_importlib", "_frozen_importlib_external", "_imp", "imp"}
FINDERS |= {"pkgutil", "runpy", "code", "codeop", "pickle", "_pickle", "marshal", "ctypes", "_ctypes"}
"""Modules of Python whose functions lead to other modules, or to code that nothing names."""

_BY_TEXT = (getattr, globals, vars, eval, exec, compile, __import__, sys.modules)
_BY_TEXT_IDS = frozenset(map(id, _BY_TEXT))
_NAMESPACES = frozenset({"__globals__", "__builtins__", "f_globals", "f_builtins"})

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range})
_CACHED = type(lru_cache(len))
_IN_C = (WrapperDescriptorType, MethodDescriptorType, ClassMethodDescriptorType)
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: what a class statement makes has it
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_TAKES = ("LOAD_ATTR", "LOAD_METHOD")


_unchanging: dict[int, tuple[bytes, weakref.ref[Any]]] = {}
"""Hashes of what never changes, by the id of each for as long as it lives."""


class UnidentifiedError(Exception):
    """A value that may differ from another without anything to tell them apart."""


def identity(*values: object) -> str:
    """The hash of these values together; `UnidentifiedError` where one of them cannot be known."""
    walk = _Walk()
    try:
        walk.each("values", values)
    except UnidentifiedError:
        raise
    except Exception as error:  # an object that cannot be looked into may raise anything
        raise UnidentifiedError(f"{type(error).__name__}: {error}") from error
    return walk.hash.hexdigest()


def _known(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in KNOWN


def _finds(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in FINDERS


def _taken(steps: list[Instruction]) -> list[tuple[str, ...]]:
    """The names that code loads, each with the attributes that it takes of it at once: `np.linalg.norm`, in order."""
    paths: set[tuple[str, ...]] = set()
    for i, step in enumerate(steps):
        if step.opname in _LOADS:
            follows = itertools.takewhile(lambda s: s.opname in _TAKES, steps[i + 1 :])
            paths.add((str(step.argval), *(str(s.argval) for s in follows)))
    return sorted(paths)


def _found(module: str, name: str) -> Any:
    """What a module has under a dotted name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class _Walk:
    """One walk through values: each has a hash of its own, which is an entry in that of what holds it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._open: dict[int, int] = {}  # id -> depth of what is being walked through
        self._done: dict[int, tuple[bytes, object]] = {}  # id -> hash, and the value, so that its id stays its own
        self._up = 0  # the least depth that was met again: a value that contains itself

    def say(self, kind: str, data: bytes | str = b"") -> None:
        """One entry: what it is, how long, and its bytes; so no two sequences of entries are the same bytes."""
        data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        self.hash.update(f"{kind} {len(data)}:".encode() + data)

    def each(self, kind: str, values: Iterable[object]) -> None:
        """Several values in order."""
        listed = list(values)
        self.say(kind, str(len(listed)))
        for value in listed:
            self.value(value)

    def value(self, x: object) -> None:
        """Any value."""
        if type(x) in _PLAIN or (type(x) is tuple and _PLAIN.issuperset(map(type, x))):
            self.say("plain", repr(x))
        elif id(x) in self._done:
            self.say("value", self._done[id(x)][0])
        elif id(x) in self._open:
            self._up = min(self._up, self._open[id(x)])
            self.say("itself", str(len(self._open) - self._open[id(x)]))
        else:
            self.say("value", self._walked(x))

    def _walked(self, x: object) -> bytes:
        stays = vars(type(x)).get("unchanging") is True  # a subclass may add what changes, so it says so itself
        if stays and (known := _unchanging.get(id(x))) is not None and known[1]() is x:
            return known[0]
        outside, up, depth = self.hash, self._up, len(self._open)
        self.hash, self._up, self._open[id(x)] = hashlib.sha256(), depth, depth
        self._described(x)
        del self._open[id(x)]
        found, self.hash = self.hash.digest(), outside
        if self._up == depth:  # it says nothing of what it is in, so it is the same anywhere
            self._done[id(x)] = found, x
            if stays:
                _keep(x, found)
        self._up = min(up, self._up)
        return found

    def _described(self, x: Any) -> None:
        if id(x) in _BY_TEXT_IDS:
            raise UnidentifiedError(f"{getattr(x, '__name__', 'sys.modules')} finds by a text what nothing names")
        if type(x) in (tuple, list):
            self.each(type(x).__name__, x)
        elif type(x) is dict:  # in its order, which a function may follow
            self.each("dict", [part for item in x.items() for part in item])
        elif type(x) in (set, frozenset):
            self.each(type(x).__name__, sorted(identity(entry) for entry in x))
        elif type(x) is np.ndarray and not x.dtype.hasobject:
            self.say("array", f"{x.dtype.descr if x.dtype.names else x.dtype.str} {x.shape}")
            self.say("data", x.tobytes())
        elif isinstance(x, Compilable):
            self.say(type(x).__name__, f"{x.name} {x.digest}")
        elif isinstance(x, FunctionType):
            self._function(x)
        elif isinstance(x, MethodType):
            self.each("method", (x.__func__, x.__self__))
        elif isinstance(x, type):
            self._class(x)
        elif isinstance(x, ModuleType):
            self._module(x, ())
        elif isinstance(x, _CACHED):
            self.value(x.__wrapped__)
        elif isinstance(x, property):
            self.each("property", (x.fget, x.fset, x.fdel))
        elif isinstance(x, staticmethod | classmethod):
            self.each(type(x).__name__, (x.__func__,))
        elif isinstance(x, cached_property):
            self.each("cached", (x.func,))
        elif isinstance(x, BuiltinFunctionType):
            if getattr(x, "__module__", None) is None:  # a method of something
                self.each("method", (x.__name__, x.__self__))
            else:
                self._named(x)
        else:
            self._object(x)

    def _named(self, x: Any) -> None:
        """What is known by its name alone."""
        if not _known(x.__module__):
            raise UnidentifiedError(f"{x!r} is code of {x.__module__}, which cannot be looked into")
        if _finds(x.__module__):
            raise UnidentifiedError(f"{x!r} may lead to what nothing names")
        self.say("name", f"{x.__module__}.{x.__qualname__}")

    # ---- code
    def _function(self, f: FunctionType) -> None:
        known = _known(f.__module__) and f.__globals__ is vars(sys.modules.get(f.__module__, object))
        if known and "<" not in f.__qualname__ and not f.__closure__:
            self._named(f)
            return
        self.say("function", f"{f.__qualname__} {sys.implementation.cache_tag}")
        self.each("defaults", (f.__defaults__, f.__kwdefaults__, vars(f)))
        within: dict[str, object] = cast("Any", f).__builtins__  # typeshed has it or not, by its version
        self._code(f.__code__, None if known else ChainMap(f.__globals__, within))
        for cell in f.__closure__ or ():
            try:
                self.value(cell.cell_contents)
            except ValueError:  # not filled yet
                self.say("empty")

    def _code(self, code: CodeType, names: Mapping[str, object] | None) -> None:
        """A function's code; what it names is looked up in `names`, and is known already where that is None."""
        shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.each("code", (*shape, code.co_code, code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars))
        self.say("exceptions", getattr(code, "co_exceptiontable", b""))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, names)
            else:
                self.value(constant)
        if names is not None:
            self._globals(code, names)

    def _globals(self, code: CodeType, names: Mapping[str, object]) -> None:
        import dis  # needed for functions from outside alone

        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        for imported in sorted({str(s.argval) for s in steps if s.opname == "IMPORT_NAME"}):
            if not _known(imported) or _finds(imported) or imported == "builtins":
                raise UnidentifiedError(f"{code.co_qualname} imports {imported!r} while it runs")
        if not _NAMESPACES.isdisjoint(code.co_names):
            raise UnidentifiedError(f"{code.co_qualname} reads the namespace of a function")
        for name, *attributes in _taken(steps):
            self.say("global", name)
            if name not in names:
                self.say("absent")  # which tracing will say
            elif isinstance(found := names[name], ModuleType):
                self._module(found, attributes)
            else:
                self.value(found)

    def _module(self, module: ModuleType, attributes: Sequence[str]) -> None:
        """A module by what is taken of it: one attribute after the other, or none where it is a value by itself."""
        name = module.__name__
        known = _known(name) and sys.modules.get(name) is module
        leads = _finds(name) or module is builtins
        self.say("module", name)
        if not attributes:
            if leads or not known:
                raise UnidentifiedError(f"the module {name!r} is used as a value, so anything in it may be")
            return
        taken, *rest = attributes
        self.say("attribute", taken)
        if taken not in vars(module):
            if leads or not known:
                raise UnidentifiedError(f"the module {name!r} has no {taken!r} of its own")
            return
        found = vars(module)[taken]
        if isinstance(found, ModuleType):
            self._module(found, rest)
        elif leads or not known or name.partition(".")[0] not in sys.stdlib_module_names:
            self.value(found)
        elif id(found) in _BY_TEXT_IDS:
            self._described(found)

    def _class(self, cls: type) -> None:
        if _known(cls.__module__) and (not cls.__flags__ & _HEAP or _found(cls.__module__, cls.__qualname__) is cls):
            self.say("class", f"{cls.__module__}.{cls.__qualname__}")
            return
        if any(isinstance(entry, _IN_C) for entry in vars(cls).values()):
            raise UnidentifiedError(f"{cls!r} is written in C, which cannot be looked into")
        self.say("class", cls.__qualname__)
        self.each("bases", (type(cls), *cls.__bases__))
        for name, entry in vars(cls).items():
            function = isinstance(entry, FunctionType | property | staticmethod | classmethod)
            if function or not name.startswith(("__", "_abc_")):
                self.say("entry", name)
                self._entry(entry)

    def _entry(self, entry: object) -> None:
        """What a class has under a name; slots and the like are known by that name."""
        if type(entry).__name__ in ("member_descriptor", "getset_descriptor"):
            self.say("slot")
        else:
            self.value(entry)

    # ---- objects
    def _object(self, x: Any) -> None:
        cls = type(x)
        stated = getattr(cls, "compiled_as", None)
        if stated is not None:
            self.each("stated", (cls, stated(x)))
            return
        reduce = copyreg.dispatch_table.get(cls)
        kept: Any = x.__reduce_ex__(4) if reduce is None else reduce(x)
        if isinstance(kept, str):  # a name in its module, and no more
            self._named(x)
            return
        call, arguments, state, items, pairs = [*kept, None, None, None][:5]
        call = "getattr" if call is getattr else call  # of what follows, so nothing unknown is found by it
        self.each("object", (call, arguments, _without_cached(cls, state)))
        self.each("items", items or ())
        self.each("pairs", [part for item in pairs or () for part in item])


def _keep(x: object, digest: bytes) -> None:
    """Notes the hash of what never changes until it ends."""
    at = id(x)

    def forget(ended: weakref.ref[Any]) -> None:
        if (known := _unchanging.get(at)) is not None and known[1] is ended:  # else another has its place already
            del _unchanging[at]

    _unchanging[at] = digest, weakref.ref(x, forget)


def _without_cached(cls: type, state: object) -> object:
    """An object's state without its cached properties; a state with slots is a pair."""
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], dict):
        return _without_cached(cls, state[0]), state[1]
    if not isinstance(state, dict):
        return state
    return {k: v for k, v in state.items() if not isinstance(getattr(cls, k, None), cached_property)}
