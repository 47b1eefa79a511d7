"""Record a run, read the file back, and draw it.

You learn where a run's numbers are: a CSV file with a row a cycle, which gives the same float64 back, and which
`elbowroom replay` shows again in the browser.  Run with the name of a folder to keep the files:
`python 10_replay_and_plot.py here` (the picture needs matplotlib).
"""

import sys
import tempfile
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import numpy as np

from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.recording.table import read
from elbowroom.cell.runner import record_to


def draw(table, path):
    """The distance over time, and the task's states under it."""
    from matplotlib.figure import Figure  # needs no screen

    figure = Figure(figsize=(8, 3), layout="constrained")
    axis = figure.subplots()
    axis.plot(table["t"], table["distance_surfaces"], color="black")
    axis.set(xlabel="time, s", ylabel="arm to person, m", xlim=(0, table["t"][-1]), ylim=(0, 2))
    for k, (state, rows) in enumerate(groupby(range(len(table["t"])), key=lambda row: table["state"][row])):
        rows = list(rows)
        start, end = table["t"][rows[0]], table["t"][rows[-1]]
        axis.axvspan(start, end, color="0.93" if k % 2 else "0.98", zorder=0)
        axis.text((start + end) / 2, 0.04, state.replace("_", "\n"), ha="center", va="bottom", fontsize=7)
    figure.savefig(path, dpi=150)


with tempfile.TemporaryDirectory() as temporary:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "run.csv"

    cell = Cell(Scene.load(Path(__file__).with_name("cell.toml")))
    recording = record_to(cell, file, notes={"made by": "an example"}, replace=True)
    run(cell, recording)

    table = read(file)  # columns by name, as arrays
    same = all(
        np.array_equal(table[name], column, equal_nan=column.dtype.kind == "f")
        for name, column in recording.table().items()
    )
    print(f"{file.name}: {table.rows} rows, {file.stat().st_size / 1e6:.1f} MB; the same numbers as in memory: {same}")
    print("its notes:", ", ".join(name for name in table.notes))

    near = int(np.argmin(table["distance_surfaces"]))
    print(f"\nnearest at {table['t'][near]:.2f} s: {table['distance_surfaces'][near]:.2f} m; then, and a second later:")
    for row in (near, min(near + 100, table.rows - 1)):
        tool = ", ".join(f"{table[f'tool_{axis}'][row]:.2f}" for axis in "xyz")
        said = f"{table['state'][row]}, {table['status'][row]}"
        print(f"  {table['t'][row]:5.2f} s  {said:20} tool at ({tool}) m")

    print("\nhow long the task was in each state:")
    for state in dict.fromkeys(table["state"]):
        print(f"  {state:10} {np.sum(table['state'] == state) * cell.period:5.2f} s")

    if find_spec("matplotlib") is None:
        print("\nno picture: pip install '.[report]'")
    else:
        draw(table, folder / "distance.png")
        print(f"\ndrawn: distance.png, {(folder / 'distance.png').stat().st_size // 1000} kB")
    if len(sys.argv) > 1:
        print(f"\nSee it move again:  elbowroom replay {file}")
    else:
        print(f"\nThe files are gone now.  To keep them:  python {sys.argv[0]} here;  elbowroom replay here/run.csv")
