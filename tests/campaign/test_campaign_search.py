"""Searches for the worst: points that a campaign could draw, the same search for a seed, interrupted and resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elbowroom.bench.encounters.people import LIMB_SPEED
from elbowroom.bench.encounters.scene import PERIOD, place, scene
from elbowroom.bench.encounters.script import FIRST, STOP, ScriptedRandom, names
from elbowroom.campaign import Store, StoreError, engine, loads, parameters, read_finds, read_rows
from elbowroom.campaign import runs as runs_
from elbowroom.campaign import search as search_
from elbowroom.campaign.draws import parameters_from
from elbowroom.campaign.engines import Silent
from elbowroom.campaign.finds import Find, write_finds
from elbowroom.campaign.report.search import finds, found, quantiles, write
from elbowroom.errors import ConfigError, ElbowroomError, UnknownNameError

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = 'seed = 3\nlaw = "still"\nduration = 3.0\nsensor.noise = { uniform = [0.0, 0.02] }\n'
CAMPAIGN = loads(TEXT)
SEARCH = search_.over(CAMPAIGN, islands=2, population=6)
RUNS = 60  # five generations


# ---- people who are scripted


class Recorded:
    """A generator that keeps what was drawn as parts of distributions."""

    def __init__(self, seed):
        self._random, self.calls = np.random.default_rng(seed), []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, arguments))
            return getattr(self._random, name)(*arguments)

        return call


def test_a_person_asks_in_the_order_of_the_script():
    """`random` begins a stop; what comes before is of the person, and no stop asks for more than its numbers."""
    from elbowroom.bench.encounters.people import visitor

    for seed in range(20):
        asked = Recorded(seed)
        visitor(asked, [np.array([0.5, 0.0, 0.5])], np.zeros(3), 0.0, 10.0)
        kinds = [name for name, _ in asked.calls]
        first = kinds.index("random")
        assert kinds[:first] == ["uniform"] * len(FIRST)
        stops = " ".join(kinds[first:]).split("random")[1:]
        for stop in stops:
            count = 1 + sum(3 if word == "standard_normal" and k == 1 else 1 for k, word in enumerate(stop.split()))
            assert count in (len(STOP), len(STOP) - 4)


def test_scripted_numbers_are_parts_of_distributions():
    random = ScriptedRandom([0.25, 0.5, 0.75, 0.0, 0.9, 0.999, 0.5], np.random.default_rng(0))
    assert random.uniform(1.0, 3.0) == 1.5
    assert [random.uniform(0.0, 1.0) for _ in range(3)] == [0.5, 0.75, 0.0]
    assert 0.0 <= random.uniform(0.0, 1.0) < 1.0  # beyond what is the person's: drawn, not the stop's number
    assert random.random() == 0.9
    assert random.integers(4) == 3
    assert random.standard_normal() == 0.0
    assert random.standard_normal(3).shape == (3,)  # drawn from the rest
    whole = [0.001 * k for k in range(len(names(2)))]
    random = ScriptedRandom(whole, np.random.default_rng(0))
    assert random.uniform(0.0, 1.0) == whole[0]
    assert random.random() == whole[len(FIRST)]  # a stop begins at its own number, however many were used before
    assert random.uniform(0.0, 1.0) == whole[len(FIRST) + 1]
    assert random.random() == whole[len(FIRST) + len(STOP)]
    assert len(names(2)) == len(FIRST) + 2 * len(STOP)


def test_scripted_people_keep_the_bound_of_limb_speed_and_differ():
    where = place("panda")
    random, seen = np.random.default_rng(5), []
    for _ in range(6):
        script = random.uniform(size=len(names(2)))
        what = scene(where, 1, duration=3.0, limb_speed=1.8, scripts=[script])
        assert np.linalg.norm(np.diff(what.points, axis=0), axis=-1).max() / PERIOD <= 1.8
        seen.append(what.points)
    assert not np.array_equal(seen[0], seen[1])
    again = scene(where, 1, duration=3.0, limb_speed=1.8, scripts=[script])
    assert np.array_equal(again.points, seen[-1])
    assert np.array_equal(again.goals, scene(where, 1, duration=3.0).goals)


def test_evenly_drawn_scripts_are_the_people_of_the_campaign():
    """Where the points of a person are at first: means within 5 standard errors of those of drawn people."""
    where, random = place("panda"), np.random.default_rng(1)
    given = np.array([scene(where, 7, duration=0.1, scripts=[random.uniform(size=4)]).points[0, 0] for _ in range(300)])
    drawn = np.array([scene(where, seed, duration=0.1).points[0, 0] for seed in range(300)])
    for coordinate in range(3):
        a, b = given[..., coordinate].mean(axis=1), drawn[..., coordinate].mean(axis=1)
        assert abs(a.mean() - b.mean()) < 5 * np.sqrt(a.var() / 300 + b.var() / 300)
        assert 0.7 < a.std() / b.std() < 1.4


# ---- the search


def test_what_is_searched_and_what_is_refused():
    assert search_.searched(SEARCH)[0] == "sensor.noise"
    assert len(search_.searched(SEARCH)) == 1 + len(names(2))
    assert search_.generation(SEARCH) == 12
    assert search_.evaluations(SEARCH, 50) == 60
    with pytest.raises(UnknownNameError, match=r"objective: expected one of .* did you mean least-distance"):
        search_.over(CAMPAIGN, "least-distanc")
    with pytest.raises(ElbowroomError, match=r"law: a search has one; got \{'each': \['K', 'F'\]\}"):
        search_.over(loads('law = { each = ["K", "F"] }'))
    with pytest.raises(ElbowroomError, match="population: expected a whole number from 4 on; got 1"):
        search_.over(CAMPAIGN, population=1)


def test_points_are_within_bounds_and_begin_as_random_runs_do():
    points = search_.Search(search_.over(CAMPAIGN, population=200)).points()
    u = np.array([points.values[name] for name in search_.searched(SEARCH)])
    assert u.min() >= search_.LEAST
    assert u.max() <= 1 - search_.LEAST
    assert np.all(np.abs(u.mean(axis=1) - 0.5) < 5 / np.sqrt(12 * u.shape[1]))
    given = parameters(replace(SEARCH, points=points), 3, 2)
    assert given[0].sensor.noise == pytest.approx(0.02 * points.values["sensor.noise"][3])
    assert given[1].scripts == (tuple(points.values[name][4] for name in search_.searched(SEARCH)[1:]),)
    assert given[0].limb_speed == LIMB_SPEED


def create(folder, campaign=SEARCH):
    return Store.create(folder, campaign, RUNS, block=search_.generation(campaign), files="npy", precision="float64")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A search, run through."""
    pytest.importorskip("cma")
    folder = tmp_path_factory.mktemp("search") / "out"
    state = np.random.get_state()[1].copy()
    with create(folder) as store:
        search_.search(SEARCH, store, engine("local", 1))
    assert np.array_equal(np.random.get_state()[1], state)  # NumPy's own generator is left alone
    return folder


