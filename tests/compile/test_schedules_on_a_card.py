"""CardSchedule: a lane on a card has the bits that it has in SIMD lanes; the card is the C++ compiler (card.py)."""

from __future__ import annotations

import numpy as np
import pytest

import card
from card import needs_cxx
from elbowroom.algebra import Repeated, Table, sin, trace, where
from elbowroom.algebra.linalg import vector
from elbowroom.compile import compiled
from elbowroom.compile.pipeline import Call, Copy, FromRing, Sound, ToRing
from elbowroom.compile.schedules import card as card_schedule
from elbowroom.compile.schedules import card_text
from elbowroom.compile.schedules.card import CardSchedule
from elbowroom.compile.schedules.lanes import LaneSchedule
from elbowroom.compile.schedules.steps import (
    Around,
    Blend,
    Checks,
    Gather,
    Halt,
    Label,
    LaneTables,
    Repeat,
    Scatter,
    Spread,
    Unfused,
    Where,
)
from elbowroom.errors import ElbowroomError

pytestmark = needs_cxx
TURNS, ROWS = 5, 7


@pytest.fixture(autouse=True)
def on_card(monkeypatch):
    monkeypatch.setattr(card_schedule, "library", lambda: card.cupy)


def call(function, inputs, out, kind=Call, **more):
    kernel = compiled(function, None, {name: x.shape for name, x in inputs.items()}, name=function.__name__)
    return kind(kernel, tuple(inputs.values()), out, **more)


def turned(_, x, by):
    return {"x": vector(x[0] + by[0] * x[1], x[1] - by[0] * x[0])}


def bent(_, x, y):
    return {"sum": vector(*(sin(a) * 0.5 + b * a for a, b in zip(x, y, strict=True))), "first": vector(1.0 / y[0])}


def moved(_, x, v):
    return vector(*(a + 0.9 * b for a, b in zip(x, v, strict=True)))


def counted(_, k, most):
    return {"next": k + 1.0, "more": vector(where(k[0] + 1.0 < most[0], 1.0, 0.0))}


def product(_, x, y, gain, memory):
    return {"found": vector(x @ y * gain[0], x[0]), "new": memory * 0.5 + x[1]}


class Parts:
    """A loop of every kind of step, on arrays with names."""

    def __init__(self, together=False):
        names = {
            "at": 1,
            "x": 3,
            "seen": 3,
            "y": 3,
            "k": 1,
            "most": 1,
            "after": 1,
            "more": 1,
            "mask": 1,
            "kept": 3,
            "given": 3,
            "own": 3,
            "odd": 1,
            "twice": 3,
        }
        names |= {"first": 1, "next": 3, "oldest": 3, "gain": 1, "spin": 2, "spun": 2, "by": 1, "done": 1, "end": 1}
        self.a = {name: np.zeros(size) for name, size in names.items()}
        self.a |= {
            "ring": np.zeros((4, 3)),
            "rows": np.zeros((4, 2)),
            "source": np.zeros((4, 2)),
            "memory": np.zeros((2, 8)),
        }
        self.a |= {"found": np.zeros((5, 2)), "new": np.zeros((2, 8)), "active": np.zeros(1)}
        self.given, self.track = LaneTables(3, together), LaneTables(3, together)
        a = self.a
        program = trace(product, None, {"x": (2,), "y": (2,), "gain": (1,), "memory": (2,)})
        table = compiled(Table(program, (4, 4), ((0, 1, 2, 2, 1), (0, 1, 0, 1, 0)), ("memory", "new")))
        turns = compiled(Repeated(trace(turned, None, {"x": (2,), "by": (1,)}), 3))
        self.halt = Halt(a["end"])
        self.steps = [
            Label("go"),
            Copy(a["source"], a["rows"]),
            Gather(self.given, a["at"], a["seen"]),
            FromRing(a["ring"], a["at"], a["oldest"]),
            call(bent, {"x": a["seen"], "y": a["x"]}, (a["y"], a["first"]), checked=("y",)),
            Call(table, (a["rows"], a["rows"], a["gain"], a["memory"]), (a["found"], a["new"])),
            Copy(a["new"], a["memory"]),
            Call(turns, (a["spin"], a["by"]), a["spun"], checked=()),
            Copy(a["spun"], a["spin"]),
            Where(
                a["mask"],
                [
                    Repeat(
                        [
                            call(counted, {"k": a["k"], "most": a["most"]}, (a["after"], a["more"])),
                            Copy(a["after"], a["k"]),
                        ],
                        a["more"],
                        6,
                    ),
                    Where(
                        a["by"],
                        [
                            call(moved, {"x": a["x"], "v": a["seen"]}, a["own"]),
                            Where(a["odd"], [call(moved, {"x": a["own"], "v": a["seen"]}, a["twice"])]),
                            Blend(a["odd"], a["twice"], a["own"]),
                            Blend(a["mask"], a["own"], a["kept"]),
                        ],
                    ),
                ],
            ),
            Blend(a["by"], a["y"], a["given"]),
            Sound(a["first"]),
            call(moved, {"x": a["x"], "v": a["y"]}, a["next"], Unfused),
            Copy(a["next"], a["x"]),
            ToRing(a["x"], a["ring"], a["at"]),
            Scatter(a["x"], a["at"], self.track),
            call(counted, {"k": a["at"], "most": a["done"]}, (a["after"], a["end"])),
            Copy(a["after"], a["at"]),
            self.halt,
            Around(TURNS),
        ]

    def values(self, lanes, dtype):
        random = np.random.default_rng(3)
        values = {
            name: random.uniform(0.2, 0.9, (lanes, x.size)).astype(dtype)
            for name, x in self.a.items()
            if name != "active"
        }
        for name, choices in {
            "mask": (0, 1),
            "by": (0, 1),
            "odd": (0, 1),
            "most": (1, 2, 9),
            "at": (0, 1),
            "k": (0,),
        }.items():
            values[name] = random.choice(choices, (lanes, 1)).astype(dtype)
        values["done"][:] = -1.0
        values["done"][3:5] = 1e3  # these two end in their first turn
        return values, random.uniform(0.2, 0.9, (lanes, ROWS, 3)).astype(dtype)


