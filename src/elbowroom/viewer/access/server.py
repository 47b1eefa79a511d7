"""The page's server: viser's, behind the door of the access policy (policy.py), its page and its senders mended.

viser 1.1 answers anybody, and has no hook for a door, so the `serve` that it calls is replaced while it starts, in
viser's own namespace.  That leans on viser's inside.  So the version is checked, the replacement must have been used,
and then the door is tried from outside with a foreign `Host` and a foreign `Origin`.  If anything differs, the server
is stopped and `GuardError` is raised.

Its page gets a sign while it loads, and three fixes before it is served:

    one state    viser's client takes messages in at the beginning of a frame.  Poses are seen in that frame; meshes
    per frame    that are drawn many times, lines and texts only in the next.  On a slow machine a frame lasts a
                 second, and the gripper is where the arm will be.  Messages that come while the tab is hidden are
                 taken in at once, and then the next frame shows all of them.  So messages are kept until a frame has
                 been drawn, are handed on together, and while the last one is, the page's scripts are told that it
                 is hidden; nothing else in the client asks for that.
    bones        When a mesh with bones goes, as all do when a page finds its server again, the client takes the bones
                 from a node that may be null and asks only whether it is undefined; the error leaves a blank page.
                 So null is read as undefined there.
    plots        A plot that is made before it has a width finds no room for the numbers of its axis, and looks again
                 only when the range of that axis changes, which a replay's never does.  So it is told to look again.

Its senders are woken in one thread.  viser keeps what is to be sent in buffers.  A sender that has nothing left waits
for its buffer's `asyncio.Event`, which `push` sets twice: in the thread that has the message, and once more in the
server's loop.  An asyncio event is not made for other threads.  If the first `set` falls between the sender's look at
the flag and its entry into the list of those who wait, it wakes nobody; the second finds the flag set and does nothing,
and so does every later one.  A page that is alone then shows nothing new any more, until another one is opened.  So the
event is exchanged for one that only the loop's own thread can set.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gzip
import http.client
import queue
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, pip_install
from .policy import TRIED, AccessRules, Doorkeeper, GuardError, names_of

if TYPE_CHECKING:
    import viser
    from viser.infra._async_message_buffer import AsyncMessageBuffer
    from websockets.http11 import Response

PORTS = 100  # how many ports are tried from the one that was asked for
PATIENCE = 20.0  # s; viser starts in well under one
_starting = threading.Lock()


@dataclass(frozen=True)
class Page:
    """A guarded viser server and the address at which it truly is; the address holds the token, if there is one."""

    server: viser.ViserServer
    address: str
    port: int
    rules: AccessRules
    door: Doorkeeper

    def stop(self) -> None:
        """Closes the door and every connection."""
        with _silence():
            self.server.stop()


def open_page(
    host: str = "127.0.0.1",
    port: int = 8080,
    *,
    token: str | None = None,
    clients: int = 16,
    message_bytes: int = 1 << 20,
    label: str | None = None,
    build: Callable[[viser.ViserServer], object] = lambda server: None,
) -> Page:
    """A viser server behind the door, on that port or the next free one (0: any); only loopback needs no token.

    `build` puts up what the page shows and who listens to it.  Nobody can talk to the server before that is done: a
    page that was left open from an earlier run connects at once, and would find half of it.
    `clients` pages may be open at once.  `message_bytes` bounds what a page may send in one message; half a megabyte is
    what viser's client sends of a file at a time.
    """
    names = names_of(host, token)
    if clients < 1 or message_bytes < 1:
        raise ConfigError(f"clients and message_bytes: expected at least 1, got {clients} and {message_bytes}")
    bound = _bind(host, port)
    with contextlib.ExitStack() as undo:
        undo.callback(bound.close)
        rules = AccessRules(names, bound.getsockname()[1], token)
        door = Doorkeeper(rules, bound, clients, message_bytes, dress)
        server = _start(door, host, label)
        page = Page(server, _address(rules, host), rules.port, rules, door)
        undo.callback(page.stop)
        _forbid_sharing(server)
        wake_in_loop(server)
        _try_the_door(door, server)
        build(server)
        door.ready = True
        undo.pop_all()
    return page


def _address(rules: AccessRules, host: str) -> str:
    """The address to open."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{rules.port}/" + ("" if rules.token is None else f"?token={rules.token}")


