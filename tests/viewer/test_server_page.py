"""What is added to viser's page: one state per frame, and a sign while it loads."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

pytest.importorskip("viser")

import viser
from browser import Browser, need_chromium
from websockets.datastructures import Headers
from websockets.http11 import Response

from elbowroom.viewer.access.server import MENDED, ONE_STATE, RUNS, SIGN, dress, with_sign

PAGE = "<html><head><title>x</title></head><body><div id='root'></div></body></html>"


def answer(body, kind="text/html", packed=False, status=200):
    data = gzip.compress(body.encode()) if packed else body.encode()
    headers = Headers({"Content-Type": kind, "Content-Length": str(len(data))})
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(status, "OK", headers, data)


@pytest.mark.parametrize("packed", [False, True])
def test_the_page_gets_its_additions_and_its_true_length(packed):
    response = answer(PAGE, packed=packed)
    dress(response)
    text = (gzip.decompress(response.body) if packed else response.body).decode()
    assert text.index(ONE_STATE) < text.index("<title>")  # before the page's own scripts
    assert text.count(f'id="{SIGN}"') == 1
    assert response.headers.get_all("Content-Length") == [str(len(response.body))]


def test_the_page_of_this_viser_has_the_place_that_is_mended():
    page = (Path(viser.__file__).parent / "client" / "build" / "index.html").read_text()
    assert page.count(RUNS) == 1
    assert with_sign(page).count(MENDED) == 1


def test_other_answers_are_left_alone():
    for other in (answer("body", "application/javascript"), answer("<head><body>", status=403)):
        before = other.body
        dress(other)
        assert other.body == before


BATCHES = """
const done = arguments[0], got = [];
let frame = false, all = 0;
const watch = () => { frame = true; Promise.resolve().then(() => frame = false); requestAnimationFrame(watch); };
requestAnimationFrame(watch);
const worker = new Worker(URL.createObjectURL(new Blob([`
  let k = 0;
  const each = setInterval(() => { postMessage(k++); postMessage(k++); if (k >= 40) clearInterval(each); }, 3);
`])));
worker.onmessage = (event) => {
  got.push([event.data, document.hidden, frame]);
  if (++all === 40) setTimeout(() => done([got, document.hidden]));
};
"""


def test_in_chromium_messages_are_handed_on_together_between_frames(tmp_path):
    need_chromium()
    page = tmp_path / "page.html"
    page.write_text(PAGE.replace("<head>", f"<head>{ONE_STATE}"), encoding="utf-8")
    with Browser(tmp_path / "chromium", size=(300, 200)) as browser:
        browser.driver.get(page.as_uri())
        got, after = browser.driver.execute_async_script(BATCHES)
    numbers, hidden, inside = zip(*got, strict=True)
    assert list(numbers) == list(range(40))  # all of them, in order
    assert hidden[-1]  # the last one of a batch is taken in at once, with those before it
    assert sum(hidden) < 40
    assert not any(inside)
    assert after is False
