"""The page's door, asked as a browser asks, as a program asks, and as nobody should."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import socket
import threading
import time
import warnings
from collections import deque
from types import SimpleNamespace

import pytest
from browser import Browser

from elbowroom.errors import ConfigError
from elbowroom.viewer.access import server as guard
from elbowroom.viewer.access.policy import QUERY, AccessRules, GuardError, names_of, new_token
from elbowroom.viewer.access.server import open_page

viser = pytest.importorskip("viser")
sync_client = pytest.importorskip("websockets.sync.client")
import msgspec.msgpack  # noqa: E402  # viser brings both
from raw_page import Raw  # noqa: E402
from websockets.datastructures import Headers  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

TOKEN = "a-token-of-the-tests"
PROTOCOL = f"viser-v{viser.__version__}"
WAIT = 20.0  # s, far above what any of this takes; only a failure waits so long


@pytest.fixture(scope="module")
def page():
    opened = open_page(port=0)
    yield opened
    opened.stop()


@pytest.fixture(scope="module")
def locked():
    opened = open_page(port=0, token=TOKEN)
    yield opened
    opened.stop()


def get(page, path="/", *, host=None, **headers):
    """Status, headers and body of one GET."""
    link = http.client.HTTPConnection("127.0.0.1", page.port, timeout=WAIT)
    with contextlib.closing(link):
        link.putrequest("GET", path, skip_host=True)
        link.putheader("Host", f"127.0.0.1:{page.port}" if host is None else host.format(port=page.port))
        for name, value in headers.items():
            link.putheader(name, value.format(port=page.port))
        link.endheaders()
        answer = link.getresponse()
        return answer.status, answer.headers, answer.read()


def talk(page, *, origin="http://127.0.0.1:{port}", **options):
    """An open websocket, as viser's client opens it."""
    return sync_client.connect(
        f"ws://127.0.0.1:{page.port}/",
        origin=None if origin is None else origin.format(port=page.port),
        subprotocols=[PROTOCOL],
        max_size=None,
        open_timeout=WAIT,
        proxy=None,
        **options,
    )


def refused(page, **options):
    """The status with which a websocket is refused."""
    with pytest.raises(InvalidStatus) as caught, talk(page, **options):
        pass
    return caught.value.response.status_code


def until(condition):
    """Waits for what another thread does."""
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def test_what_a_page_sends_is_not_written_on_the_terminal():
    """viser warns of a value of another type, with the value, which may hold anything."""
    from viser._messages import Message

    near = {"fov": 1.0, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800}
    places = {"position": (0, 0, 1), "look_at": (0, 0, 0), "up_direction": (0, 0, 1)}
    sent = {"type": "ViewerCameraMessage", "wxyz": "\x1b[31m", **near, **places}
    with warnings.catch_warnings(record=True) as said:
        opened = open_page(port=0)
        opened.stop()
        Message.deserialize(msgspec.msgpack.encode(sent))
    assert not said


# Host and Origin


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_page_is_served_under_its_own_names(page, host):
    status, headers, body = get(page, host=host)
    assert status == 200
    assert b"<title>Viser</title>" in body
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "",
        "0.0.0.0:{port}",
    ],
)
def test_a_foreign_host_is_refused_which_ends_rebinding(page, host):
    status, _, body = get(page, host=host)
    assert status == 403
    assert b"Viser" not in body
    assert refused(page, additional_headers={"Host": host.format(port=page.port)}) == 403  # a second Host beside ours


def test_a_websocket_whose_only_host_is_foreign_is_refused(page):
    ours = f"http://127.0.0.1:{page.port}"
    request = (
        "GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nOrigin: {ours}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", page.port), timeout=WAIT) as link:
        link.sendall(request.encode())
        assert link.recv(1024).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:1",
        "http://127.0.0.1",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://localhost.evil.example:{port}",
        "null",
        "",
    ],
)
def test_a_foreign_origin_is_refused(page, origin):
    assert refused(page, origin=origin) == 403
    assert get(page, Origin=origin)[0] == 403


def test_two_origins_are_refused_even_if_both_are_ours(page):
    assert refused(page, additional_headers={"Origin": f"http://127.0.0.1:{page.port}"}) == 403


def test_a_websocket_without_an_origin_is_refused_and_a_page_load_is_not(page):
    assert refused(page, origin=None) == 403
    assert page.rules.refusal(
        "/", Headers(Host=f"localhost:{page.port}", Upgrade="websocket")
    )  # and not only websockets'
    assert get(page)[0] == 200


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}", "http://[::1]:{port}"])
def test_its_own_page_may_talk(page, origin):
    with talk(page, origin=origin) as link:
        assert link.subprotocol == PROTOCOL
        assert len(link.recv(timeout=WAIT)) > 16  # viser's header alone has 16 bytes


