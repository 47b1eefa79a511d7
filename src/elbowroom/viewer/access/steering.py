"""Steering: one page steers, the others watch and can take over; and which messages of pages are accepted.

viser stores what a page sends, and hands it to the other pages, before any callback sees it.  So it is looked at here,
before viser does.  Of a page that steers this is accepted, and nothing else of any page:

    a slider's value           a finite number, limited to the slider's range
    a choice, a button         one of those that there are; a check box's is a bool
    a handle that is dragged   places and turns of finite numbers, at most `FARTHEST` away
    a key                      as it is

What was dropped or limited is answered with the true value, to the page that sent it.  Of a page that watches nothing
is accepted but its camera and the buttons for it, its button "Steer from this page", and a stop, by the button or the
key.  Whoever sees that the arm must stop can stop it; only the page that steers can let it go on.

The first page steers.  When it goes, the page that comes within `GRACE` seconds, before or after, is taken for the same
one, loaded again; if none comes, the one that has been there longest steers.  So a page that is alone always does.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import time
from typing import TYPE_CHECKING, Any

from ..panel.panel import CAMERAS, KEYS

if TYPE_CHECKING:
    import viser
    from viser import _messages
    from viser.infra import ClientId, Message, WebsockClientConnection

GRACE = 3.0  # s
FARTHEST = 100.0  # m
STOP = "stop"  # what the button says
FREE = frozenset({STOP, *CAMERAS})  # buttons that every page may press: they stop the arm, or are that page's own
STOP_KEYS = frozenset(key.does for key in KEYS if key.order == STOP)  # what the command of the key is called
LENGTHS = {"wxyz": 4, "position": 3, "start_position": 3, "end_position": 3, "ray_origin": 3, "ray_direction": 3}
STEERS = '<div style="font-size:12px;color:#55606a;padding:0 12px 4px">You steer.</div>'
WATCHES = (
    '<div style="font-size:12px;color:#8a5a00;padding:0 12px 4px">Watching; <b>{who}</b>.'
    " What you change here is not taken, but a stop is.</div>"
)


def sound(message: Message, farthest: float = math.inf) -> bool:
    """Whether a message holds finite numbers alone, none beyond `farthest`, and places have three and turns four."""
    fields: Any = message  # every message of viser is a dataclass, though its base is not
    for spec in dataclasses.fields(fields):
        value = getattr(message, spec.name)
        wanted = LENGTHS.get(spec.name)
        if wanted is not None and (not isinstance(value, tuple | list) or len(value) != wanted):
            return False
        for number in value if isinstance(value, tuple | list) else (value,):
            if isinstance(number, int | float) and not (math.isfinite(number) and abs(number) <= farthest):
                if "screen" not in spec.name:  # pixels
                    return False
            elif wanted is not None and not isinstance(number, int | float):
                return False
    return isinstance(getattr(message, "name", ""), str)


def held(handle: object, value: object) -> float | str | bool | None:
    """A page's value within the range or the choices of the element; None if it is not such a value."""
    import viser

    if isinstance(handle, viser.GuiSliderHandle):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        within: float = type(handle.value)(min(max(value, handle.min), handle.max))
        return within
    if isinstance(handle, viser.GuiDropdownHandle | viser.GuiButtonGroupHandle):
        return value if isinstance(value, str) and value in handle.options else None
    if isinstance(handle, viser.GuiCheckboxHandle):
        return value if isinstance(value, bool) else None
    return True if isinstance(handle, viser.GuiButtonHandle) else None


@dataclasses.dataclass
class _Open:
    """A page that is open: since when, and what it has of its own."""

    since: float
    line: viser.GuiHtmlHandle
    button: viser.GuiButtonHandle


