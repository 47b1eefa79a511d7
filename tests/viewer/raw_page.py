"""A page that is no browser: it says whatever it is told to, and remembers what it is sent."""

from __future__ import annotations

import threading
import time

import msgspec.msgpack
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

WAIT = 30.0  # s, far above what any of this takes; only a failure waits so long


def until(condition, seconds=WAIT):
    """Waits for what another thread does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


class Raw:
    """An open websocket, as viser's client opens it, read by a thread of its own."""

    def __init__(self, address, *, camera=True):
        self.link = connect(
            address.replace("http", "ws").split("?")[0],
            origin=address.split("/?")[0].rstrip("/"),
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
            open_timeout=WAIT,
            proxy=None,
        )
        self.updates, self.count, self.bytes = {}, 0, 0
        self._whole = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if camera:
            self.look()

    def look(self):
        """The first message about the camera is what makes viser call somebody connected."""
        near = {"fov": 1.0, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800}
        places = {"wxyz": (1, 0, 0, 0), "position": (0, 0, 1), "look_at": (0, 0, 0), "up_direction": (0, 0, 1)}
        self.send("ViewerCameraMessage", **near, **places)

    def _read(self):
        try:
            for data in self.link:
                size, packed = (int.from_bytes(data[k : k + 8], "little") for k in (0, 8))
                inner = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], max_output_size=size)
                self.bytes += len(data)
                with self._whole:
                    for message in msgspec.msgpack.decode(inner)["messages"]:
                        self._take(message)
        except ConnectionClosed:
            pass

    def _take(self, message):
        self.count += 1
        if message["type"] == "GuiUpdateMessage":
            self.updates.setdefault(message["uuid"], {}).update(message["updates"])
        elif message["type"] == "SetPositionMessage":
            self.updates.setdefault(message["name"], {})["position"] = message["position"]
        elif "props" in message and "uuid" in message:
            self.updates[message["uuid"]] = dict(message["props"], value=message.get("value"))

    def at_once(self, look):
        """What is seen while nothing is half taken: all messages that were sent together, or none of them."""
        with self._whole:
            return look()

    def send(self, kind, **content):
        self.link.send(msgspec.msgpack.encode({"type": kind, **content}))

    def set(self, handle, **updates):
        """Changes an element, as if by hand."""
        self.send("GuiUpdateMessage", uuid=handle._impl.uuid, updates=updates)

    def value(self, handle):
        """What the page shows of an element."""
        return self.updates.get(handle._impl.uuid, {}).get("value")

    def says(self, text):
        """Whether any text of the page holds these words."""
        return any(text in str(each.get("content", "")) for each in list(self.updates.values()))

    def close(self):
        self.link.close()
        self._reader.join(WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
