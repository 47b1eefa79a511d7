"""The page's server: viser's, made to refuse whom the access policy refuses.

viser 1.1 answers anybody.  Here a refused request gets 403, one page more than `clients` gets 503, as does a page that
comes before the server is built, and the right `?token=...` gets 303 to `/` with a cookie, which the page's websocket
then carries (viser's client drops the query from the websocket's address, so the token cannot go there).  What a page
sends is read only if it is a message (policy.py).  Every answer has a content policy: the page can reach its own
server only, and no other page may frame it.

viser has no hook for any of this, so the `serve` that it calls is replaced while it starts, in viser's own namespace.
That leans on viser's inside.  So the version is checked, the replacement must have been used, and then the door is
tried from outside with a foreign `Host` and a foreign `Origin`.  If anything differs, the server is stopped and
`GuardError` is raised.

It also mends how viser wakes its senders.  viser 1.1 keeps what is to be sent in buffers.  A sender that has nothing
left waits for its buffer's `asyncio.Event`, which `push` sets twice: in the thread that has the message, and once more
in the server's loop.  An asyncio event is not made for other threads.  If the first `set` falls between the sender's
look at the flag and its entry into the list of those who wait, it wakes nobody; the second finds the flag set and does
nothing, and so does every later one.  A page that is alone then shows nothing new any more, until another one is
opened.

So the event is exchanged for one that only the loop's own thread can set.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import http.client
import inspect
import logging
import queue
import socket
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, ElbowroomError
from .page_patches import dress
from .policy import Rules, names_of, well_formed


class LoopEvent(asyncio.Event):
    """An event that `set` sets in one thread and leaves alone in any other."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._home = thread

    def set(self) -> None:
        """As `asyncio.Event.set`, in the loop's own thread."""
        if threading.get_ident() == self._home:
            super().set()


def wake_in_loop(server: Any) -> None:
    """Exchanges the events of a viser server that nobody is connected to yet, and of every page that will be."""
    inside = server._websock_server
    home = inside._server_thread.ident

    def exchange(buffer: Any) -> None:
        buffer.message_event = LoopEvent(home)

    exchange(inside.get_message_buffer())
    inside.on_client_connect(lambda connection: exchange(connection.get_message_buffer()))


if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

TRIED = "1.1"
"""The viser whose inside this module knows."""
PORTS = 100  # how many ports are tried from the one that was asked for
PATIENCE = 20.0  # s; viser starts in well under one
_starting = threading.Lock()
_quiet = logging.getLogger(f"{__name__}.websockets")
_quiet.addHandler(logging.NullHandler())  # a port scan is no reason for a traceback on the terminal


class GuardError(ElbowroomError, RuntimeError):
    """The page cannot be guarded, so it was not served."""


@dataclass
class Doorkeeper:
    """Stands in for the `serve` that viser calls: the same server, on our socket and under our rules."""

    rules: Rules
    socket: socket.socket
    clients: int
    message_bytes: int
    inside: set[Any] = field(default_factory=set)
    calls: int = 0
    dropped: int = 0  # messages that were none
    ready: bool = False  # whether pages may come in
    shut: bool = False

    def serve(self, handler: Callable[[ServerConnection], Any], host: str, port: int, **options: Any) -> Any:
        """What viser gets for `websockets.asyncio.server.serve`; its host and port give way to our bound socket."""
        from websockets.asyncio.server import serve

        if self.shut:
            raise GuardError("viser came too late; the door is shut")
        pages = options.get("process_request")
        if not callable(handler) or not callable(pages) or "sock" in options:
            raise GuardError(f"viser {TRIED} was expected to serve its page through process_request; it does not")

        async def process(connection: ServerConnection, request: Request) -> Response | None:
            return await self.answer(connection, request, pages)

        async def attend(connection: ServerConnection) -> None:
            if len(self.inside) >= self.clients:  # two that shook hands at once
                await connection.close(1013, "too many pages are open")
                return
            self.inside.add(connection)
            vars(connection)["recv"] = functools.partial(self.receive, connection.recv)
            try:
                await handler(connection)
            finally:
                self.inside.discard(connection)

        self.calls += 1
        guarded = {"origins": [*self.rules.origins], "process_request": process, "max_size": self.message_bytes}
        return serve(attend, sock=self.socket, **{**options, **guarded, "logger": _quiet})

    async def receive(self, recv: Callable[[], Awaitable[str | bytes]]) -> str | bytes:
        """The next message of a page that is one; what is none is dropped and counted."""
        while not well_formed(data := await recv()):
            self.dropped += 1
        return data

    async def answer(
        self, connection: ServerConnection, request: Request, pages: Callable[..., Any]
    ) -> Response | None:
        """The answer to one request; None lets a websocket in."""
        rules, headers = self.rules, request.headers
        why = rules.refusal(request.path, headers)
        if why is not None:
            return connection.respond(HTTPStatus.FORBIDDEN, f"Refused: {why}.\n")
        given = rules.asked(request.path)
        response: Response | None
        if rules.token is not None and given is not None and rules.knows(given):
            response = connection.respond(HTTPStatus.SEE_OTHER, "")  # so that the token leaves the address bar
            response.headers["Location"] = "/"
            response.headers["Set-Cookie"] = f"{rules.cookie}={rules.token}; Path=/; HttpOnly; SameSite=Lax"
        elif not rules.knows(rules.carried(headers)):
            response = connection.respond(HTTPStatus.FORBIDDEN, "Refused: open the whole address, with its token.\n")
        elif "Upgrade" in headers and not self.ready:
            response = connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "The page is not ready yet.\n")
        elif "Upgrade" in headers and len(self.inside) >= self.clients:
            response = connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.\n")
        else:
            response = pages(connection, request)
            if inspect.isawaitable(response):
                response = await response
            if response is not None:
                dress(response)
        if response is not None:
            for name, value in rules.policy(headers["Host"].lower()).items():
                response.headers[name] = value
        return response


@dataclass(frozen=True)
class Page:
    """A guarded viser server and the address at which it truly is; the address holds the token, if there is one."""

    server: viser.ViserServer
    address: str
    port: int
    rules: Rules
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
        rules = Rules(names, bound.getsockname()[1], token)
        door = Doorkeeper(rules, bound, clients, message_bytes)
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


def _address(rules: Rules, host: str) -> str:
    """What to open."""
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
        raise GuardError(f"the page needs viser {TRIED}: pip install '.[viewer]' ({error})") from None
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