def both(dtype, lanes, spoil=lambda values: None, wanted=None, together=False):
    """The same lanes one by one as blocks of SIMD lanes, and all at once on the card."""
    parts, found = Parts(together), []
    values, tables = parts.values(lanes, dtype)
    spoil(values)
    schedule = LaneSchedule(parts.steps, parts.a["active"], dtype)
    for lane in range(lanes):
        for name, own in values.items():
            schedule[parts.a[name]][:] = own[lane][:, None]
        schedule[parts.a["active"]][:] = 0.0
        schedule[parts.a["active"]][0, 0] = 1.0
        track = np.zeros((ROWS, 3), dtype)
        for each in range(schedule.lanes):
            schedule.assign(parts.given, each, np.ascontiguousarray(tables[lane]))
            schedule.assign(parts.track, each, track if each == 0 else np.zeros_like(track))
        ended = schedule.run()
        state = {name: schedule[x][:, 0].copy() for name, x in parts.a.items() if name != "active"}
        found.append((None if isinstance(ended.step, Around) else ended.step, state, track))
    made = CardSchedule(parts.steps, parts.a["active"], dtype, wanted and [parts.a[name] for name in wanted])
    there = made.lanes(lanes)
    for name, own in values.items():
        if wanted is None or name != "new":
            there.set(parts.a[name], own)
    there.assign(parts.given, card.to_card(tables))
    there.blank(parts.track, ROWS)
    there.activate()
    there.run(TURNS)
    return parts, found, made, there, np.asarray(there.table(parts.track, lanes))


SEEN = ("x", "k", "kept", "given", "spin", "memory", "found", "ring", "at", "y", "seen", "oldest")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wanted", [None, SEEN, ("x", "found")])
@pytest.mark.parametrize(("long", "stages", "lists"), [(1, 17, 1), (1000, 3, 0)])
def test_every_kind_of_step_has_the_bits_of_lanes(dtype, long, stages, lists, wanted, monkeypatch):
    """37 lanes: two warps, the second one not full.  In one stage, and where every kernel has its own; all of it, and
    only what somebody wants."""
    monkeypatch.setattr(card_text, "LONG", long)
    parts, found, made, there, tracks = both(dtype, 37, wanted=wanted, together=wanted is not None)
    spared = {None: 0, SEEN: 0, ("x", "found"): 2}[wanted]  # copies: into `memory`, and into what nobody reads
    assert (len(made.stages), made.lists) == (stages - (spared if long == 1 else 0), lists)
    codes = np.asarray(there.ended())
    assert codes.tolist().count(0) > 0
    for lane, (step, state, track) in enumerate(found):
        assert (None if codes[lane] == 0 else made.steps[codes[lane] - 1]) is step
        assert np.array_equal(tracks[lane], track)
        for name in wanted or SEEN:
            assert np.array_equal(np.asarray(there.get(parts.a[name]))[lane], state[name]), (lane, name)
    assert {type(step) for step, *_ in found} == {type(None), Halt}


