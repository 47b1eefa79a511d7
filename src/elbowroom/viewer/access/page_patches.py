"""Patches of viser's page before it is served: a sign while it loads, one state per frame, and two fixes.

viser 1.1's client takes messages in at the beginning of a frame.  Poses are seen in that frame; meshes that are drawn
many times, lines and texts only in the next.  On a slow machine a frame lasts a second, and the gripper is where the
arm will be.  Messages that come while the tab is hidden are taken in at once, and then the next frame shows all of
them.  So messages are kept until a frame has been drawn, are handed on together, and while the last one is, the page's
scripts are told that it is hidden; nothing else in the client asks for that.

When a mesh with bones goes, as all do when a page finds its server again, the client takes the bones from a node that
may be null and asks only whether it is undefined; the error leaves a blank page.  So null is read as undefined there.

A plot that is made before it has a width finds no room for the numbers of its axis, and looks again only when the
range of that axis changes, which a replay's never does.  So such a plot is told to look again.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Any

ONE_STATE = """<script>(() => {
  const Plain = window.Worker;
  let hidden = false, waiting = [], due = false;
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  window.Worker = class extends Plain {
    get onmessage() { return super.onmessage; }
    set onmessage(take) {
      const hand = () => {
        const batch = waiting;
        [waiting, due] = [[], false];
        try {
          batch.forEach((event, k) => { hidden = k === batch.length - 1; take.call(this, event); });
        } finally { hidden = false; }
      };
      super.onmessage = (event) => {
        waiting.push(event);
        if (due) return;
        due = true;
        // a tab that is hidden draws no frames
        if (document.visibilityState === "hidden") setTimeout(hand); else requestAnimationFrame(() => setTimeout(hand));
      };
    }
  };
})();</script>"""
NUMBERS = """<script>setInterval(() => {
  for (const { chart } of Object.values(window.__viserTestpoints?.uplots ?? {}))
    if (chart.width > 0 && chart.axes.some((axis) => axis.show && axis._found?.[0] === 0)) chart.redraw(true, true);
}, 500);</script>"""
RUNS = "e.textContent=code;"  # where viser's page makes a script of what it has unpacked
MENDED = r"""e.textContent=code.replace(/(\.nodeRefFromName\[[\w.$]+\]);/g,"$1??void 0;");"""
BAR = 8  # px that the panel's scrollbar needs beside the panel's own margin
SIGN = "elbowroom-loading"  # the id of what says that the page loads

_STYLE = f"""<style>
#{SIGN} {{ position: fixed; inset: 0; z-index: 1000; display: flex; flex-direction: column; align-items: center;
  justify-content: center; gap: 10px; background: #dddbd9; color: #33414a; font: 16px/1.4 system-ui, sans-serif; }}
#{SIGN} b {{ font-size: 22px; }}
#{SIGN} i {{ width: 34px; height: 34px; border: 4px solid #b9c4ca; border-top-color: #265c7a; border-radius: 50%;
  animation: elbowroom-turns 1s linear infinite; }}
@keyframes elbowroom-turns {{ to {{ transform: rotate(360deg) }} }}
/* six tabs on one line, however narrow the panel is */
[role=tablist] {{ flex-wrap: nowrap !important; }}
[role=tablist] [role=tab] {{ padding: 8px 2px !important; flex: 1 1 auto; min-width: max-content; font-size: 12.5px; }}
[role=tablist] [role=tab] * {{ overflow: visible !important; padding: 0 !important; }}
/* the panel's scrollbar lies over its right edge: nothing else does */
[class*=ScrollArea-content]:has([data-cell]) {{ box-sizing: border-box; padding-right: {BAR}px; }}
/* five buttons beside their label, too */
[data-size=compact-xs] {{ --button-padding-x: 3px !important; }}
</style>"""
_MARKUP = f"""<div id="{SIGN}" role="status"><b>elbowroom</b><i></i><span>loading the page</span></div>"""
# The panel says when the cell is there (`data-cell`); then two frames more, so that it has been drawn.
_SCRIPT = f"""<script>(() => {{
  const sign = document.getElementById("{SIGN}"), said = sign.querySelector("span");
  let frames = 0;
  const look = () => {{
    const cell = document.querySelector("[data-cell]"), canvas = document.querySelector("canvas");
    if (cell && cell.dataset.cell === "loading") said.textContent = cell.textContent.replace("\\u25cf", "loading:");
    frames = cell && canvas && cell.dataset.cell === "there" ? frames + 1 : 0;
    if (frames > 2) sign.remove(); else requestAnimationFrame(look);
  }};
  look();
}})();</script>"""


def with_sign(page: str) -> str:
    """viser's page with a sign that goes when there is something to see, one state per frame, and bones that can go."""
    page = page.replace(RUNS, MENDED, 1)
    return page.replace("<head>", f"<head>{ONE_STATE}{NUMBERS}{_STYLE}", 1).replace(
        "<body>", f"<body>{_MARKUP}{_SCRIPT}", 1
    )


@lru_cache(maxsize=4)
def _dressed(body: bytes, packed: bool) -> bytes:
    page = with_sign((gzip.decompress(body) if packed else body).decode())
    return gzip.compress(page.encode(), 6) if packed else page.encode()


def dress(response: Any) -> None:
    """Changes an answer that is viser's page; leaves others alone."""
    headers = response.headers
    if response.status_code != 200 or not headers.get("Content-Type", "").startswith("text/html"):
        return
    response.body = _dressed(response.body, headers.get("Content-Encoding") == "gzip")
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(response.body))
