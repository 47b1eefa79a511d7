"""What a value is, as a hash: another once anything in it changes, the same otherwise, none where it cannot be told."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import importlib
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

import elbowroom as er
from elbowroom.algebra import sin, trace
from elbowroom.compile.identity import UnidentifiedError, identity
from elbowroom.errors import UnknownNameError
from elbowroom.geometry.person import Sizes, skeleton_rows

GAIN = 2.0
TABLE = {"a": [1.0, 2.0]}


def formula(_, x):
    return GAIN * sin(x[0])


def through_another(_, x):
    return formula(_, x) + 1.0


def in_a_table(_, x):
    return TABLE["a"][1] * x[0]


def in_a_comprehension(_, x):
    return sum([GAIN * each for each in x])


class Law:
    def __init__(self, gain):
        self.gain = gain

    def __call__(self, _, x):
        return self._scaled(x[0])

    def _scaled(self, x):
        return self.gain * x

    @functools.cached_property
    def double(self):
        return 2 * self.gain


class Slotted:
    __slots__ = ("gain",)

    def __init__(self, gain):
        self.gain = gain


@dataclasses.dataclass
class Settings:
    gain: float
    names: tuple[str, ...] = ("a",)
    extra: dict[str, float] = dataclasses.field(default_factory=dict)


class Kind(enum.Enum):
    FIRST = 1
    SECOND = 2


def enclosing(gain):
    return lambda _, x: gain * x[0]


def defaulting(gain):
    def f(_, x, k=gain, *, m=gain):
        return k * m * x[0]

    return f


def attributed(gain):
    def f(_, x):
        return f.gain * x[0]

    f.gain = gain
    return f


def itself():
    values = [1.0]
    values.append(values)
    return values


def recursive(gain):
    def f(_, x, depth=3):
        return gain * x[0] if depth == 0 else f(_, x, depth - 1)

    return f


SAME = {
    "numbers": lambda: (1, 1.0, -0.0, math.inf, 1 + 2j, None, True, "a", b"a"),
    "containers": lambda: ([1, (2, {3, "x"})], {"a": frozenset({1})}, range(3), slice(1, None)),
    "arrays": lambda: (np.arange(6.0).reshape(2, 3)[:, ::2], np.float32(0.1), np.array([1, "a", None], dtype=object)),
    "a function": lambda: formula,
    "a closure": lambda: enclosing(2.0),
    "a recursion": lambda: recursive(2.0),
    "a partial": lambda: functools.partial(formula, x=1),
    "an object": lambda: Law(2.0),
    "a bound method": lambda: Law(2.0)._scaled,
    "a dataclass": lambda: Settings(1.0),
    "an enum": lambda: Kind.SECOND,
    "a class": lambda: Law,
    "a model": lambda: er.load("planar2").model,
    "ours": lambda: (skeleton_rows, Sizes(), er.Arm),
    "functions of NumPy and Python": lambda: (np.sin, np.linalg.norm, math.sin, len, str.join, [1].append),
    "what contains itself": itself,
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_equal_values_are_the_same(make):
    assert identity(make()) == identity(make())


def test_what_is_shared_counts_as_what_is_equal():
    point = (1.0, [2.0])
    assert identity([point, point]) == identity([(1.0, [2.0]), (1.0, [2.0])])


def test_a_cached_property_changes_nothing():
    law = Law(2.0)
    before = identity(law)
    assert law.double == 4.0
    assert identity(law) == before


DIFFERENT = {
    "types": [1, 1.0, True, "1", b"1", np.float64(1), np.float32(1), (1,), [1], {1}, {1: None}],
    "signs": [0.0, -0.0, math.nan, math.inf, -math.inf],
    "nesting": [((1,), 2), (1, (2,)), (1, 2), ((1, 2),)],
    "texts": ["ab", ("a", "b"), ("ab",), "a b"],
    "order": [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
    "arrays": [np.zeros(4), np.zeros((2, 2)), np.zeros(4, np.float32), np.zeros(4, int), [0.0] * 4, np.ones(4)],
    "object arrays": [np.array([1, None], dtype=object), np.array([2, None], dtype=object)],
    "closures": [enclosing(2.0), enclosing(3.0)],
    "defaults": [defaulting(2.0), defaulting(3.0)],
    "attributes of a function": [attributed(2.0), attributed(3.0)],
    "recursions": [recursive(2.0), recursive(3.0)],
    "lambdas": [lambda _, x: x[0] + 1.0, lambda _, x: x[0] + 2.0, lambda _, x: x[0] - 1.0, lambda _, y: y[0] + 1.0],
    "partials": [functools.partial(formula, x=1), functools.partial(formula, x=2), functools.partial(in_a_table, x=1)],
    "objects": [Law(2.0), Law(3.0), Slotted(2.0), Slotted(3.0), types.SimpleNamespace(gain=2.0)],
    "bound methods": [Law(2.0)._scaled, Law(3.0)._scaled, Law._scaled],
    "cached functions": [functools.cache(enclosing(2.0)), functools.cache(enclosing(3.0))],
    "dataclasses": [Settings(1.0), Settings(2.0), Settings(1.0, ("b",)), Settings(1.0, extra={"c": 1.0})],
    "enums": [Kind.FIRST, Kind.SECOND],
    "random numbers": [np.random.default_rng(0), np.random.default_rng(1)],
    "arms": [er.load("planar2").model, er.load("planar2").with_payload(0.1).model],
    "ours": [skeleton_rows, sin, Sizes(), Sizes(head=0.2)],
}


@pytest.mark.parametrize("values", DIFFERENT.values(), ids=DIFFERENT)
def test_different_values_differ(values):
    assert len({identity(value) for value in values}) == len(values)


@pytest.mark.parametrize("f", [formula, through_another, in_a_comprehension, functools.partial(through_another, x=1)])
def test_a_global_that_a_function_names_is_part_of_it(f, monkeypatch):
    before = identity(f)
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert identity(f) != before


def test_the_content_of_a_global_is_part_of_it(monkeypatch):
    before = identity(in_a_table)
    monkeypatch.setitem(TABLE, "a", [1.0, 5.0])
    assert identity(in_a_table) != before


def test_a_global_that_it_does_not_name_is_none_of_its_business(monkeypatch):
    before = identity(in_a_table)
    monkeypatch.setitem(globals(), "GAIN", 3.0)
    assert identity(in_a_table) == before


def test_a_method_of_the_class_is_part_of_an_object(monkeypatch):
    before = identity(Law(2.0))
    monkeypatch.setattr(Law, "_scaled", lambda self, x: self.gain * x * x)
    assert identity(Law(2.0)) != before


def test_attributes_of_another_module_are_followed(tmp_path, monkeypatch):
    (tmp_path / "gains_of_a_user.py").write_text("GAIN = 2.0\nOTHER = 1.0\ndef half(x):\n    return 0.5 * x\n")
    (tmp_path / "law_of_a_user.py").write_text(
        "import gains_of_a_user as g\ndef law(_, x):\n    return g.half(x[0]) * g.GAIN\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    gains, law = (importlib.import_module(name) for name in ("gains_of_a_user", "law_of_a_user"))
    before = identity(law.law)
    gains.OTHER = 2.0
    assert identity(law.law) == before
    gains.GAIN = 3.0
    with_another = identity(law.law)
    assert with_another != before
    gains.half = lambda x: 0.25 * x
    assert identity(law.law) != with_another


MODULES_AS_VALUES = {
    "a closure": "def make():\n    import helper as h\n    return lambda _, x: h.G * x[0]\nf = make()",
    "a parameter of a factory": "def make(h):\n    return lambda _, x: h.G * x[0]\nf = make(helper)",
    "the subject": "f = (lambda h, x: h.G * x[0], helper)",
    "a default": "def f(_, x, h=helper): return h.G * x[0]",
    "a default by keyword": "def f(_, x, *, h=helper): return h.G * x[0]",
    "an attribute of a class": "class Law:\n    h = helper\n    def f(self, _, x): return self.h.G * x[0]\nf = Law().f",
    "an attribute of an object": (
        "class Law:\n    def __init__(self): self.h = helper\n    def f(self, _, x): return self.h.G\nf = Law().f"
    ),
    "an attribute of a function": "def f(_, x): return f.h.G * x[0]\nf.h = helper",
    "a list": "hs = [helper]\ndef f(_, x): return hs[0].G * x[0]",
    "a local name": "def f(_, x):\n    h = helper\n    return h.G * x[0]",
    "an argument": "def g(h): return h.G\ndef f(_, x): return g(helper) * x[0]",
    "a choice": "def f(_, x): return (helper if x else helper).G * x[0]",
    "a partial": "import functools\nf = functools.partial(lambda h, _, x: h.G * x[0], helper)",
    "a module with a known name": "import types\nm = types.ModuleType('numpy')\nm.G = 2\nf = lambda _, x, m=m: m.G",
}
BY_TEXT = {
    "getattr": "def f(_, x): return getattr(helper, 'G') * x[0]",
    "getattr by another name": "of = getattr\ndef f(_, x): return of(_, 'G') * x[0]",
    "globals": "g = helper.G\ndef f(_, x): return globals()['g'] * x[0]",
    "vars": "def f(_, x): return vars(helper)['G'] * x[0]",
    "__dict__": "def f(_, x): return helper.__dict__['G'] * x[0]",
    "__globals__": "g = helper.G\ndef f(_, x): return f.__globals__['g'] * x[0]",
    "eval": "def f(_, x): return eval('helper.G') * x[0]",
    "eval of builtins": "import builtins\ndef f(_, x): return builtins.eval('helper.G') * x[0]",
    "eval of builtins within": "def f(_, x):\n    import builtins\n    return builtins.eval('helper.G') * x[0]",
    "exec": "def f(_, x):\n    d = {}\n    exec('from helper import G', d)\n    return d['G'] * x[0]",
    "in an inner function": "def f(_, x):\n    def g(): return eval('helper.G')\n    return g() * x[0]",
    "__import__": "def f(_, x): return __import__('helper').G * x[0]",
    "sys.modules": "import sys\ndef f(_, x): return sys.modules['helper'].G * x[0]",
    "sys.modules within": "def f(_, x):\n    import sys\n    return sys.modules['helper'].G * x[0]",
    "sys.modules by name": "from sys import modules\ndef f(_, x): return modules['helper'].G * x[0]",
    "sys in a list": "import sys\ns = [sys]\ndef f(_, x): return s[0].modules['helper'].G * x[0]",
    "sys of another module": "import os\ndef f(_, x): return os.sys.modules['helper'].G * x[0]",
    "import_module": "import importlib\ndef f(_, x): return importlib.import_module('helper').G * x[0]",
    "import_module by name": "from importlib import import_module as m\ndef f(_, x): return m('helper').G * x[0]",
    "import_module within": (
        "def f(_, x):\n    from importlib import import_module\n    return import_module('helper').G * x[0]"
    ),
    "an attribute made on demand": "helper.__getattr__ = lambda name: 2.0\ndef f(_, x): return helper.other * x[0]",
}
ANYWHERE = MODULES_AS_VALUES | BY_TEXT


@pytest.fixture
def helper(monkeypatch):
    """A module of a user."""
    module = types.ModuleType("helper")
    module.G = 2.0
    monkeypatch.setitem(sys.modules, "helper", module)
    return module


def of_a_user(text):
    names = {"__name__": "script_of_a_user"}
    exec("import helper\n" + text, names)
    return names["f"]


@pytest.mark.parametrize("text", ANYWHERE.values(), ids=ANYWHERE)
def test_what_may_lead_anywhere_in_a_module_has_no_identity(helper, text):
    f = of_a_user(text)
    with pytest.raises(UnidentifiedError):
        identity(f)


@pytest.mark.parametrize(
    "text", ["def f(_, x): return g * x[0]", "import builtins\ndef f(_, x): return builtins.g * x[0]"]
)
def test_what_a_program_puts_into_builtins_is_followed(helper, monkeypatch, text):
    f = of_a_user(text)
    found = {identity(f)} if "builtins" not in text else set()
    for gain in (2.0, 3.0):
        monkeypatch.setattr(builtins, "g", gain, raising=False)
        found.add(identity(f))
    monkeypatch.setattr(builtins, "g", helper)
    with pytest.raises(UnidentifiedError):
        identity(f)
    assert len(found) == (3 if "builtins" not in text else 2)


def test_attributes_of_a_module_within_a_module_are_followed(helper):
    helper.inner = types.ModuleType("helper.inner")
    helper.inner.G = 2.0
    f = of_a_user("def f(_, x): return helper.inner.G * x[0]")
    before = identity(f)
    helper.G = 3.0
    assert identity(f) == before
    helper.inner.G = 3.0
    assert identity(f) != before


KNOWN_MODULES = {
    "as a value": "import math, numpy\nms = [math, numpy]\ndef f(_, x): return ms[0].pi * ms[1].sin(x[0])",
    "by attributes": "import os, numpy as np\ndef f(_, x): return np.linalg.norm(x) * len(os.path.join('a', 'b'))",
    "in a closure": "def make():\n    import math\n    return lambda _, x: math.pi * x[0]\nf = make()",
    "of ours": "import elbowroom as er\ndef f(_, x, d=er.dynamics): return er.algebra.sin(x[0])",
    "builtins": "def f(_, x): return sum(max(abs(y), len(x)) for y in x) if isinstance(x, list) else print(x)",
    "numbers of sys": "import sys\ndef f(_, x): return sys.float_info.epsilon * x[0]",
}


@pytest.mark.parametrize("text", KNOWN_MODULES.values(), ids=KNOWN_MODULES)
def test_what_is_known_by_name_has_an_identity(helper, text):
    assert identity(of_a_user(text)) == identity(of_a_user(text))


@pytest.mark.parametrize("names", [{}, {"__name__": "numpy"}, {"__name__": "elbowroom.cell.plants.drive"}])
def test_code_that_only_says_it_is_ours_is_looked_into(names):
    """As notebooks and pages run it, in a namespace that may have no name, or any."""
    text = (
        "def f(x): return {0} * x\nclass Law:\n    gain = {0}\n    def f(self, x): return self.gain * x\nlaw = Law()\n"
    )
    found = []
    for gain in (1.0, 2.0):
        names = dict(names)
        exec(text.format(gain), names)
        found += [identity(names[name]) for name in ("f", "Law", "law")]
    assert len(set(found)) == len(found)


def imports_within(_, x):
    import hypothesis

    return x[0] * len(hypothesis.__name__)


def imports_what_is_known(_, x):
    import math

    from elbowroom.algebra import cos

    return math.pi * cos(x[0])


UNKNOWN = {
    "a lock": threading.Lock(),
    "a function with one": functools.partial(formula, lock=threading.Lock()),
    "an open file": sys.__stderr__,
    "an import of another library": imports_within,
    "a generator": (x for x in ()),
    "a mapping proxy": types.MappingProxyType({}),
}


@pytest.mark.parametrize("value", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_known_has_no_identity(value):
    with pytest.raises(UnidentifiedError):
        identity(value)


def test_code_in_c_of_another_library_has_no_identity():
    mujoco = pytest.importorskip("mujoco")
    for value in (mujoco.mj_step, mujoco.MjModel, functools.partial(mujoco.mj_step, 1)):
        with pytest.raises(UnidentifiedError):
            identity(value)


def test_imports_of_what_is_known_do_no_harm():
    assert identity(imports_what_is_known) == identity(imports_what_is_known)


def test_it_is_the_same_in_another_process():
    text = textwrap.dedent(
        """
        import elbowroom as er
        from elbowroom.compile.identity import identity
        gain = 2.0
        def helper(x): return {"a", "b", "c"}, gain * x
        class Law:
            def __init__(self): self.k = (1.0, [2])
            def __call__(self, model, q): return helper(q) + self.k
        print(identity(Law(), helper, er.load("planar2").model, frozenset(map(str, range(50)))))
        """
    )
    said = set()
    for seed in ("0", "1"):  # of hashes, which order sets
        run = subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env=dict(os.environ, PYTHONHASHSEED=seed),
        )
        said.add(run.stdout)
    assert len(said) == 1


def test_a_pickled_value_is_the_same():
    for value in (Law(2.0), Settings(1.0), er.load("planar2").model, np.arange(3.0), Kind.FIRST):
        assert identity(pickle.loads(pickle.dumps(value))) == identity(value)


def test_a_program_goes_by_its_content():
    def traced(gain):
        return trace(enclosing(gain), None, {"x": (1,)}, name="f")

    assert identity(traced(2.0)) == identity(traced(2.0))
    assert identity(traced(2.0)) != identity(traced(3.0))


def test_the_registry_of_formulations_is_followed(monkeypatch):
    """Another function under a known name is another choice."""
    what = er.dynamics.quantity("gravity_torque")
    choice = er.dynamics.Choice("gravity_torque", "mine")
    with pytest.raises(UnknownNameError):
        choice(er.load("planar2").model)
    found = set()
    for gain in (1.0, 2.0):
        mine = er.dynamics.Formulation("mine", lambda model, q, gain=gain: gain * q)
        monkeypatch.setitem(what.formulations, "mine", mine)
        found.add(identity(choice))
    assert len(found) == 2


# ---- what never changes
class _Frozen:
    unchanging = True

    def __init__(self, value):
        self.value = value


class _Thawed(_Frozen):
    """Says nothing of its own, so it may change."""


def _looked_into(monkeypatch, *values):
    """Which of these a second identity looks into."""
    from elbowroom.compile import identity as room

    identity(values)
    seen, described = [], room._Walk._described
    monkeypatch.setattr(room._Walk, "_described", lambda self, x: (seen.append(id(x)), described(self, x))[1])
    identity(values)
    return [value for value in values if id(value) in seen]


def test_what_never_changes_is_looked_into_once(monkeypatch):
    model, frozen, thawed, law = er.load("panda").model, _Frozen(1.0), _Thawed(1.0), Law(1.0)
    assert _looked_into(monkeypatch, model, frozen, thawed, law) == [thawed, law]


def test_what_may_change_is_another_when_it_has():
    thawed = _Thawed(1.0)
    before = identity(thawed)
    thawed.value = 2.0
    assert identity(thawed) != before


def test_equal_models_are_one_and_another_at_the_same_place_is_another():
    first, same = er.chains.random(3, seed=1).model, er.chains.random(3, seed=1).model
    assert first is not same
    assert identity(first) == identity(same)
    found = set()
    for k in range(20):  # each has the place in memory of the one before, mostly
        found.add(identity(_Frozen(float(k))))
    assert len(found) == 20