@pytest.mark.parametrize("long", [1, 1000])
def test_a_lane_that_may_not_go_on_ends_alone(long, monkeypatch):
    def spoil(values):
        values["x"][2, 1] = np.nan  # looked through before the first kernel
        values["x"][5, 0] = 0.0  # 1 / 0: the Sound ends it, on a card the kernel that makes it
        values["source"][7, 5] = np.inf  # in a row of the table
        values["memory"][8, 15] = np.nan  # in a column beyond the last entry
        values["source"][9, 6] = np.nan  # in a row that no entry reads

    monkeypatch.setattr(card_text, "LONG", long)
    parts, found, made, there, _ = both("float64", 40, spoil)
    codes = np.asarray(there.ended())
    names = {2: "bent", 5: "bent", 7: "product", 8: "product", 9: "product"}
    for lane, (step, *_) in enumerate(found):
        ended = None if codes[lane] == 0 else made.steps[codes[lane] - 1]
        assert ended is step or (lane == 5 and isinstance(step, Sound)), lane
        name = names.get(lane)
        if name is not None:
            assert (ended.name if isinstance(ended, Sound) else ended.kernel.name) == name
    active = np.asarray(there.get(parts.a["active"]))[:, 0]
    assert np.array_equal(active != 0.0, codes == 0)


class TestWhereMade:
    """What a later step looks through is looked through by the call that makes it, if every lane does both."""

    def look(self, change=lambda steps, a: steps):
        """bent makes y; `second`, later, looks through it."""
        a = {name: np.ones(3) for name in ("x", "y", "z", "u")} | {name: np.ones(1) for name in ("f", "g", "mask")}
        a["active"] = np.zeros(1)
        first = call(bent, {"x": a["x"], "y": a["z"]}, (a["y"], a["f"]), checked=())
        second = call(bent, {"x": a["y"], "y": a["z"]}, (a["u"], a["g"]), checked=("x",))
        steps = change([first, second], a)
        made = Checks(steps).where_made(steps, [])
        return made.get(id(first), set())

    def test_by_the_call_that_makes_it(self):
        assert self.look() == {0}

    @pytest.mark.parametrize("which", [0, 1])
    def test_not_where_one_of_them_has_a_condition(self, which):
        def change(steps, a):
            steps[which] = Where(a["mask"], [steps[which]])
            return steps

        assert self.look(change) == set()

    def test_not_what_is_written_between(self):
        assert self.look(lambda steps, a: [steps[0], Copy(a["x"], a["y"]), steps[1]]) == set()
        assert self.look(lambda steps, a: [steps[0], Where(a["mask"], [Copy(a["x"], a["y"])]), steps[1]]) == set()

    def test_not_what_is_made_in_part(self):
        long = np.ones(6)
        one = call(bent, {"x": np.ones(3), "y": np.ones(3)}, (long[:3], np.ones(1)), checked=())
        last = call(bent, {"x": long, "y": np.ones(6)}, (np.ones(6), np.ones(1)), checked=("x",))
        assert Checks([one, last]).where_made([one, last], []) == {}

    def test_two_calls_that_make_it_together(self):
        long, a = np.ones(6), {name: np.ones(3) for name in ("x", "z")}
        one, two = (
            call(bent, {"x": a["x"], "y": a["z"]}, (long[at : at + 3], np.ones(1)), checked=()) for at in (0, 3)
        )
        last = call(bent, {"x": long, "y": np.ones(6)}, (np.ones(6), np.ones(1)), checked=("x",))
        steps = [one, two, last]
        assert Checks(steps).where_made(steps, []) == {id(one): {0}, id(two): {0}}


