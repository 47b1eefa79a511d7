"""Messages to the live page: a real page with all its elements, and the engine behind it, in one process.

An input is JSON: messages in order, each with its type and content.  An element is meant by its name in `widgets`; a
message may also be bytes.  What comes back on the terminal, in the log or as an order that fails is a finding.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import os
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from ..mutate.numbers import extreme, number
from ..mutate.text import STRANGE, raw
from ..target import Broken, Target

Rng = np.random.Generator
PATIENCE = 60.0  # s for what takes milliseconds; only a page that is dead waits so long
ARMS = ("planar2", "planar2", "scara")
JUNK = (None, True, False, 0, -1, 2**63, 1.5, "", "text", [], [1], {}, {"a": 1}, [[1.0]] * 3, "K", "stop", "\ud83d")
MESSAGES = (
    "GuiUpdateMessage", "CommandTriggerMessage", "SceneNodeDragMessage", "SceneNodeClickMessage",
    "ViewerCameraMessage", "TransformControlsUpdateMessage", "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage", "GetRenderResponseMessage", "ScenePointerMessage",
    "GuiButtonHoldMessage", "GuiFormSubmitMessage", "GuiFormDirtyMessage", "FileTransferStartUpload",
    "FileTransferPart", "ShareUrlRequest", "ShareUrlDisconnect", "RemoveSceneNodeMessage", "GuiModalMessage",
    "SetCameraPositionMessage", "ThemeConfigurationMessage", "Nothing", "",
)  # fmt: skip
GRIPS = ("/grips/person/ring", "/grips/person/body", "/grips/left", "/grips/right", "/arm", "")
CAMERA = {
    "fov": 1.0,
    "near": 0.01,
    "far": 1000.0,
    "image_height": 600,
    "image_width": 800,
    "wxyz": (1, 0, 0, 0),
    "position": (0, 0, 1),
    "look_at": (0, 0, 0),
    "up_direction": (0, 0, 1),
}


class _Done:
    """A process that has done what it was started for."""

    exitcode, pid = 0, None

    def __init__(self, alive: bool) -> None:
        self._alive = alive

    def is_alive(self) -> bool:
        return self._alive

    def join(self, *_: Any) -> None:
        self._alive = False

    terminate = kill = join


class _Heard(logging.Handler):
    """Log lines with a traceback, and those of asyncio; not those of the door, which nobody sees (server.py)."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (record.exc_info or record.name == "asyncio") and not record.name.endswith("guard.websockets"):
            self.lines.append(self.format(record))