# What a link to the page could ask of it


@pytest.mark.parametrize(
    "query", ["websocket=ws://evil.example", "playbackPath=http://evil.example/x", "%77ebsocket=ws://e", "x"]
)
def test_a_link_cannot_send_the_page_to_another_server(page, query):
    assert get(page, f"/?{query}")[0] == 403
    assert get(page, f"/?darkMode&{query}")[0] == 403


def test_harmless_questions_pass(page):
    assert get(page, "/?" + "&".join(sorted(QUERY - {"token"})))[0] == 200


def test_the_policy_names_no_server_but_the_one_that_was_asked(page):
    policy = get(page, host="localhost:{port}")[1]["Content-Security-Policy"]
    connect = next(part for part in policy.split("; ") if part.startswith("connect-src"))
    assert connect == f"connect-src 'self' data: blob: ws://localhost:{page.port}"


def test_nothing_asks_for_a_tunnel_any_more(page, monkeypatch):
    asked = []
    monkeypatch.setattr(page.server, "request_share_url", lambda *a, **k: asked.append("share"))
    with talk(page) as link:
        link.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
        link.ping().wait(WAIT)  # the pong comes after the message was taken
    assert not asked
    bare = viser._messages.ShareUrlRequest
    assert bare not in page.server._websock_server._incoming_handlers


# Senders and messages


def test_nobody_comes_in_before_the_page_is_built():
    found = []

    def build(server):
        port = SimpleNamespace(port=server.get_port())
        found.append(refused(port))  # as a page does that was left open from an earlier run
        found.append(get(port)[0])

    opened = open_page(port=0, build=build)
    try:
        assert found == [503, 200]
        with talk(opened) as link:
            assert link.recv(timeout=WAIT)
    finally:
        opened.stop()


def test_a_page_that_cannot_be_built_is_not_served():
    def build(server):
        found.append(server.get_port())
        raise ValueError("no")

    found = []
    with pytest.raises(ValueError, match="no"):
        open_page(port=0, build=build)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", found[0]), timeout=WAIT).close()


def test_a_message_from_another_thread_always_wakes_the_sender(page):
    """Even one that comes after the sender has found nothing to send, and before it waits for something."""
    buffer = page.server._websock_server.get_message_buffer()
    slider = page.server.gui.add_slider("slider", min=0.0, max=1.0, step=0.1, initial_value=0.0)
    between = threading.Event()

    def assign(value):
        thread = threading.Thread(target=setattr, args=(slider, "value", value))
        thread.start()
        thread.join(WAIT)

    with Raw(page.address) as open_:
        until(lambda: open_.value(slider) == 0.0)
        event = buffer.message_event
        until(lambda: event._waiters)  # the sender rests: else it could come by before the first value is assigned
        real = event._get_loop  # asked for when the event has been found unset, just before the wait

        def meanwhile():
            if not between.is_set():
                between.set()
                assign(0.5)
            return real()

        event._get_loop = meanwhile
        try:
            assign(0.1)  # wakes it once
            until(lambda: between.is_set() and open_.value(slider) == 0.5)
            assign(0.9)
            until(lambda: open_.value(slider) == 0.9)
        finally:
            event._get_loop = real


# Tokens


def test_without_the_token_there_is_nothing(locked):
    assert get(locked)[0] == 403
    assert refused(locked) == 403


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%C3%A9"])
def test_a_wrong_token_is_refused(locked, token):
    assert get(locked, f"/?token={token}")[0] == 403
    assert get(locked, Cookie=f"elbowroom-{locked.port}={token}")[0] == 403