class Steering:
    """Filters what pages send to a viser server; `who` is the id of the page that steers, None if there is none."""

    def __init__(self, server: viser.ViserServer, order: float = 0.0) -> None:
        from viser import GuiButtonGroupHandle
        from viser import _messages as messages

        self.server = server
        self._group = GuiButtonGroupHandle
        self.who: int | None = None
        self.dropped = 0
        self._pages: dict[int, _Open] = {}
        self._order = order
        self._waiting: asyncio.TimerHandle | None = None
        self._messages = messages
        self._scene = (
            messages.TransformControlsUpdateMessage,
            messages.TransformControlsDragStartMessage,
            messages.TransformControlsDragEndMessage,
            messages.SceneNodeDragMessage,
            messages.SceneNodeClickMessage,
        )
        self._inside = server._websock_server
        self._real = self._inside._handle_incoming_message
        vars(self._inside)["_handle_incoming_message"] = self._gate
        self._inside.on_client_connect(self._guard)
        server.on_client_connect(self._came)
        server.on_client_disconnect(self._went)

    # ---- what comes through
    async def _gate(self, client: ClientId, message: Message) -> None:
        """Filters messages about elements that all pages have."""
        if isinstance(message, self._messages.GuiUpdateMessage):
            await self._element(client, message)
        elif isinstance(message, self._scene):
            if client == self.who and sound(message, FARTHEST):
                await self._real(client, message)
            else:
                self._refuse_scene(client, message)
        elif isinstance(message, self._messages.CommandTriggerMessage) and self._may(client, message.uuid):
            await self._real(client, message)

    def _may(self, client: int, uuid: object) -> bool:
        """Whether a page may give a command: the page that steers any, every page the one that stops the arm."""
        if client == self.who:
            return True
        command = self.server.gui._command_handle_from_uuid.get(uuid) if isinstance(uuid, str) else None
        return command is not None and command.label in STOP_KEYS

    async def _element(self, client: ClientId, message: _messages.GuiUpdateMessage) -> None:
        handle = self.server.gui._gui_input_handle_from_uuid.get(message.uuid)
        if handle is None:  # gone, or the page's own
            return
        plain = isinstance(message.updates, dict) and set(message.updates) == {"value"}
        sent = message.updates["value"] if plain else None
        may = client == self.who or (isinstance(handle, self._group) and sent in FREE)
        value = held(handle, sent) if plain and may else None
        if value is None:
            self.dropped += 1
        else:
            await self._real(client, self._messages.GuiUpdateMessage(message.uuid, {"value": value}))
        if value is None or value != sent:
            self._set_right(client, self._messages.GuiUpdateMessage(message.uuid, {"value": handle.value}))

    def _refuse_scene(self, client: ClientId, message: Message) -> None:
        """Drops a drag, and puts what was dragged back on that page."""
        self.dropped += 1
        name = getattr(message, "name", None)
        name = name if isinstance(name, str) else ""
        handle = self.server.scene._handle_from_transform_controls_name.get(name)
        if handle is not None:
            place, turn = handle.position.tolist(), handle.wxyz.tolist()
            for back in (
                self._messages.SetPositionMessage(name, tuple(place)),
                self._messages.SetOrientationMessage(name, tuple(turn)),
            ):
                back.owner = getattr(message, "owner", "")
                self._set_right(client, back)

    def _set_right(self, client: ClientId, message: Message) -> None:
        """Tells one page what is true when the message goes, which may be something else by then.

        What is for one page and what is for all have senders of their own, and either may come first.  If the value
        were that of now, a page could get the new one, for all, and after it this one, and would keep it.
        """
        state = self._inside._client_state_from_id.get(client)
        if state is None:
            return
        written = type(message).as_serializable_dict
        vars(message)["as_serializable_dict"] = lambda buffers=None: written(self._last_told(message), buffers)
        state.message_buffer.push(message)

    def _last_told(self, message: Message) -> Message:
        """What all pages were told last of the same thing; the message itself if they were told nothing."""
        buffer = self._inside.get_message_buffer()
        with buffer.buffer_lock:
            number = buffer.id_from_redundancy_key.get(message.redundancy_key())
            return message if number is None else buffer.message_from_id.get(number, message)

    def _guard(self, connection: WebsockClientConnection) -> None:
        """Filters messages about what one page has alone: its camera and its button."""
        real = connection._handle_incoming_message

        async def gate(client: ClientId, message: Message) -> None:
            page = self._pages.get(client)
            if isinstance(message, self._messages.GuiUpdateMessage):
                if page is None or message.uuid != page.button._impl.uuid:
                    return
                message = self._messages.GuiUpdateMessage(message.uuid, {"value": True})
            elif isinstance(message, self._messages.ViewerCameraMessage):
                if not sound(message):
                    return
            elif not isinstance(message, self._messages.GetRenderResponseMessage):
                return
            await real(client, message)

        vars(connection)["_handle_incoming_message"] = gate

    # ---- who steers
    async def _came(self, client: viser.ClientHandle) -> None:
        line = client.gui.add_html("", order=self._order)
        button = client.gui.add_button("Steer from this page", order=self._order + 0.1, visible=False)

        async def take(_: object) -> None:
            self.take(client.client_id)

        button.on_click(take)
        self._pages[client.client_id] = _Open(time.monotonic(), line, button)
        if self.who is None:
            self.take(client.client_id)
        else:
            self._say()

    async def _went(self, client: viser.ClientHandle) -> None:
        self._pages.pop(client.client_id, None)
        if client.client_id != self.who:
            self._say()  # it may be alone now
            return
        self.who = None
        newest = max(self._pages, default=None)
        if newest is not None and time.monotonic() - self._pages[newest].since < GRACE:
            self.take(newest)
        elif newest is not None:
            self._waiting = asyncio.get_running_loop().call_later(GRACE, self._settle)
            self._say()

    def _settle(self) -> None:
        """The page that steered has not come back: the oldest one steers."""
        if self.who is None and self._pages:
            self.take(min(self._pages))

    def take(self, client: int) -> None:
        """That page steers from now on; call it from viser's own loop."""
        if client not in self._pages:
            return
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self.who = client
        self._say()

    def _say(self) -> None:
        who = "nobody steers now" if self.who is None else "another page steers"
        for number, page in list(self._pages.items()):
            state = self._inside._client_state_from_id.get(number)
            if state is None or state.message_buffer.done:  # it has gone, and viser will say so presently
                continue
            mine = number == self.who
            steers = STEERS if len(self._pages) > 1 else ""  # a page that is alone need not be told
            page.line.content = steers if mine else WATCHES.format(who=who)
            page.button.visible = not mine
