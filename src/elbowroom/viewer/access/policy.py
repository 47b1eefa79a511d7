"""Access policy: host, origin, token, and which messages of a page are read.

    request                                                     refused because
    `Host` is not ours                                          a foreign name can be made to mean 127.0.0.1 (rebinding)
    `Origin` is not ours, is `null`, or comes twice             a page of any site can open a websocket to 127.0.0.1
    a websocket without `Origin`                                every browser sends one, and nothing of ours lacks one
    a query with other words than `QUERY`                       viser's client follows `?websocket=` to any server
    no token, or a wrong one, where one is needed               the address can be reached from other machines

A refused request gets 403, one page more than `clients` gets 503, as does a page that comes before the server is built,
and the right `?token=...` gets 303 to `/` with a cookie, which the page's websocket then carries (viser's client drops
the query from the websocket's address, so the token cannot go there).  Every answer has a content policy: the page can
reach its own server only, and no other page may frame it.

viser trusts its page: a message that it cannot read ends the connection, and one with a list where a name should be
ends in a traceback on the terminal.  So whoever reads a page's messages drops what `well_formed` refuses.
"""

from __future__ import annotations

import functools
import hmac
import inspect
import ipaddress
import logging
import re
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from ...errors import ConfigError, ElbowroomError

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response

    Pages = Callable[[ServerConnection, Request], Awaitable[Response | None] | Response | None]

QUERY = frozenset({"token", "darkMode", "hideViserLogo", "showStats", "fixedDpr"})
"""What a page's address may ask; `websocket` and `playbackPath` would have viser's client load from other servers."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TRIED = "1.1"
"""The viser whose inside this room knows."""
_quiet = logging.getLogger(f"{__name__}.websockets")
_quiet.addHandler(logging.NullHandler())  # a port scan is no reason for a traceback on the terminal


def new_token() -> str:
    """A fresh token for an address that others can reach."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class AccessRules:
    """Which requests are accepted: the names this server answers to, its port, and a token where one is needed."""

    names: tuple[str, ...]
    port: int
    token: str | None = None

    @property
    def hosts(self) -> frozenset[str]:
        """Values of `Host` that are ours."""
        bare = self.names if self.port == 80 else ()  # browsers leave out the port of plain HTTP
        return frozenset((*bare, *(f"{name}:{self.port}" for name in self.names)))

    @property
    def origins(self) -> frozenset[str]:
        """Values of `Origin` that are ours."""
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies are shared by all ports of a host, so it has the port in it."""
        return f"elbowroom-{self.port}"

    def refusal(self, path: str, headers: Headers) -> str | None:
        """Why a request is refused, or None; the token apart."""
        host, origin = headers.get_all("Host"), headers.get_all("Origin")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return "this address is not served here; open the one that was printed, with the same port"
        if len(origin) > 1 or any(o.lower() not in self.origins for o in origin):
            return "a page of another origin may not connect"
        if not origin and "Upgrade" in headers:
            return "a websocket needs an Origin"
        if not {key for key, _ in parse_qsl(urlsplit(path).query, keep_blank_values=True)} <= QUERY:
            return "the address asks for something that is not known here"
        return None

    def knows(self, token: str | None) -> bool:
        """Whether this is the token; compared in constant time."""
        if self.token is None:
            return True
        return token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    def asked(self, path: str) -> str | None:
        """The token in the request's address, if there is one."""
        return dict(parse_qsl(urlsplit(path).query)).get("token")

    def carried(self, headers: Headers) -> str | None:
        """The token in the request's cookie, if there is one."""
        try:
            morsel = SimpleCookie("; ".join(headers.get_all("Cookie"))).get(self.cookie)
        except CookieError:
            return None
        return None if morsel is None else morsel.value

    def policy(self, host: str) -> dict[str, str]:
        """Headers of every answer to a request for that host, which was found to be ours."""
        own = "" if host.startswith("[") else f" ws://{host}"  # a policy cannot name an IPv6 address; 'self' covers it
        content = (
            "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",  # the client unpacks itself from one file
            f"connect-src 'self' data: blob:{own}",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
        )
        return {
            "Content-Security-Policy": "; ".join(content),
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Frame-Options": "DENY",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }


def names_of(host: str, token: str | None) -> tuple[str, ...]:
    """The names a server on that host answers to; raises for a host that needs a token and has none."""
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_-]{16,128}", token):
        raise ConfigError("token: expected 16 to 128 letters, digits, '-' or '_'; got something else")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None and address.is_unspecified:
        raise ConfigError(
            f"host: expected the one address or name that others will open, got {host}, which is all of them"
        )
    if host.lower() == "localhost" or (address is not None and address.is_loopback):
        own = f"[{host}]" if ":" in host else host.lower()
        return tuple(dict.fromkeys((*LOOPBACK, own)))
    if address is None and not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", host):
        raise ConfigError(f"host: expected a name or an address, got {host!r}")
    if token is None:
        raise ConfigError(f"host: {host} can be reached from other machines, which needs a token; none was given")
    return (f"[{address}]" if address is not None and address.version == 6 else host.lower(),)


KINDS = (
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "CommandTriggerMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "SceneNodeDragMessage",
    "SceneNodeClickMessage",
    "GetRenderResponseMessage",
)
"""What a page may send at all; steering.py says which page may what."""


def well_formed(data: str | bytes) -> bool:
    """Whether this is a message that a page may send, with the fields of its kind and values of their types."""
    import msgspec.msgpack

    if not isinstance(data, bytes):
        return False
    try:
        fields = msgspec.msgpack.decode(data)
        kind, names = _kinds()[fields.pop("type")]
        msgspec.convert(fields, kind)
    except Exception:  # bytes of anybody's choice can be wrong in any way
        return False
    return names.issuperset(fields)


@functools.cache
def _kinds() -> dict[str, tuple[type[Any], frozenset[str]]]:
    """The types of viser, and their fields, by name."""
    from viser import _messages

    found = {name: getattr(_messages, name) for name in KINDS}
    return {name: (kind, frozenset(spec.name for spec in fields_of(kind))) for name, kind in found.items()}


# ---- the door
class GuardError(ElbowroomError, RuntimeError):
    """The page cannot be guarded, so it was not served."""


@dataclass
class Doorkeeper:
    """Stands in for the `serve` that viser calls: the same server, on our socket and under our rules."""

    rules: AccessRules
    socket: socket.socket
    clients: int
    message_bytes: int
    dress: Callable[[Response], None]  # changes an answer that is viser's page
    inside: set[ServerConnection] = field(default_factory=set)
    calls: int = 0
    dropped: int = 0  # messages that were not well-formed
    ready: bool = False  # whether pages may connect
    shut: bool = False

    def serve(
        self, handler: Callable[[ServerConnection], Awaitable[None]], host: str, port: int, **options: Any
    ) -> serve:
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
        """The next well-formed message of a page; others are dropped and counted."""
        while not well_formed(data := await recv()):
            self.dropped += 1
        return data

    async def answer(self, connection: ServerConnection, request: Request, pages: Pages) -> Response | None:
        """The answer to one request; None accepts a websocket."""
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
            page = pages(connection, request)
            response = await page if inspect.isawaitable(page) else page
            if response is not None:
                self.dress(response)
        if response is not None:
            for name, value in rules.policy(headers["Host"].lower()).items():
                response.headers[name] = value
        return response
