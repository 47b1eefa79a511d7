"""The live page: an engine in its own process, and a page that looks at its board thirty times a second.

    with Live(Setup(robot="ur5e")) as live:
        print(live.address)
        live.serve()

One page steers; others watch.  The first page that is open steers, and who reloads or leaves gives it to the next.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..errors import ElbowroomError
from . import engine
from .board import Board
from .engine import RATE
from .guard import Page, open_page
from .panel import Panel
from .setup import Setup
from .stage import Stage

PATIENCE = 120.0  # s, for the first picture: an arm that was never compiled takes a few


class Live:
    """Engine and page, started and stopped together."""

    def __init__(self, setup: Setup, *, host: str = "127.0.0.1", port: int = 8080, token: str | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self.board = Board()
        self._orders, theirs = context.Pipe()
        self._sending = threading.Lock()
        self.engine = context.Process(target=engine.main, args=(theirs, self.board, setup), daemon=True)
        self.engine.start()
        theirs.close()
        self.steering: int | None = None
        self.page: Page = open_page(host, port, token=token, label="elbowroom")
        self._gate()
        self.stage = Stage(self.page.server)
        self.panel = Panel(self.page.server, self.order, setup.motion)
        self._grip: Any = None
        self._held = False  # while somebody drags it, the handle is theirs
        self._seen = 0

    @property
    def address(self) -> str:
        """What to open."""
        return self.page.address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends both."""
        self.order("quit")
        self.page.stop()
        self.engine.join(3.0)
        if self.engine.is_alive():
            self.engine.terminate()

    # ---- orders
    def order(self, what: str, *given: Any) -> None:
        """Sends an order to the engine; one that has gone gets none."""
        if what == "toggle":
            picture = self.board.look()
            what = "pause" if picture is not None and picture["running"] else "play"
        try:
            with self._sending:
                self._orders.send((what, *given))
        except (OSError, ValueError):
            pass

    def _gate(self) -> None:
        """One page steers.  viser stores what a page sends before any callback, so others are stopped here."""
        import viser._messages as messages

        server: Any = self.page.server  # viser's types are looser or stricter from version to version
        inside = server._websock_server
        real = inside._handle_incoming_message
        watching = (
            messages.ViewerCameraMessage,
            *(getattr(messages, name) for name in ("ClientErrorMessage",) if hasattr(messages, name)),
        )

        async def gate(client: int, message: Any) -> None:
            if not isinstance(message, watching):
                if client != self.steering:
                    return
                updates = getattr(message, "updates", None)
                if updates is not None and set(updates) != {"value"}:
                    return
            await real(client, message)

        inside._handle_incoming_message = gate

        async def came(client: Any) -> None:
            if self.steering is None:
                self.steering = client.client_id

        async def went(client: Any) -> None:
            if client.client_id == self.steering:
                rest = [each for each in server.get_clients() if each != client.client_id]
                self.steering = min(rest, default=None)

        server.on_client_connect(came)
        server.on_client_disconnect(went)

    # ---- dragging
    def _grips(self, picture: dict[str, Any]) -> None:
        """A handle at the person's feet; where it is dragged to, the person goes."""
        server: Any = self.page.server
        at = picture["person"]
        if self._grip is not None:
            self._grip.remove()
            self._grip = None
        if at is None:
            return
        self._grip = grip = server.scene.add_transform_controls(
            "/grip",
            scale=0.5,
            line_width=3.0,
            active_axes=(True, True, False),
            disable_rotations=True,
            position=(float(at[0]), float(at[1]), float(at[2]) + 0.02),
            depth_test=False,
        )
        self._held = False

        async def moved(event: Any) -> None:
            picture = self.board.look()
            if picture is None or picture["person"] is None:
                return
            phase = getattr(event, "phase", "update")
            self._held = phase != "end"
            here = np.array(grip.position[:2], dtype=float)
            base = picture["person"][:2] - picture["offset"]  # where they would be
            wanted = here - base
            if np.isfinite(wanted).all():
                self.order("drag", (float(wanted[0]), float(wanted[1])))

        grip.on_update(moved)

    # ---- showing
    def show(self) -> bool:
        """Shows what is new; False if nothing is."""
        number = self.board.number
        picture = self.board.look()
        if picture is None or number == self._seen:
            return False
        fresh = self.stage._generation != picture["generation"]
        self._seen = number
        self.stage.show(picture)
        self.panel.show(picture)
        if fresh:
            self._grips(picture)
        elif self._grip is not None and not self._held and picture["person"] is not None:
            x, y, z = picture["person"]
            if abs(self._grip.position[0] - x) + abs(self._grip.position[1] - y) > 0.01:
                self._grip.position = (float(x), float(y), float(z) + 0.02)
        return True

    def wait(self) -> None:
        """Until there is something to show."""
        end = time.monotonic() + PATIENCE
        while not self.show():
            if not self.engine.is_alive():
                raise ElbowroomError("the process that runs the cell has ended; what it said is above")
            if time.monotonic() > end:
                raise ElbowroomError(f"the cell did not start within {PATIENCE:g} s")
            time.sleep(0.05)

    def serve(self, seconds: float | None = None) -> None:
        """Shows until Ctrl-C, or for so long; raises if the engine dies."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            self.show()
            if not self.engine.is_alive():
                raise ElbowroomError("the process that runs the cell has ended; what it said is above")
            time.sleep(1 / RATE)