def test_a_lane_goes_on_in_the_next_launch():
    parts, _, _, there, _ = both("float64", 3)
    before = np.asarray(there.get(parts.a["at"])).copy()
    there.run(2)
    after = np.asarray(there.get(parts.a["at"]))
    alive = np.asarray(there.ended()) == 0
    assert np.array_equal(after[alive], before[alive] + 2.0)
    assert np.array_equal(after[~alive], before[~alive])


def test_what_nobody_wanted_is_not_shown():
    parts, _, _, there, _ = both("float64", 3, wanted=("x",))
    with pytest.raises(KeyError, match=r"shape \(3,\) may not be written: name it in `wanted`"):
        there.get(parts.a["y"])


def test_an_array_that_lies_on_another_has_no_numbers_of_its_own():
    parts, _, made, there, _ = both("float64", 3, wanted=("x",))
    with pytest.raises(KeyError, match=r"shape \(2, 8\) lies on the one that it is copied to"):
        there.set(parts.a["new"], np.zeros((3, 16)))
    made[parts.a["new"]][:] = 7.0
    assert not (made[parts.a["memory"]] == 7.0).any()


def test_what_is_wanted_of_a_condition_lies_in_its_own_lane(monkeypatch):
    """Not in the columns of a thread's number, as what a list's steps alone use."""
    monkeypatch.setattr(card_text, "LONG", 1)
    active, mask, x, v, out = np.zeros(1), np.zeros(1), np.zeros(3), np.zeros(3), np.zeros(3)
    steps = [Where(mask, [call(moved, {"x": x, "v": v}, out)]), Around(1)]
    made = CardSchedule(steps, active, "float64", [out])
    lanes, random = made.lanes(40), np.random.default_rng(4)
    xs, masks = random.uniform(1.0, 2.0, (40, 3)), random.integers(0, 2, (40, 1)).astype(float)
    lanes.set(x, xs)
    lanes.set(mask, masks)
    lanes.activate()
    lanes.run(1)
    assert made.lists == 1
    assert np.array_equal(np.asarray(lanes.get(out)), xs * masks)


def test_a_row_that_no_entry_needs_is_looked_through(monkeypatch):
    monkeypatch.setattr(card_text, "LONG", 1)
    active, source, rows, found = np.zeros(1), np.zeros((4, 2)), np.zeros((4, 2)), np.zeros((4, 1))
    program = trace(lambda _, x: {"found": vector(x[0] * x[1])}, None, {"x": (2,)}, name="times")
    times = Call(compiled(Table(program, (4,), ((0, 1, 2, 3),))), (rows,), found, checked=("x",))
    made = CardSchedule([Copy(source, rows), times, Around(1)], active, "float64", [found[2]])
    lanes, values = made.lanes(3), np.ones((3, 4, 2))
    values[1, 0, 0] = np.nan  # of entry 0, which nobody wants
    lanes.set(source, values.reshape(3, 8))
    lanes.activate()
    lanes.run(1)
    assert (np.asarray(lanes.ended()) != 0).tolist() == [False, True, False]


def test_every_process_writes_the_same_text():
    """A card's kernels are kept by their text; addresses of arrays must not show in it."""
    one, kept, other = Parts(), [np.zeros(k) for k in range(50)], Parts()  # arrays between, so that others come first
    texts = [CardSchedule(each.steps, each.a["active"], "float32").text for each in (one, other)]
    assert texts[0] == texts[1]
    assert len(kept) == 50


def test_what_a_card_cannot_do_is_refused():
    active, x, at = np.zeros(1), np.zeros(2), np.zeros(1)
    tables = LaneTables(2)
    with pytest.raises(ElbowroomError, match="Spread"):
        CardSchedule([Spread(tables, at, x), Around(1)], active)
    made = CardSchedule([Gather(tables, at, x), Around(1)], active, "float32")
    lanes = made.lanes(5)
    with pytest.raises(ValueError, match=r"shape \(5, 'rows', 2\); got \(5, 3, 4\)"):
        lanes.assign(tables, card.to_card(np.zeros((5, 3, 4)), "float32"))
    with pytest.raises(ValueError, match="of float32; got float64"):
        lanes.assign(tables, card.to_card(np.zeros((5, 3, 2))))
    with pytest.raises(ElbowroomError, match="tables of rows of 2 numbers were not assigned"):
        lanes.run(1)
