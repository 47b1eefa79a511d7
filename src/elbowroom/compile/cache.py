"""Compiled code on disk, so that the next process need not trace or compile.

An entry is a header line (a checksum and what the caller wants to know about the code) and the object code.  The folder
is private to its owner; what is truncated, altered, or belongs to somebody else is ignored and made again.  Writing
goes through a temporary file and a rename, so processes that compile the same at once do not meet.  ELBOWROOM_CACHE
names another folder, or `off`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

MAGIC = b"elbowroom-kernel 1 "
LARGEST = 256 * 1024 * 1024  # bytes of entries; beyond it the oldest go


def folder() -> Path | None:
    """The cache folder, made if it is not there; None where it cannot be trusted or used."""
    name = os.environ.get("ELBOWROOM_CACHE", "")
    if name.lower() in ("off", "0", "none") or not SOURCES:
        return None
    path = (Path(name).expanduser() if name else _default()) / "kernels"  # a folder of our own, whatever else is there
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError:
        return None
    return path if _private(found) else None


@cache
def _default() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("elbowroom"))


def _private(found: os.stat_result) -> bool:
    """Owned by us, and nobody else can read or write it."""
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def _sources() -> str:
    """A hash of the source that makes kernels, in the rooms that trace programs; empty where there is none."""
    h = hashlib.sha256()
    root = Path(__file__).parent.parent
    rooms = ("algebra", "compile", "dynamics", "model", "geometry", "avoidance")
    files = [path for room in rooms for path in (root / room).glob("*.py")]
    for path in sorted(files):
        h.update(path.name.encode() + path.read_bytes())
    return h.hexdigest() if files else ""


SOURCES = _sources()  # now, as it is imported: a file that changes later makes kernels of another program


def key(*parts: Any) -> str:
    """The name of the entry for these parts, and for the source that makes it."""
    return hashlib.sha256(repr((SOURCES, *parts)).encode()).hexdigest()


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """What was stored under this name: facts and code.  None if nothing is there that can be trusted."""
    where = folder()
    if where is None:
        return None
    try:
        with open(where / name, "rb") as file:
            if not _private(os.fstat(file.fileno())):
                return None
            header, _, code = file.read().partition(b"\n")
    except OSError:
        return None
    if not header.startswith(MAGIC):
        return None
    digest, _, facts = header[len(MAGIC) :].partition(b" ")
    if digest != _checksum(name, facts, code):
        return None
    found: dict[str, Any] = json.loads(facts)
    with contextlib.suppress(OSError):
        os.utime(where / name)  # used now: the last to be forgotten
    return found, code


def store(name: str, facts: dict[str, Any], code: bytes) -> None:
    """Keep code and facts under a name.  A full disk or a read-only folder is not the caller's trouble."""
    where = folder()
    if where is None:
        return
    import tempfile  # here, since a process that finds its kernels never writes one

    text = json.dumps(facts).encode()
    with contextlib.suppress(OSError):
        descriptor, temporary = tempfile.mkstemp(dir=where, prefix=".")  # made with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(MAGIC + _checksum(name, text, code) + b" " + text + b"\n" + code)
            os.replace(temporary, where / name)
        except OSError:
            os.unlink(temporary)
            raise
        _prune(where)


def _checksum(name: str, facts: bytes, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + facts + code).hexdigest().encode()


def _prune(where: Path) -> None:
    """Forget the entries that were not used for longest when there are too many; touch nothing but entries."""
    ours = [p for p in where.iterdir() if len(p.name) == 64 and set(p.name) <= set("0123456789abcdef")]
    entries = sorted(((p.stat().st_mtime, p.stat().st_size, p) for p in ours), reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > LARGEST:
            path.unlink(missing_ok=True)
