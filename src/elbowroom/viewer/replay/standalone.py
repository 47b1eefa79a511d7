"""One HTML file that plays a run in 3D, offline: viser's client, the recorded scene, and a sheet with the numbers.

    write((replay.snapshot(t) for t in times), "run.html", rate=30.0, title="Pick and place")

viser's player has play and pause (space), a slider for time and a choice of speed.  It keeps the scene but no panel, so
the sheet is ours: a script looks at the player's time and says what was going on then.  The file's content policy
forbids it to reach for anything outside itself.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from typing import NamedTuple

from ...errors import ConfigError, ElbowroomError
from ...reading import write_whole
from ..access.server import open_page
from ..panel.status import detail, facts, judged
from ..scene3d.scene import PageScene
from ..snapshot import Snapshot

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: data:; worker-src blob: data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)
SAFETY = "Not a safety-rated device"
MOST = 100_000  # snapshots: an hour at 30 a second is more than anybody watches

# As access/server.py does for the live page: messages are taken in between two frames, so that all of a snapshot
# is seen in the next.  The client does so while its page is hidden, and nothing else in it asks for that.  Its player
# sends 120 times a second what is due; here it does once a frame, after it was drawn.  The slider, from which the sheet
# knows the time, is renewed when React finds the time, and that may be a frame later; what a click does it shows at
# once.
# At its end the player says 0 and leaves the scene as it is until it is called once more.
ONE_STATE = """<script>(() => {
  const plain = window.setInterval, button = document.createElement("i");
  Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
  window.setInterval = (does, every, ...given) => {
    if (!(every < 10)) return plain(does, every, ...given);
    let due = true;
    return plain(() => {
      if (!due && document.visibilityState === "visible") return;
      due = false;
      requestAnimationFrame(() => { due = true; });
      const play = () => button.dispatchEvent(new Event("click"));
      button.onclick = () => does(...given);
      play();
      queueMicrotask(() => {  // after React's own
        const slider = document.querySelector('[role="slider"][aria-valuenow]');
        if (slider && parseFloat(slider.getAttribute("aria-valuenow")) === 0) play();
      });
    }, every);
  };
})();</script>"""

STYLE = """
#sheet { position: fixed; z-index: 5; top: 0; bottom: 0; left: 0; width: 290px; box-sizing: border-box; overflow: auto;
  padding: 12px 14px; background: #ffffff; color: #1d2b33; border-right: 1px solid #d5dade;
  font: 12px/1.4 system-ui, sans-serif; }
/* beside the scene, not over it; in a narrow window above it */
#root { position: fixed; inset: 0 0 0 290px; width: auto !important; height: auto !important;
  transform: translate(0); overflow: hidden; }
@media (max-width: 700px) {
  #sheet { bottom: auto; right: 0; width: auto; height: 150px; border-right: 0; border-bottom: 1px solid #d5dade; }
  #root { inset: 150px 0 0 0; }
}
#sheet h1 { margin: 0 0 2px; font-size: 12px; font-weight: 600; color: #52636d; overflow-wrap: anywhere; }
#sheet p { margin: 0; }
#now { font-size: 15px; font-weight: 600; line-height: 1.25; min-height: 2.5em; }
#now::before { content: "\\25CF"; margin-right: 0.35em; color: var(--colour, #7b858c); }
#facts { color: #52636d; font-variant-numeric: tabular-nums; }
#sheet svg { display: block; width: 100%; height: 48px; margin: 6px 0 1px; }
#sheet small { font-size: 11px; color: #52636d; }
#safety { margin-top: 4px !important; font-weight: 600; }
"""

SHEET = """
<aside id="sheet" aria-live="off">
  <h1>{title}</h1>
  <p id="now"></p>
  <p id="facts"></p>
  <svg viewBox="0 0 300 64" preserveAspectRatio="none" role="img" aria-label="distance to the nearest person over time">
    <line x1="0" x2="300" y1="63" y2="63" stroke="#b9c4ca" vector-effect="non-scaling-stroke"></line>
    <polyline id="curve" fill="none" stroke="#265c7a" stroke-width="1.6" vector-effect="non-scaling-stroke"></polyline>
    <line id="cursor" y1="0" y2="64" stroke="#d6783c" stroke-width="1.6" vector-effect="non-scaling-stroke"></line>
  </svg>
  <small id="scale"></small>
  <p id="safety">{safety}.</p>
