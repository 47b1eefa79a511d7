"""A cell of your own: arm, task and people from a TOML file, run in each of its variants.

You learn how a scene is written, what variants are for, and which columns a run leaves behind.
Run with a file name to draw the runs: `python 09_your_own_cell.py runs.png` (needs matplotlib).
"""

import sys
from pathlib import Path

from elbowroom.cell import Cell, Scene, run
from elbowroom.cell.scene import read_file, variants

file = Path(__file__).with_name("cell.toml")
tables = {}
print("variant  plant      least distance  contacts  cycles  status")
for variant in (None, *variants(read_file(file))):
    cell = Cell(Scene.load(file, variant=variant))
    table = run(cell).table()  # as fast as it goes; pace=RealTime(cell.period) for real time
    name, plant = variant or "as is", cell.scene.plant.kind
    least = f"{table['distance_surfaces'].min():.2f} m" if cell.people else "nobody"
    said = ", ".join(sorted(set(table["status"])))
    print(f"{name:8} {plant:10} {least:14}  {table['contacts'][-1]:8}  {table['cycles'][-1]:6}  {said}")
    tables[name] = table

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    figure, (upper, lower) = plt.subplots(2, sharex=True)
    for name, table in tables.items():
        if name != "alone":
            upper.plot(table["t"], table["distance_surfaces"], label=name)
        lower.plot(table["t"], table["tool_y"], label=name)
    upper.set_ylabel("distance, m")
    lower.set(xlabel="s", ylabel="tool y, m")
    lower.legend()
    figure.savefig(sys.argv[1])