def test_the_address_gives_a_cookie_and_the_cookie_opens_page_and_websocket(locked):
    assert locked.address == f"http://127.0.0.1:{locked.port}/?token={TOKEN}"
    status, headers, _ = get(locked, f"/?token={TOKEN}")
    assert (status, headers["Location"]) == (303, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    carried = cookie.split(";")[0]
    assert get(locked, Cookie=f"other=1; {carried}")[0] == 200
    with talk(locked, additional_headers={"Cookie": carried}) as link:
        assert link.recv(timeout=WAIT)
    assert refused(locked, origin="http://evil.example", additional_headers={"Cookie": carried}) == 403
    assert get(locked, f"/?token={TOKEN}", host="evil.example")[0] == 403


def test_another_address_needs_a_token():
    with pytest.raises(ConfigError, match="needs a token"):
        open_page("192.0.2.7")
    assert names_of("192.0.2.7", TOKEN) == ("192.0.2.7",)
    assert names_of("2001:db8::7", TOKEN) == ("[2001:db8::7]",)
    assert names_of("Cell.local", TOKEN) == ("cell.local",)
    assert names_of("127.0.0.5", None) == ("127.0.0.1", "localhost", "[::1]", "127.0.0.5")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0:0:0:0:0:0:0:0", "", "a b", "evil/../x", "-x", "[::1]"])
def test_a_host_that_says_nothing_is_refused(host):
    with pytest.raises(ConfigError, match="host"):
        open_page(host, token=TOKEN)


@pytest.mark.parametrize("token", ["", "short", "x" * 129, "sixteen and more;", "sixteen-and-möre"])
def test_a_token_that_could_be_guessed_or_broken_is_refused(token):
    with pytest.raises(ConfigError, match="token"):
        open_page(port=0, token=token)


def test_new_tokens_are_usable_and_differ():
    tokens = {new_token() for _ in range(20)}
    assert len(tokens) == 20
    assert all(names_of("127.0.0.1", token) for token in tokens)


def test_plain_http_on_its_own_port_has_no_port_in_its_names():
    rules = AccessRules(("127.0.0.1",), 80)
    assert rules.refusal("/", Headers(Host="127.0.0.1", Origin="http://127.0.0.1")) is None


# Ports


def test_a_busy_port_gives_the_next_and_the_true_address():
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]
        if taken == 65535:
            pytest.skip("there is no next port")
        opened = open_page(port=taken)
        try:
            assert opened.port > taken
            assert opened.address == f"http://127.0.0.1:{opened.port}/"
            assert opened.server.get_port() == opened.port
            assert get(opened)[0] == 200
        finally:
            opened.stop()


def test_two_pages_live_beside_each_other_and_a_stopped_one_is_gone(page):
    other = open_page(port=page.port)
    assert other.port != page.port
    assert get(other)[0] == get(page)[0] == 200
    assert get(page, Origin=f"http://127.0.0.1:{other.port}")[0] == 403  # each is foreign to the other
    other.stop()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", other.port), timeout=WAIT).close()


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(ConfigError, match="port"):
        open_page(port=port)


def test_an_address_of_another_machine_is_refused_at_once():
    with pytest.raises(ConfigError, match="cannot be served"):
        open_page("192.0.2.7", token=TOKEN)  # kept for documents, so never ours; viser alone would hang here


def test_nothing_is_printed(capfd):
    open_page(port=0).stop()
    assert capfd.readouterr() == ("", "")


# Limits


def test_no_more_pages_than_asked_for_and_a_place_becomes_free():
    opened = open_page(port=0, clients=2)
    try:
        with talk(opened):
            with talk(opened):
                until(lambda: len(opened.door.inside) == 2)
                assert refused(opened) == 503
                assert get(opened)[0] == 200  # the page still loads, and tries again by itself
            until(lambda: len(opened.door.inside) == 1)
            with talk(opened) as third:
                assert third.recv(timeout=WAIT)
    finally:
        opened.stop()


def test_a_message_that_is_too_long_ends_the_connection():
    opened = open_page(port=0, message_bytes=1000)
    try:
        with talk(opened) as link:
            link.send(b"x" * 1001)
            with pytest.raises(ConnectionClosed) as caught:
                deque(link, maxlen=0)
        assert caught.value.rcvd.code == 1009
    finally:
        opened.stop()


def test_many_comings_and_goings_leave_nothing_behind(page):
    inner = page.server._websock_server
    until(lambda: not page.door.inside)
    for _ in range(50):
        with talk(page) as link:
            link.recv(timeout=WAIT)
    until(lambda: not page.door.inside)
    until(lambda: not inner._client_state_from_id)
    assert not inner._live_connections
    assert not inner._broadcast_buffer.generator_cursors
    assert not page.server.get_clients()


# The door stays shut when viser is not the one that is known


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "1.2.0")
    with pytest.raises(GuardError, match=r"1\.2\.0 is installed"):
        open_page(port=0)


def test_a_viser_that_serves_some_other_way_is_refused(monkeypatch):
    from viser.infra import _infra

    monkeypatch.setattr(_infra, "websockets", object())
    with pytest.raises(GuardError, match="not known"):
        open_page(port=0)