</aside>
"""

SCRIPT = """
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const [now, facts, cursor] = ["now", "facts", "cursor"].map((id) => document.getElementById(id));
  const last = run.frames.length - 1, top = run.top;
  if (top > 0) {
    document.getElementById("curve").setAttribute("points", run.frames.map(([, d], k) =>
      d === null ? "" : (300 * k / Math.max(last, 1)).toFixed(2) + "," + (62 - 58 * Math.min(d / top, 1)).toFixed(2)
    ).join(" "));
    document.getElementById("scale").textContent =
      "distance, 0 to " + top.toFixed(1) + " m, over " + (last / run.rate).toFixed(1) + " s";
  } else {
    document.querySelector("#sheet svg").remove();
  }
  const starts = [0];  // s, of each frame: summed up as the player's are, so that both round alike
  for (let k = 1; k <= last; k++) starts.push(starts[k - 1] + 1 / run.rate);
  let shown = -1;
  function tell() {
    const slider = document.querySelector('[role="slider"][aria-valuenow]');
    const time = slider === null ? 0 : parseFloat(slider.getAttribute("aria-valuenow"));
    let k = Math.max(0, Math.min(last, Math.floor(time * run.rate) + 1));
    while (k > 0 && starts[k] > time) k--;
    if (k !== shown) {
      shown = k;
      const [said, colour] = run.sentences[run.frames[k][0]];
      now.textContent = said;
      now.style.setProperty("--colour", colour);
      facts.textContent = run.frames[k][2];
      const x = 300 * k / Math.max(last, 1);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
    requestAnimationFrame(tell);
  }
  tell();
})();
"""


class SheetRow(NamedTuple):
    """What the sheet says of one snapshot."""

    sentence: int  # by number
    distance: float | None  # m, to the nearest person
    facts: str


def write(snapshots: Iterable[Snapshot], path: str | os.PathLike[str], *, rate: float = 30.0, title: str = "") -> int:
    """Writes the snapshots, `rate` of them a second, into one HTML file; returns how many there were.

    Texts of the snapshots and the title are shown as they are, never as markup.  Nothing is left of the file if it
    cannot be written whole.
    """
    if not 0.1 <= rate <= 240.0:
        raise ConfigError(f"rate: expected 0.1 to 240 snapshots a second; got {rate!r}")
    page = open_page("127.0.0.1", 0, clients=1, label=title or "elbowroom")
    rows: list[SheetRow] = []
    sentences: dict[tuple[str, str], int] = {}
    try:
        stage, recorder = PageScene(page.server), None
        for snapshot in snapshots:
            if len(rows) == MOST:
                raise ConfigError(f"snapshots: expected at most {MOST}; there are more, so take fewer a second")
            if recorder is not None:
                recorder.insert_sleep(1.0 / rate)
            stage.show(snapshot)
            if recorder is None:  # it begins with all that is there
                recorder = page.server.get_scene_serializer()
            rows.append(_row(snapshot, sentences))
        if recorder is None:
            raise ConfigError("snapshots: expected one at least; there are none")
        if len(rows) > 1:
            recorder.insert_sleep(1.0 / rate)
        client = recorder.as_html()
    finally:
        page.stop()
    write_whole(path, _assembled(client, rows, sentences, rate, title or "elbowroom"))
    return len(rows)


def _row(snapshot: Snapshot, sentences: dict[tuple[str, str], int]) -> SheetRow:
    """What the sheet says of a snapshot; a new sentence gets the next number."""
    said, colour = judged(snapshot)
    plain = html.unescape(said)  # it is escaped for the panel; the sheet sets text, not markup
    distance = snapshot.distance
    near = round(distance, 4) if distance < 1e3 else None
    told = f"{facts(snapshot)} · tool {snapshot.tool_speed:.2f} m/s"
    more = detail(snapshot)
    if more:
        plain = f"{plain} ({more.partition(';')[0]})"
    return SheetRow(sentences.setdefault((plain, colour), len(sentences)), near, told)


def _assembled(
    client: str, rows: list[SheetRow], sentences: dict[tuple[str, str], int], rate: float, title: str
) -> str:
    """viser's page with the policy, the title and the sheet."""
    known = [row.distance for row in rows if row.distance is not None]
    top = min(max([0.0, *known]), 3.0)
    run = {"rate": rate, "top": top, "sentences": list(sentences), "frames": rows}
    data = json.dumps(run, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    name = html.escape(title)
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">{ONE_STATE}<style>{STYLE}</style>'
    sheet = SHEET.format(title=name, safety=SAFETY)
    body = f'{sheet}<script type="application/json" id="run">{data}</script><script>{SCRIPT}</script>'
    for mark in ("<head>", "</body>", "<title>", "</title>"):
        if mark not in client:
            raise ElbowroomError(f"viser's page was expected to have {mark}; it has not, so no file was written")
    before, rest = client.split("<title>", 1)
    _, after = rest.split("</title>", 1)
    client = f"{before}<title>{name}</title>{after}"
    client = client.replace("<head>", f"<head>{head}", 1)
    at = client.rindex("</body>")
    return client[:at] + body + client[at:]