def test_the_search_becomes_better_than_random_runs(done):
    """In the mean over the last two generations: 24 runs beside 24 at random of the same scenes' laws."""
    rows = read_rows(done)[0]
    assert rows["least"][-24:].mean() < rows["least"][:24].mean()


@pytest.mark.parametrize("after, workers", [(3, 1), (30, 2)])
def test_the_same_search_interrupted_and_resumed(tmp_path, done, after, workers):
    class Interrupting(Silent):
        def __init__(self):
            self.left = after

        def done(self, runs, steps):
            self.left -= runs
            if self.left <= 0:
                raise KeyboardInterrupt

    out = tmp_path / "out"
    with create(out) as store, pytest.raises(KeyboardInterrupt):
        search_.search(SEARCH, store, engine("local", workers), Interrupting())
    assert len(read_rows(out)[0]) == 12 * ((after - 1) // 12)
    with Store.resume(out, SEARCH, None, precision="float64") as store:
        search_.search(SEARCH, store, engine("local", workers))
    assert read_rows(out)[0].tobytes() == read_rows(done)[0].tobytes()


def test_a_damaged_generation_is_run_again(tmp_path, done):
    out = tmp_path / "out"
    with create(out) as store:
        search_.search(SEARCH, store, engine("local", 1))
    path = out / "blocks/000002.npy"
    path.write_bytes(path.read_bytes()[:-5])
    with Store.resume(out, SEARCH, None, precision="float64") as store:
        assert len(store.damaged) == 1
        search_.search(SEARCH, store, engine("local", 1))
    assert read_rows(out)[0].tobytes() == read_rows(done)[0].tobytes()


def test_another_search_is_not_resumed(tmp_path, done):
    other = search_.over(CAMPAIGN, "contact-speed", islands=2, population=6)
    with pytest.raises(StoreError, match=r'search.objective: "least-distance" there, "contact-speed" here'):
        Store.resume(done, other, None, precision="float64")
    rows, points = read_rows(done)[0][:12], search_.Search(SEARCH).points()
    search_._check(done, SEARCH, points, rows)
    rows["person1.height"][3] += 1e-9
    with pytest.raises(StoreError, match="runs 0 to 11 are not those of this search"):
        search_._check(done, SEARCH, points, rows)


def test_costs_of_objectives():
    rows = np.zeros(3, dtype=runs_.schema(SEARCH).dtype)
    rows["touched"], rows["least"] = [False, True, True], [0.2, -0.1, -0.01]
    rows["contact_speed"], rows["own_speed"] = [np.nan, 0.5, 2.0], [np.nan, 0.3, -0.2]
    assert search_.costs(rows, "least-distance").tolist() == [0.2, -0.1, -0.01]
    assert search_.costs(rows, "contact-speed").tolist() == [10.2, -0.5, -2.0]
    assert search_.costs(rows, "own-speed").tolist() == [10.2, -0.3, 0.2]


# ---- finds


def test_finds_are_run_again_from_the_table_and_from_their_file(tmp_path, done):
    rows, columns = read_rows(done)
    worst = search_.worst(done, SEARCH, 8)
    assert worst["least"][0] == rows["least"].min()
    assert np.unique(worst["seed"], return_counts=True)[1].max() <= 2
    of = parameters_from(SEARCH, worst[0], columns.labels)
    assert runs_.row(of, columns) == worst[0].item()
    summary = found(done)
    write_finds(tmp_path / "finds.toml", finds(summary), "Two lines\nof words")
    again = read_finds(tmp_path / "finds.toml")
    assert again[0].least == worst["least"][0]
    assert replace(again[0].parameters, number=of.number, drawn=of.drawn) == of


def test_a_report_of_a_search(tmp_path, done):
    summary = found(done)
    text = write(done, summary, {int(summary.finds["run"][0]): "worst/1.html"}).read_text()
    assert "60 encounters of a search for the worst: the least distance" in text
    assert 'href="worst/1.html"' in text
    assert f"{1e3 * summary.rows['least'].min():.0f}" in text
    plain = tmp_path / "random"
    with Store.create(plain, CAMPAIGN, 40, files="npy", precision="float64") as store:
        for block in store.missing():
            store.write(block, runs_.rows(CAMPAIGN, block.first, block.count))
    beside = found(done, plain)
    assert len(beside.beside) == 40
    assert quantiles(beside.beside)["least"] == read_rows(plain)[0]["least"].min()
    assert "Beside random runs (random)" in write(done, beside).read_text()
    with pytest.raises(ElbowroomError, match="expected the folder of a search; it holds a campaign of random runs"):
        found(plain)
    with pytest.raises(ElbowroomError, match="expected the folder of a campaign of random runs; it holds a search"):
        found(done, done)


@pytest.mark.parametrize(
    "change, said",
    [
        (("seed = ", "sead = "), "find 1: sead: unknown key; did you mean seed"),
        (("scripts = [[0.5]]", "scripts = [[1.5]]"), "find 1: scripts: expected a list of numbers from 0 to 1"),
        (("sensor.noise = 0.01", "sensor.noise = -1"), "find 1: sensor.noise: expected"),
        (("least = -0.1\n", ""), "find 1: least: is needed"),
    ],
)
def test_finds_that_are_wrong_are_refused_by_name(tmp_path, change, said):
    text = '[[find]]\narm = "panda"\nlaw = "K"\nseed = 4\nleast = -0.1\nscripts = [[0.5]]\nsensor.noise = 0.01\n'
    (tmp_path / "finds.toml").write_text(text)
    assert isinstance(read_finds(tmp_path / "finds.toml")[0], Find)
    (tmp_path / "finds.toml").write_text(text.replace(*change))
    with pytest.raises(ConfigError) as caught:
        read_finds(tmp_path / "finds.toml")
    assert said in str(caught.value)
