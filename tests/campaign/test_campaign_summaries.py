"""Summaries of a campaign: what is kept of a row, and the whole table out of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from elbowroom.campaign import Store, loads, read_rows, rows, schema
from elbowroom.campaign.runs import METRICS
from elbowroom.campaign.search import over
from elbowroom.campaign.store import StoreError, convert
from elbowroom.campaign.summaries import SUMMARY
from elbowroom.export import urdf
from elbowroom.loading import load

FILE = """
arm = "{arm}"
law = {{ each = ["still", "blind"] }}
people = {{ integers = [1, 2] }}
duration = {{ choice = [0.1, 0.2] }}
sensor.noise = {{ uniform = [0.0, 0.02] }}
limits.reaction = 0.05
"""


def table(folder, text, files, runs=10):
    campaign = loads(text)
    with Store.create(folder, campaign, runs, block=4, files=files, precision="float64") as store:
        for block in store.missing():
            store.write(block, rows(campaign, block.first, block.count))
    return campaign


@pytest.fixture
def text():
    return FILE.format(arm="planar2").replace("limits.reaction = 0.05\n", "")


def alike(found, expected):
    """All but the single precision of what was measured."""
    single = {name for name, kind in METRICS if kind == "<f8"} - {"least"}
    for name in expected.dtype.names:
        wanted = expected[name].astype(np.float32) if name in single else expected[name]
        there = found[name].astype(np.float32) if name in single else found[name]
        np.testing.assert_array_equal(there, wanted, err_msg=name)


def test_a_summary_is_the_table_in_53_bytes_a_run(tmp_path, text):
    campaign = table(tmp_path / "small", text, "summary")
    expected = rows(campaign, 0, 10)
    found, columns = read_rows(tmp_path / "small")
    assert found.dtype == schema(campaign).dtype
    assert columns.labels == schema(campaign).labels
    alike(found, expected)
    assert SUMMARY.itemsize == 53
    assert len({*zip(expected["law"], expected["people"], expected["duration"], strict=True)}) > 3  # it could be wrong


@pytest.mark.parametrize("files", ["npy", "summary"])
def test_the_same_table_in_other_files(tmp_path, text, files):
    table(tmp_path / "small", text, "summary")
    store = convert(tmp_path / "small", tmp_path / "other", files)
    assert (store.done, store.runs) == (10, 10)
    assert read_rows(tmp_path / "other")[0].tobytes() == read_rows(tmp_path / "small")[0].tobytes()
    with pytest.raises(StoreError, match="other: is not empty; expected a new folder"):
        convert(tmp_path / "small", tmp_path / "other", files)


def test_what_was_made_of_summaries_takes_no_more_runs(tmp_path, text):
    campaign = table(tmp_path / "small", text, "summary")
    convert(tmp_path / "small", tmp_path / "other", "npy")
    with pytest.raises(StoreError, match="was made of summaries, in single precision"):
        Store.resume(tmp_path / "other", campaign, 20, precision="float64")
    with Store.resume(tmp_path / "small", campaign, 20, precision="float64") as store:
        assert len(store.missing()) == 3  # the last block has more runs now


def test_the_arms_file_is_not_needed_to_convert(tmp_path):
    path = tmp_path / "my.urdf"
    path.write_text(urdf(load("planar2").model))
    text = FILE.format(arm=path).replace("limits.reaction = 0.05\n", "")
    table(tmp_path / "small", text, "summary")
    before = read_rows(tmp_path / "small")
    path.write_text(path.read_text().replace("link", "zzz"))  # words of other links come first now
    convert(tmp_path / "small", tmp_path / "changed", "npy")
    path.unlink()
    convert(tmp_path / "small", tmp_path / "gone", "npy")
    for name in ("changed", "gone"):
        found, columns = read_rows(tmp_path / name)
        assert found.tobytes() == before[0].tobytes()
        assert columns.labels == before[1].labels


def test_another_version_that_draws_otherwise_is_noticed(tmp_path, text):
    table(tmp_path / "small", text, "summary")
    path = tmp_path / "small" / "campaign.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "drawn": "0" * 16}))
    with pytest.raises(StoreError, match="this version draws other parameters than the one that made it"):
        read_rows(tmp_path / "small")


def test_a_search_has_no_summaries(tmp_path):
    campaign = over(loads('arm = "planar2"\nlaw = "still"\nduration = 0.1\n'), "least-distance")
    with pytest.raises(StoreError, match="summaries are of runs that a file draws, not of a search's"):
        Store.create(tmp_path / "small", campaign, 8, files="summary", precision="float64")