def _bind(host: str, port: int) -> socket.socket:
    """A socket that listens on that port or the next free one; viser's own search hangs where nothing can be bound."""
    if not 0 <= port <= 65535:
        raise ConfigError(f"port: expected 0 to 65535, got {port}")
    try:
        family, kind, proto, _, where = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ConfigError(f"host: {host} is not known here ({error.strerror or error})") from None
    for attempt in range(port, min(port + PORTS, 65536)):
        bound = socket.socket(family, kind, proto)
        if sys.platform != "win32":  # there it would let two servers share a port; here it only forgives a recent one
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((where[0], attempt, *where[2:]))
            bound.listen()  # two sockets may bind one port here, but only one may listen
        except OSError as error:
            bound.close()
            if error.errno != errno.EADDRINUSE:
                raise ConfigError(f"host: {host}:{attempt} cannot be served ({error.strerror})") from None
        else:
            return bound
    raise ConfigError(f"port: {port} and the {PORTS - 1} after it are busy on {host}")


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """viser prints a panel when it starts and a line when it stops; a library does not print."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def _start(door: Doorkeeper, host: str, label: str | None) -> viser.ViserServer:
    """viser's server with the doorkeeper in the place of `serve`.

    viser waits for ever if its own thread fails, so it is started from a thread of ours and what comes first counts.
    """
    try:
        import viser
        import websockets.asyncio.server
        from viser.infra import _infra
    except ImportError as error:
        raise GuardError(f"the page needs viser {TRIED}: {pip_install('viewer')} ({error})") from None
    if viser.__version__.split(".")[:2] != TRIED.split("."):
        raise GuardError(
            f"viser {TRIED} was expected, {viser.__version__} is installed; its door is not known, so it stays shut"
        )
    # of a message with a value of another type viser warns, with that value: a page could write on the terminal
    warnings.filterwarnings("ignore", r"\[viser\] ", UserWarning, r"viser\.infra\._messages$")
    came: queue.SimpleQueue[viser.ViserServer | BaseException] = queue.SimpleQueue()

    def serve(*args: Any, **options: Any) -> Any:
        try:
            return door.serve(*args, **options)
        except BaseException as error:
            came.put(error)
            raise SystemExit from error  # ends viser's thread without a word; the error is told by ours

    def build() -> None:
        try:
            came.put(viser.ViserServer(host, door.rules.port, label=label, verbose=False))
        except BaseException as error:
            came.put(error)

    inner = SimpleNamespace(**{**vars(websockets.asyncio.server), "serve": serve})
    outer = SimpleNamespace(**{**vars(websockets), "asyncio": SimpleNamespace(server=inner)})
    with _starting, _silence():
        real = getattr(_infra, "websockets", None)
        if real is not websockets:
            raise GuardError(f"viser {viser.__version__} does not serve through websockets; its door is not known")
        try:
            vars(_infra)["websockets"] = outer
            threading.Thread(target=build, daemon=True, name="page starts").start()
            result = came.get(timeout=PATIENCE)
        except queue.Empty:
            door.shut = True  # and the stand-in stays: viser must not find the real one when it comes late
            raise GuardError(f"viser did not start within {PATIENCE:g} s") from None
        finally:
            if not door.shut:
                vars(_infra)["websockets"] = real
    if isinstance(result, BaseException):
        raise GuardError(f"viser did not start: {result}") from result
    return result


def _forbid_sharing(server: viser.ViserServer) -> None:
    """Takes away viser's tunnel to a server outside, which any page could ask for with one message."""
    from viser import _messages

    handlers = server._websock_server._incoming_handlers
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        if handlers.pop(message, None) is None:
            raise GuardError(f"viser's {message.__name__} was expected to have a handler; it has none")


def _ask(door: Doorkeeper, headers: Mapping[str, str]) -> int:
    """The status of the answer to one request from this machine."""
    where = door.socket.getsockname()
    link = http.client.HTTPConnection(where[0], where[1], timeout=PATIENCE)
    try:
        link.putrequest("GET", "/", skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            link.putheader(name, value)
        link.endheaders()
        return link.getresponse().status
    finally:
        link.close()


def _try_the_door(door: Doorkeeper, server: viser.ViserServer) -> None:
    """Raises unless the server answers as the rules say, asked from outside."""
    rules = door.rules
    ours = min(rules.hosts)
    cookie = {} if rules.token is None else {"Cookie": f"{rules.cookie}={rules.token}"}
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    tries = [
        ("the page", {"Host": ours, **cookie}, HTTPStatus.OK),
        ("a foreign Host", {"Host": "foreign.invalid", **cookie}, HTTPStatus.FORBIDDEN),
        (
            "a foreign Origin",
            {"Host": ours, "Origin": "http://foreign.invalid", **cookie, **upgrade},
            HTTPStatus.FORBIDDEN,
        ),
    ]
    if rules.token is not None:
        tries.append(("no token", {"Host": ours}, HTTPStatus.FORBIDDEN))
    if door.calls != 1 or server.get_port() != rules.port:
        raise GuardError("viser did not start through the guarded door")
    for what, headers, expected in tries:
        try:
            status = _ask(door, headers)
        except (OSError, http.client.HTTPException) as error:
            raise GuardError(f"the guarded door was tried with {what} and did not answer: {error}") from error
        if status != expected:
            raise GuardError(f"the guarded door was tried with {what}: expected {expected.value}, got {status}")


# ---- senders
class LoopEvent(asyncio.Event):
    """An event that `set` sets in one thread and leaves alone in any other."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._home = thread

    def set(self) -> None:
        """As `asyncio.Event.set`, in the loop's own thread."""
        if threading.get_ident() == self._home:
            super().set()


def wake_in_loop(server: viser.ViserServer) -> None:
    """Exchanges the events of a viser server that nobody is connected to yet, and of every page that will be."""
    inside = server._websock_server
    home = None if inside._server_thread is None else inside._server_thread.ident
    if home is None:
        raise GuardError("viser was expected to run its server in a thread; there is none")

    def exchange(buffer: AsyncMessageBuffer) -> None:
        buffer.message_event = LoopEvent(home)

    exchange(inside.get_message_buffer())
    inside.on_client_connect(lambda connection: exchange(connection.get_message_buffer()))


# ---- the page
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


def dress(response: Response) -> None:
    """Changes an answer that is viser's page; leaves others alone."""
    headers = response.headers
    if response.status_code != 200 or not headers.get("Content-Type", "").startswith("text/html"):
        return
    response.body = _dressed(bytes(response.body), headers.get("Content-Encoding") == "gzip")
    del headers["Content-Length"]
    headers["Content-Length"] = str(len(response.body))