def test_a_viser_that_passes_no_page_is_refused_and_does_not_hang(monkeypatch):
    from viser.infra import _infra

    start = _infra.WebsockServer.start

    def bare(self):
        self._http_server_root = None  # then viser gives serve no process_request
        start(self)

    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    monkeypatch.setattr(_infra.WebsockServer, "start", bare)
    with pytest.raises(GuardError, match="process_request"):
        open_page(port=0)
    until(lambda: ended)
    assert ended[0].exc_type is SystemExit  # which threads end with in silence


def test_a_viser_that_goes_round_the_door_is_stopped(monkeypatch):
    from viser.infra import _infra
    from websockets.asyncio import server as real

    worker, stopped = _infra.WebsockServer._background_worker, []

    def round_the_door(self, ready):
        vars(_infra)["websockets"] = __import__("websockets")
        worker(self, ready)

    stop = viser.ViserServer.stop
    monkeypatch.setattr(_infra.WebsockServer, "_background_worker", round_the_door)
    monkeypatch.setattr(viser.ViserServer, "stop", lambda self: (stopped.append(self.get_port()), stop(self)))
    with pytest.raises(GuardError, match="did not start through the guarded door"):
        open_page(port=0)
    assert len(stopped) == 1
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", stopped[0]), timeout=WAIT).close()
    assert real.serve is __import__("websockets").asyncio.server.serve


@pytest.mark.parametrize("blind", ["refusal", "knows"])
def test_rules_that_refuse_nobody_are_noticed_before_anybody_comes(monkeypatch, blind):
    monkeypatch.setattr(AccessRules, blind, (lambda *_: None) if blind == "refusal" else (lambda *_: True))
    with pytest.raises(GuardError, match="was tried with"):
        open_page(port=0, token=TOKEN)


def test_a_viser_that_never_comes_up_is_given_up_and_stays_out(monkeypatch):
    from viser.infra import _infra

    monkeypatch.setattr(guard, "PATIENCE", 0.1)
    late, real, seen = threading.Event(), _infra.websockets, []

    def slow(*_, **__):
        late.wait(WAIT)
        seen.append(_infra.websockets)

    monkeypatch.setattr(viser, "ViserServer", slow)
    try:
        with pytest.raises(GuardError, match="within"):
            open_page(port=0)
        late.set()
        until(lambda: seen)
        assert seen[0] is not real
        with pytest.raises(SystemExit) as caught:
            seen[0].asyncio.server.serve(lambda c: None, "127.0.0.1", 0, process_request=lambda c, r: None)
        assert "too late" in str(caught.value.__cause__)
    finally:
        vars(_infra)["websockets"] = real


# A real browser

ATTACK = """<!doctype html><title>waiting</title><script>
const found = {{}};
const socket = new WebSocket("ws://127.0.0.1:{port}/", ["{protocol}"]);
socket.onopen = () => found.socket = "open"; socket.onclose = () => found.socket ??= "refused";
fetch("http://127.0.0.1:{port}/").then(r => found.fetch = "read " + r.status).catch(() => found.fetch = "refused");
const frame = document.createElement("iframe");
frame.src = "http://127.0.0.1:{port}/"; frame.onload = () => {{ found.frame = "loaded" }};
addEventListener("DOMContentLoaded", () => document.body.append(frame));
setInterval(() => {{ if (found.socket && found.fetch) document.title = found.socket + ", " + found.fetch }}, 50);
</script><body></body>"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as made:
        yield made.driver


def test_in_chromium_a_page_of_another_origin_gets_nothing(page, browser):
    body = ATTACK.format(port=page.port, protocol=PROTOCOL).encode()
    until(lambda: not page.door.inside)

    class Evil(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        try:
            browser.get(f"http://127.0.0.1:{evil.server_address[1]}/")
            until(lambda: browser.title != "waiting")
            assert browser.title == "refused, refused"
            assert "frame-ancestors" in "".join(entry["message"] for entry in browser.get_log("browser"))
            assert not page.door.inside  # neither the script nor the frame came in
        finally:
            evil.shutdown()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_in_chromium_the_page_itself_connects_and_reports_nothing_blocked(page, browser, name):
    browser.get_log("browser")
    browser.get(f"http://{name}:{page.port}/")
    until(lambda: page.server.get_clients())
    until(
        lambda: (
            browser.execute_script("return Math.max(...[...document.querySelectorAll('canvas')].map(c => c.width))") > 0
        )
    )
    assert "Content Security Policy" not in "".join(entry["message"] for entry in browser.get_log("browser"))
    browser.get("about:blank")
    until(lambda: not page.door.inside)


def test_in_chromium_the_token_leaves_the_address_and_the_page_connects(locked, browser):
    browser.get(locked.address)
    until(lambda: locked.server.get_clients())
    assert TOKEN not in browser.current_url
    browser.get("about:blank")
