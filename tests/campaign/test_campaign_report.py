"""What a report says is what the table has: counts, pairs, correlations, the worst runs, and pages that play them."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from elbowroom.bench.encounters import run as loop
from elbowroom.campaign import Store, engine, execute, loads, parameters_of, read_rows, replay, schema
from elbowroom.campaign import rows as run_rows
from elbowroom.campaign.distributions import distribution
from elbowroom.campaign.report.sections import page, percent, write
from elbowroom.campaign.report.sensitivity import correlations
from elbowroom.campaign.statistics import (
    EDGES,
    WORST,
    Scenes,
    goals_ratio,
    groups_of,
    look_again,
    quantile,
    summary,
)
from elbowroom.campaign.store import campaign_of, read_manifest
from elbowroom.campaign.touches import ApproachContact, Touch
from elbowroom.errors import ElbowroomError
from elbowroom.experiments import figure_style
from elbowroom.geometry.person import NAMES

stats = pytest.importorskip("scipy.stats")
TEXT = """
title = "<b>Two laws & one sensor</b>"
seed = 7
arm = { choice = ["panda", "ur5e"] }
law = { each = ["K supervised", "K", "still"] }
duration = { choice = [2.0, 4.0] }
sensor.noise = { uniform = [0.0, 0.02] }
sensor.kind = { choice = ["camera", "ideal"] }
limits.human_speed = { normal = [1.8, 0.1], bounds = [1.6, 2.0] }
"""
RUNS = 1000  # 333 scenes of three, and one run more


def made_up(campaign, count, seed=0):
    """Rows of runs that never happened: touches grow with the sensor's noise, goals differ by law."""
    random = np.random.default_rng(seed)
    rows = np.zeros(count, dtype=schema(campaign).dtype)
    scenes = -(-count // 3)
    rows["run"], rows["law"] = np.arange(count), np.arange(count) % 3
    for name, values in {
        "arm": random.integers(2, size=scenes),
        "duration": random.choice([2.0, 4.0], scenes),
        "sensor.noise": random.uniform(0.0, 0.02, scenes),
        "sensor.kind": random.integers(2, size=scenes),
        "limits.human_speed": random.uniform(1.6, 2.0, scenes),
    }.items():
        rows[name] = np.repeat(values, 3)[:count]
    rows["least"] = random.normal(0.3, 0.2, count) - 10.0 * rows["sensor.noise"]
    rows["least"][rows["law"] == 0] += 3.0  # never touched
    touched = rows["touched"] = rows["least"] < 0.0
    rows["approach"] = touched & (random.random(count) < 0.3)
    rows["standing"] = touched & ~rows["approach"]
    rows["contact_speed"] = np.where(touched, random.uniform(0.1, 2.0, count), np.nan)
    rows["contact_part"] = np.where(touched, random.integers(len(NAMES), size=count), -1)
    rows["contact_link"] = np.where(touched, 0, -1)
    rows["goals"] = random.poisson(2.0 + rows["law"])
    return rows


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The folder of a campaign in blocks that part scenes, and all its rows."""
    campaign = loads(TEXT)
    rows = made_up(campaign, RUNS)
    folder = tmp_path_factory.mktemp("report") / "some"
    with Store.create(folder, campaign, RUNS, block=70, files="npy", precision="float64") as store:
        for block in store.blocks:
            store.write(block, rows[block.first : block.first + block.count])
    return folder, rows


@pytest.fixture(scope="module")
def found(table):
    return summary(table[0])


def test_the_campaign_of_a_folder_is_the_one_that_made_it(table):
    assert campaign_of(table[0]) == loads(TEXT)


def test_counts_are_those_of_the_rows(table, found):
    rows, labels = table[1], found.schema.labels
    assert (found.runs, found.asked) == (RUNS, RUNS)
    assert sum(cell.runs for cell in found.cells) == RUNS
    for (arm, law), counts in found.least.items():
        mine = rows[(rows["arm"] == labels["arm"].index(arm)) & (rows["law"] == labels["law"].index(law))]
        assert counts.sum() == len(mine)
        half = np.sort(mine["least"])[(len(mine) - 1) // 2]  # as many as half are not above it
        assert abs(quantile(counts, EDGES, 0.5) - half) <= EDGES[1] - EDGES[0] + 1e-9  # a bin
        assert found.times[arm, law] == mine["duration"].sum()
    hands = [NAMES.index("left_hand"), NAMES.index("right_hand")]
    mine = rows[(rows["law"] == 2) & np.isin(rows["contact_part"], hands)]
    assert found.contacts["still", "hands"].sum() == len(mine)
    assert found.hardest["still", "hands"] == mine["contact_speed"].max()
    assert found.goals["K"] == Counter(rows["goals"][rows["law"] == 1].tolist())


def test_touches_that_a_standing_arm_has_too_are_counted(table, found):
    whole = table[1][: RUNS // 3 * 3].reshape(-1, 3)
    for pair in found.pairs:
        if (pair.this, pair.other) == ("K", "still"):
            mine = whole[whole["arm"][:, 0] == found.schema.labels["arm"].index(pair.arm)]
            assert pair.both == np.count_nonzero(mine["touched"][:, 1] & mine["touched"][:, 2])
            assert pair.both > 0
    text = page(found, read_manifest(table[0]), {})
    assert "Touches that an arm standing still would have had" in text
    assert not found.looked  # no supervised run of it was touched


def test_supervised_touches_are_looked_at_again(table, tmp_path, monkeypatch):
    """Which runs are, and what the page says of them; touches.py is replaced, since these runs never happened."""
    campaign, rows = loads(TEXT), table[1][:90].copy()
    rows["touched"][[0, 3, 6]], rows["approach"][[3, 6]] = True, True
    with Store.create(tmp_path / "out", campaign, 90, block=40, files="npy", precision="float64") as store:
        for block in store.blocks:
            store.write(block, rows[block.first : block.first + block.count])
    contact = ApproachContact(1.0, "wrist", "left hand", 0.02, 0.1, 0.3, 0.05, -0.2, 1.1, 0.1, "elbow and head", 0.4)
    harder = ApproachContact(2.0, "flange", "right hand", 0.01, 0.25, 0.5, 0.05, 0.2, 0.5, 0.0, "", 0.0)
    made = {0: Touch(0, True, True, None), 3: Touch(3, False, True, contact), 6: Touch(6, False, False, harder)}
    monkeypatch.setattr("elbowroom.campaign.statistics.look", lambda of, precision: made[of.number])
    found, seen = summary(tmp_path / "out"), []
    look_again(found, lambda done, total: seen.append((done, total)))
    assert seen == [(0, 3), (1, 3), (2, 3)]
    assert sorted(run for runs in found.looked.values() for run in runs) == [0, 3, 6]
    assert [run for runs in found.approaches.values() for run in runs] == [6, 3]  # the hardest first
    text = page(found, read_manifest(tmp_path / "out"), {3: "worst/000003.html"})
    assert "Approach contacts of supervised laws" in text
    told = [re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL)]
    told = [re.sub(r"[|\s]*\|[|\s]*", "|", row).strip("|") for row in told]
    assert "ur5e|K supervised|2|1|0|1|1|0.25" in told  # one closed by the arm as it began, one that it was leaving
    assert "6|flange|right hand|2.00|10|0.25|0.05|0.20|0.50" in told
    assert "3 ▶|wrist|left hand|1.00|20|0.10|0.05|-0.20|1.10|elbow and head, 0.40" in told
    assert 'href="worst/000003.html"' in text


def test_pairs_are_of_whole_scenes_also_across_blocks(table, found):
    rows = table[1][: RUNS // 3 * 3].reshape(-1, 3)
    for pair in found.pairs:
        mine = rows[rows["arm"][:, 0] == found.schema.labels["arm"].index(pair.arm)]
        this, other = (mine[:, found.schema.labels["law"].index(law)] for law in (pair.this, pair.other))
        assert pair.scenes == len(mine)
        for name in ("touched", "approach"):
            test = loop.paired(this[name].tolist(), other[name].tolist())
            assert pair.discordant[name] == [test.only_this, test.only_other]
        assert pair.goals == Counter(zip(this["goals"].tolist(), other["goals"].tolist(), strict=True))
        direct, counted = loop.ratio(this["goals"], other["goals"]), goals_ratio(pair.goals)
        assert counted.value == pytest.approx(direct.value, rel=1e-12)
        wide = direct.high - direct.low
        assert abs(counted.low - direct.low) < 0.1 * wide  # an end by 2000 draws has a deviation of 0.015 of it
        assert abs(counted.high - direct.high) < 0.1 * wide


def test_a_block_that_is_missing_takes_no_run_for_anothers_pair():
    rows = np.zeros(12, dtype=[("run", "<i8")])
    rows["run"] = np.arange(12)
    scenes = Scenes(3)
    parts = [rows[:4], rows[8:10], rows[10:]]  # 4 to 7 are not there
    assert np.concatenate([scenes.whole(part)["run"] for part in parts]).tolist() == [0, 1, 2, 9, 10, 11]


def test_the_worst_are_the_worst_of_each_law(table, found):
    rows = table[1]
    chosen = [row["run"] for row in found.worst]
    assert len(set(chosen)) == WORST
    for law in range(3):
        mine = rows[rows["law"] == law]
        assert mine["run"][mine["least"].argmin()] in chosen
        if mine["touched"].any():
            assert mine["run"][np.nanargmax(mine["contact_speed"])] in chosen
    first = rows[found.worst[0]["run"]]
    assert first["least"] == rows["least"].min() == found.worst[0]["least"]


def test_touches_by_quarter(table, found):
    rows = table[1][table[1]["law"] == 2]
    edges = [0.0, 0.005, 0.01, 0.015, 0.02]
    for k, (runs, touched) in enumerate(found.shares["still", "sensor.noise"]):
        mine = rows[(rows["sensor.noise"] >= edges[k]) & (rows["sensor.noise"] < edges[k + 1])]
        assert (runs, touched) == (len(mine), mine["touched"].sum())
    assert found.shares["K", "sensor.kind"][:, 0].sum() == (table[1]["law"] == 1).sum()


@pytest.mark.parametrize(
    "draw, labels",
    [
        ({"uniform": [0, 4]}, ["0 to 1", "1 to 2", "2 to 3", "3 to 4"]),
        ({"loguniform": [1, 16]}, ["1 to 2", "2 to 4", "4 to 8", "8 to 16"]),
        ({"integers": [1, 3]}, ["1", "2", "3"]),
        ({"choice": [0.05, 0.02]}, ["0.02", "0.05"]),
        ({"choice": [False, True]}, ["0", "1"]),
        ({"choice": ["b", "a"]}, ["b", "a"]),
        ({"integers": [1, 8]}, ["1 to 3", "3 to 5", "5 to 7", "7 to 8"]),
    ],
)
def test_groups_of_a_distribution(draw, labels):
    draw = distribution(draw, "x")
    groups = groups_of(draw)
    assert [group.label for group in groups] == labels
    values = draw.values(np.linspace(0.0, 1.0, 1000, endpoint=False))
    numbers = [draw.probes.index(v) if isinstance(v, str) else v for v in values]
    assert all(sum(g.low <= v < g.high for g in groups) == 1 for v in numbers)


# ---- which parameters matter


def test_rank_correlations_are_spearmans(found):
    linked = correlations(found.sample, found.schema.labels["law"], ["sensor.noise", "limits.human_speed"], 3)
    for each in linked:
        mine = found.sample[found.sample["law"] == found.schema.labels["law"].index(each.law)]
        wanted = stats.spearmanr(mine[each.parameter], mine[each.outcome]).statistic
        assert each.rank.value == pytest.approx(wanted, abs=1e-9)
        assert each.rank.low < each.rank.value < each.rank.high
    by = {(each.law, each.parameter, each.outcome): each for each in linked}
    assert by["still", "sensor.noise", "least"].rank.high < 0.0
    assert by["still", "sensor.noise", "least"].clear
    assert not by["still", "limits.human_speed", "least"].clear
    width = by["K", "limits.human_speed", "goals"].rank
    assert (width.high - width.low) / 2 == pytest.approx(1.96 / np.sqrt(333), rel=0.15)  # of independent numbers


def test_a_scene_run_twice_says_no_more_than_once(found):
    once = found.sample
    twice = np.repeat(once, 2)
    twice["run"] = 6 * (np.repeat(once["run"], 2) // 3) + np.arange(len(twice)) % 6
    a, b = (correlations(rows, ("K",), ["sensor.noise"], size) for rows, size in ((once, 3), (twice, 6)))
    for x, y in zip(a, b, strict=True):
        assert x.rank.low == pytest.approx(y.rank.low, abs=1e-3)  # ranks of 333 and of 666 are not quite the same
        assert x.rank.high == pytest.approx(y.rank.high, abs=1e-3)


def test_what_never_changes_has_no_correlation(found):
    rows = found.sample.copy()
    rows["goals"] = 3
    linked = correlations(rows, ("K supervised",), ["sensor.noise"], 3)
    assert [np.isnan(each.rank.value) for each in linked] == [False, True]
    assert not linked[1].clear
    assert correlations(rows[:4], ("K supervised",), ["sensor.noise"], 3) == []


# ---- the page


def test_the_page_says_it_and_escapes_what_files_say(table, found):
    text = page(found, read_manifest(table[0]), {found.worst[0]["run"]: "worst/1.html"})
    assert "<b>Two laws" not in text
    assert "&lt;b&gt;Two laws &amp; one sensor&lt;/b&gt;" in text
    quiet = sum(cell.runs for cell in found.cells if cell.law == "K supervised" and cell.arm == "panda")
    bound = 100 * (1 - 0.05 ** (1 / quiet))
    assert f"panda, K supervised: none in {quiet} runs; below {bound:.2g} % of runs" in text
    assert 'href="worst/1.html"' in text
    assert text.count("<svg") == 4
    assert not re.search(r"\bnan\b", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL))
    assert "Not finished" not in text
    assert all(
        f'id="{name}"' in text for name in ("contacts", "least", "speeds", "work", "pairs", "parameters", "worst")
    )


def test_rates_are_clopper_and_pearsons():
    assert percent(0, 1000) == "none: below 0.3 %"
    low, high = stats.binomtest(27, 1000).proportion_ci(0.95, "exact")
    assert percent(27, 1000) == f"2.7 % ({100 * low:.2g} to {100 * high:.2g})"


def test_without_matplotlib_there_are_no_figures_but_all_else(table, found, monkeypatch):
    def none():
        raise ElbowroomError("the figures need matplotlib: pip install '.[report]'")

    monkeypatch.setattr(figure_style, "pyplot", none)
    text = page(found, read_manifest(table[0]), {})
    assert "the figures need matplotlib" in text
    assert "<svg" not in text
    assert "none in" in text


def test_nothing_complete_is_an_error_that_says_so(tmp_path):
    campaign = loads(TEXT)
    Store.create(tmp_path / "none", campaign, 10, files="npy", precision="float64").close()
    with pytest.raises(ElbowroomError, match="no run is complete there"):
        summary(tmp_path / "none")
    with pytest.raises(ElbowroomError, match="no campaign is there"):
        summary(tmp_path)


def test_a_campaign_that_is_not_finished_with_one_law_and_nothing_drawn(tmp_path):
    campaign = loads('law = "still"\nduration = 0.5')
    folder = tmp_path / "part"
    with Store.create(folder, campaign, 40, files="npy", precision="float64") as store:
        store.write(store.missing()[0], run_rows(campaign, 0, 20))
    path = write(folder, summary(folder), {}, "pages need viser")
    text = path.read_text()
    assert "20 of 40 runs are complete" in text
    assert "pages need viser" in text
    assert "Which parameters matter" not in text


# ---- runs to be played


def test_a_page_plays_the_run_of_the_table(tmp_path):
    pytest.importorskip("viser")
    from elbowroom.viewer.replay.encounter import snapshots, write_run

    campaign = loads('law = { each = ["blind", "still"] }\nduration = 3.0\npeople = 2\nseed = 2')
    folder = tmp_path / "played"
    with Store.create(folder, campaign, 20, files="npy", precision="float64") as store:
        execute(campaign, store, engine("local", workers=1))
    rows = read_rows(folder)[0]
    touched = rows[rows["touched"]]
    assert len(touched), "a run with a contact, to be looked at"
    row = touched[touched["goals"].argmax()]
    of = parameters_of(campaign, int(row["run"]))
    again = replay(of)
    shown = list(snapshots(of, again, loop.distances(again.scene, again.track), rate=100.0))
    assert min(each.distance for each in shown) == pytest.approx(row["least"], abs=1e-12)
    assert shown[-1].cycles == row["goals"]
    assert [each.contacts > 0 for each in shown].index(True) == [each.touching for each in shown].index(True)
    assert len(shown[0].people) == 2 * len(NAMES)
    path = tmp_path / "run.html"
    assert write_run(of, path, rate=5.0) == row["least"]  # the same bits
    assert f"run {row['run']}: panda, " in path.read_text()
