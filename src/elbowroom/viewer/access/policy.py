"""Access policy: host, origin, token, and which messages of a page are read.

    request                                                     refused because
    `Host` is not ours                                          a foreign name can be made to mean 127.0.0.1 (rebinding)
    `Origin` is not ours, is `null`, or comes twice             a page of any site can open a websocket to 127.0.0.1
    a websocket without `Origin`                                every browser sends one, and nothing of ours lacks one
    a query with other words than `QUERY`                       viser's client follows `?websocket=` to any server
    no token, or a wrong one, where one is needed               the address can be reached from other machines

viser trusts its page: a message that it cannot read ends the connection, and one with a list where a name should be
ends in a traceback on the terminal.  So whoever reads a page's messages drops what `well_formed` refuses.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from dataclasses import dataclass
from dataclasses import fields as fields_of
from functools import cache
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from ...errors import ConfigError

if TYPE_CHECKING:
    from websockets.datastructures import Headers

QUERY = frozenset({"token", "darkMode", "hideViserLogo", "showStats", "fixedDpr"})
"""What a page's address may ask; `websocket` and `playbackPath` would have viser's client load from other servers."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """A fresh token for an address that others can reach."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Rules:
    """Who is let in: the names this server answers to, its port, and a token where one is needed."""

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


@cache
def _kinds() -> dict[str, tuple[type[Any], frozenset[str]]]:
    """The types of viser, and their fields, by name."""
    from viser import _messages

    found = {name: getattr(_messages, name) for name in KINDS}
    return {name: (kind, frozenset(spec.name for spec in fields_of(kind))) for name, kind in found.items()}