class Page(Target):
    """Websocket messages to the live page's own elements: no traceback, values stay theirs, the engine goes on."""

    name, suffix, share = "page", ".json", 5.0

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._live: Any = None  # made at the first input: who only wants to know what an input is needs no page

    # ---- the page
    def _open(self) -> None:
        from elbowroom.viewer.session import live as live_module
        from elbowroom.viewer.session.engine import Engine
        from elbowroom.viewer.session.setup import Setup

        self._heard = _Heard()
        logging.getLogger().addHandler(self._heard)
        self._log = logging.getLogger("elbowroom.avoidance")
        self._log.setLevel(logging.CRITICAL + 1)
        real, pipes = live_module.start, list[Connection]()

        def start(target: Any, *given: Any) -> Any:
            """The engine stays in this process, and an HTML page is written by nobody."""
            if target is live_module.engine.main:
                pipes.append(Connection(os.dup(given[0].fileno())))  # its own end is closed by who starts it
                return _Done(True)
            return _Done(False)

        live_module.start = start  # to the end: "save as an HTML page" starts a process too
        self._restore = lambda: setattr(live_module, "start", real)
        setup = Setup(robot="planar2")
        self._live = live_module.Live(setup, port=0, out=self.folder)
        self._engine = Engine(pipes[0], self._live.board, setup)
        self._engine.running = False
        self._turn()
        server = self._live.page.server
        self._barrier = threading.Event()
        self._box = server.gui.add_checkbox("barrier", initial_value=False)

        async def reached(_: Any) -> None:
            self._barrier.set()

        self._box.on_update(reached)
        panel = self._live.panel
        self.widgets = {**panel.choices, **panel.sliders, **panel.views, "speed": panel.speed, "run": panel.run}
        self.widgets |= {"brake": panel.brake, "tape": panel.tape, "page": panel.page, "status": panel.status}
        self.commands = list(server.gui._command_handle_from_uuid)
        self._link: Any = None
        self._connect()

    def _connect(self) -> None:
        import viser
        from websockets.sync.client import connect

        address = self._live.address
        self._link = connect(
            address.replace("http", "ws").split("?")[0],
            origin=address.rstrip("/"),
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
            open_timeout=PATIENCE,
            proxy=None,
        )
        link = self._link
        threading.Thread(target=_drain, args=(link,), daemon=True).start()
        before = self._live.steering
        self._send({"type": "ViewerCameraMessage", **CAMERA})
        self._until(lambda: self._live.steering not in (None, before) or len(self._live.steering_wheel._pages) > 1)
        newest = max(self._live.steering_wheel._pages)
        self._live.take_over(newest)
        self._until(lambda: self._live.steering == newest)

    def _until(self, condition: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise Broken("the page does not answer")
            time.sleep(0.001)

    def _send(self, message: Any) -> None:
        import msgspec.msgpack

        self._link.send(message if isinstance(message, bytes) else msgspec.msgpack.encode(message))

    def _turn(self) -> None:
        """What engine and page do thirty times a second."""
        self._engine.obey()
        self._engine.control_step()
        self._engine.show()
        self._live.show()

    # ---- inputs
    def generate(self, rng: Rng) -> bytes:
        return json.dumps([self._message(rng) for _ in range(int(rng.choice([1, 1, 2, 4])))]).encode()

    def _message(self, rng: Rng) -> dict[str, Any]:
        how = rng.random()
        junk = lambda: _plain(JUNK[rng.integers(len(JUNK))])  # noqa: E731
        if how < 0.45:
            widget, value = self._change(rng)
            updates: Any = {"value": value}
            if rng.random() < 0.06:
                others = [junk(), {"label": "x"}, {"value": value, "visible": False}, {}, {"disabled": True}]
                updates = others[rng.integers(len(others))]
            message = {"type": "GuiUpdateMessage", "uuid": {"widget": widget}, "updates": updates}
        elif how < 0.55:
            message = {"type": "CommandTriggerMessage", "uuid": {"command": int(rng.integers(8))}}
        elif how < 0.75:
            message = self._drag(rng)
        elif how < 0.94:
            message = {"type": "ViewerCameraMessage", **json.loads(json.dumps(CAMERA))}
        else:
            message = {"type": MESSAGES[rng.integers(len(MESSAGES))], "uuid": junk(), "name": junk(), "value": junk()}
        if rng.random() < 0.12:
            key = sorted(message)[rng.integers(len(message))]
            if rng.random() < 0.4:
                message[key] = junk()
            elif rng.random() < 0.4:
                message[key] = _spoiled(rng, message[key])
            elif rng.random() < 0.5:
                del message[key]
            else:
                message[str(rng.choice(["extra", "owner", "client_id"]))] = junk()
        if rng.random() < 0.03:
            message = {"bytes": int(rng.integers(2**31)), "of": message}
        return message

    def _change(self, rng: Rng) -> tuple[str, Any]:
        """A widget and a value that may suit it."""
        name = str(
            rng.choice(
                [
                    "influence",
                    "gain",
                    "kp",
                    "max_speed",
                    "filter",
                    "speed",
                    "scenario",
                    "robot",
                    "controller",
                    "inverse",
                    "limits",
                    "supervision",
                    "meshes",
                    "shells",
                    "arrows",
                    "run",
                    "brake",
                    "tape",
                    "page",
                    "status",
                    "nothing",
                ]
            )
        )
        if rng.random() < 0.12:
            return name, _plain(JUNK[rng.integers(len(JUNK))])
        if name in ("influence", "gain", "kp", "max_speed", "speed"):
            return name, _plain(number(rng, 0.5, 0.4))
        if name == "filter":
            return name, _plain(float(rng.choice([0.0, 0.5, -1.0, 99.0, extreme(rng)])))
        values = {
            "scenario": ("cell", "cell", "test 1", "nowhere", "recorded"),
            "robot": (*ARMS, "nobody", "../panda", "panda.urdf"),
            "controller": ("K", "F", "Q"),
            "inverse": ("dls", "transpose", ""),
            "limits": ("scaling", "potential", "none"),
            "supervision": ("stop", "watch", "off", "OFF"),
            "run": ("pause", "go", "step", "reset", "stop"),
            "brake": ("stop", "go on", "go"),
        }
        if name in values:
            return name, str(rng.choice(values[name]))
        return name, bool(rng.random() < 0.5)

    def _drag(self, rng: Rng) -> dict[str, Any]:
        place = lambda: [_plain(number(rng, x, 0.3)) for x in (1.0, 0.2, 0.5)]  # noqa: E731
        return {
            "type": "SceneNodeDragMessage",
            "name": str(rng.choice(GRIPS)),
            "phase": str(rng.choice(["start", "update", "end", "never"])),
            "instance_index": None,
            "start_position": place(),
            "end_position": place(),
            "start_screen_pos": [0.5, 0.5],
            "end_screen_pos": [0.5, 0.5],
            "button": "left",
            "modifier": None,
        }

    # ---- feeding
    def feed(self, data: bytes) -> bool:
        if self._live is None:
            self._open()
        messages = json.loads(data)
        refused = self._live.steering_wheel.dropped
        said, real = io.StringIO(), sys.stderr
        sys.stderr = said
        self._heard.lines.clear()
        closed = False
        try:
            for message in messages:
                closed |= not self._give(message)
            closed |= not self._settled()
            self._until(lambda: not len(self._live._orders))
            self._turn()
            self._turn()
        finally:
            sys.stderr = real
        self._look(said.getvalue())
        return not closed and self._live.steering_wheel.dropped == refused

    def _give(self, message: Any) -> bool:
        """Sends a message; False where the page has closed the connection, which is then opened again."""
        from websockets.exceptions import ConnectionClosed

        data: Any = self._meant(message)
        if isinstance(data, dict) and "bytes" in data and "of" in data:
            import msgspec.msgpack

            data = raw(np.random.default_rng(data["bytes"]), msgspec.msgpack.encode(self._meant(data["of"])))
        try:
            self._send(data)
        except ConnectionClosed:
            self._connect()
            return False
        return True

    def _meant(self, message: Any) -> Any:
        """The message with the true identifier of the element that it means."""
        if not isinstance(message, dict):
            return message
        uuid = message.get("uuid")
        if isinstance(uuid, dict) and "widget" in uuid:
            handle = self.widgets.get(uuid["widget"])
            message = {**message, "uuid": "nothing" if handle is None else handle._impl.uuid}
        elif isinstance(uuid, dict) and "command" in uuid:
            message = {**message, "uuid": self.commands[uuid["command"] % len(self.commands)]}
        return _special(message)

    def _settled(self) -> bool:
        """Waits until the page has taken everything; False if it has closed the connection instead."""
        from websockets.exceptions import ConnectionClosed

        self._barrier.clear()
        value = not self._box.value
        try:
            self._send({"type": "GuiUpdateMessage", "uuid": self._box._impl.uuid, "updates": {"value": value}})
            end = time.monotonic() + PATIENCE
            while not self._barrier.wait(0.02):
                if self._link.close_code is not None:
                    raise ConnectionClosed(None, None)
                if time.monotonic() > end:
                    raise Broken("the page does not answer")
        except ConnectionClosed:
            self._connect()
            return False
        return True

    def _look(self, said: str) -> None:
        if "Traceback" in said or self._heard.lines:
            text = said + "\n".join(self._heard.lines)
            raise Broken(f"a message made the page say: {_last(text)}")
        engine = self._engine
        for name, handle in self.widgets.items():
            value = getattr(handle, "value", None)
            if hasattr(handle, "min") and not (math.isfinite(value) and handle.min <= value <= handle.max):
                raise Broken(f"the slider {name} is out of its range")
            if hasattr(handle, "options") and value not in handle.options and name != "run":
                raise Broken(f"the choice {name} is none of its own")
        if engine.quit:
            raise Broken("a message ended the engine")
        state = engine.cell.state
        if not (np.isfinite(state.q).all() and np.isfinite(engine.cell.people_rows).all()):
            raise Broken("a message made the cell's numbers not finite")
        if engine.problem and any(word in engine.problem for word in ("Error:", "Exception:")):
            raise Broken(f"an order failed: {engine.problem}")

    def close(self) -> None:
        if self._live is None:
            return
        logging.getLogger().removeHandler(self._heard)
        self._log.setLevel(logging.NOTSET)
        self._engine.close()
        with contextlib.suppress(Exception):
            self._link.close()
        self._live.close()
        self._restore()


def _drain(link: Any) -> None:
    with contextlib.suppress(Exception):
        for _ in link:
            pass


def _last(text: str) -> str:
    """The last line of a traceback: what it was."""
    found = [line for line in text.strip().splitlines() if line and not line.startswith((" ", "\t"))]
    return found[-1][:200] if found else text[-200:]


def _plain(value: Any) -> Any:
    """As JSON can hold it: what is not finite by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"special": repr(value)}
    return value


def _special(value: Any) -> Any:
    """The inverse of `_plain`, all the way down."""
    if isinstance(value, dict):
        if set(value) == {"special"}:
            return float(value["special"])
        return {key: _special(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_special(each) for each in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return value if not isinstance(value, int) or abs(value) < 2**63 else float(value)


def _spoiled(rng: Rng, value: Any) -> Any:
    """A value of the same shape with one thing in it changed."""
    if isinstance(value, list) and value:
        k = int(rng.integers(len(value)))
        return [_spoiled(rng, each) if j == k else each for j, each in enumerate(value)]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _plain(extreme(rng))
    return STRANGE[rng.integers(len(STRANGE))] if isinstance(value, str) else [value]
