"""The cache on disk: compiled code, and numbers that take long to find, for the next process.

An entry is a header line (a checksum and what the caller wants to know about the rest) and the rest: object code, or of
`numbers` (capsules fitted to a mesh, a ready pose) their bytes.  The folder is private to its owner; what is truncated,
altered, belongs to somebody else or is no plain file is ignored and made again.  Writing goes through a temporary file
and a rename, so processes that compile the same at once do not meet.  ELBOWROOM_CACHE names another folder, or `off`.

Every key covers all sources of the package as they were when this module was imported, which is with the first modules
that trace anything, and not by `import elbowroom`.  A module that is imported later may have been changed in between,
or be reloaded: such a process is of no one version, and neither reads nor writes entries from then on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter, is_
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"elbowroom-kernel 1 "
LARGEST = 256 * 1024 * 1024  # bytes of entries; beyond it the oldest go
_SPEC = attrgetter("__spec__")
_HEXADECIMAL = frozenset("0123456789abcdef")
_UNSEEN: dict[Path, int] = {}  # folder -> bytes that this process has stored since it last looked through all entries


def folder() -> Path | None:
    """The cache folder, made if it is not there; None where it cannot be trusted or used."""
    name = os.environ.get("ELBOWROOM_CACHE", "")
    if name.lower() in ("off", "0", "none") or not SOURCES.digest or not SOURCES.loaded():
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


class Sources:
    """The source files of a package, at any depth, as they are now; `digest` is empty where there are none."""

    def __init__(self, package: str, root: Path) -> None:
        self._package, self._root = package, str(root)
        self._stamps: dict[str, tuple[int, int, int]] = {}
        self._seen: dict[str, Any] = {}  # module -> its spec, which is another after a reload
        self._newest = 0, ""
        self._fits = True
        h = hashlib.sha256()
        for path in sorted(_python_files(self._root)):
            with open(path, "rb", buffering=0) as file:
                text = file.read()
                self._stamps[path] = _stamp(os.fstat(file.fileno()))
            name = path[len(self._root) :].encode("utf-8", "surrogateescape")
            h.update(b"%d %d " % (len(name), len(text)) + name + text)
        self.digest = h.hexdigest() if self._stamps else ""

    def loaded(self) -> bool:
        """Whether the modules that were imported since, or again, are still those that were read."""
        modules = sys.modules
        newest = len(modules), next(reversed(modules))  # a module that is imported comes to the end
        if newest == self._newest and self._same(modules):
            return self._fits
        for name, module in tuple(modules.items()):
            if name.startswith(self._package) and self._seen.get(name, module) is not getattr(module, "__spec__", None):
                self._seen[name] = module.__spec__
                path = str(getattr(module, "__file__", None) or "")
                if path.startswith(self._root + os.sep) and path.endswith(".py"):
                    try:
                        self._fits = self._fits and self._stamps.get(path) == _stamp(os.stat(path))
                    except OSError:
                        self._fits = False
        self._newest = newest  # after all have been looked at: another thread may ask meanwhile
        return self._fits

    def _same(self, modules: Mapping[str, Any]) -> bool:
        """Whether the modules that were looked at are still there; asked for every kernel, so without a loop here."""
        seen = dict(self._seen)  # another thread may add to it meanwhile
        try:
            return all(map(is_, map(_SPEC, map(modules.__getitem__, seen)), seen.values()))
        except (KeyError, AttributeError):  # removed, or replaced by what is no module
            return False


def _python_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _python_files(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file does."""
    return found.st_ino, found.st_size, found.st_mtime_ns


SOURCES = Sources(__name__.partition(".")[0], Path(__file__).parent)


def key(*parts: object) -> str:
    """The name of the entry for these parts, and for the source that makes it."""
    return hashlib.sha256(repr((SOURCES.digest, np.__version__, *parts)).encode()).hexdigest()


def load(name: str) -> tuple[dict[str, Any], bytes] | None:
    """What was stored under this name: facts and code.  None if nothing is there that can be trusted."""
    where = folder()
    if where is None:
        return None
    try:
        with open(where / name, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _private(found) or found.st_size > LARGEST:
                return None
            header, _, code = file.read().partition(b"\n")
    except OSError:
        return None
    if not header.startswith(MAGIC):
        return None
    digest, _, facts = header[len(MAGIC) :].partition(b" ")
    if digest != _checksum(name, facts, code):
        return None
    known: dict[str, Any] = json.loads(facts)
    with contextlib.suppress(OSError):
        os.utime(where / name)  # used now: the last to be forgotten
    return known, code


def numbers(make: Callable[[], NDArray[np.float64]], width: int, *parts: object) -> NDArray[np.float64]:
    """What `make` gives, (k, width) finite numbers, made once for these parts and found again by other processes.

    `parts` are all that the numbers depend on besides the package's sources.
    """
    name = key("numbers", width, *parts)
    found = load(name)
    if found is not None and found[0] == {"width": width} and len(found[1]) % (8 * width) == 0:
        known = np.frombuffer(found[1], dtype="<f8").reshape(-1, width).astype(float)
        if len(known) and np.isfinite(known).all():
            return known
    made = np.asarray(make(), dtype=float).reshape(-1, width)
    if np.isfinite(made).all():
        store(name, {"width": width}, made.astype("<f8").tobytes())
    return made


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe or a device in its place is opened too, but not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def store(name: str, facts: Mapping[str, object], code: bytes) -> None:
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
        unseen = _UNSEEN.get(where, LARGEST) + len(code)
        if unseen > LARGEST // 64:  # with the first entry, and then not with each: there may be thousands to look at
            _prune(where)
            unseen = 0
        _UNSEEN[where] = unseen


def _checksum(name: str, facts: bytes, code: bytes) -> bytes:
    return hashlib.sha256(name.encode() + facts + code).hexdigest().encode()


def _prune(where: Path) -> None:
    """Forget the entries that were not used for longest when there are too many; touch nothing but entries."""
    entries, total = [], 0
    with os.scandir(where) as listed:
        for each in listed:
            if len(each.name) == 64 and _HEXADECIMAL.issuperset(each.name):
                with contextlib.suppress(OSError):  # another process may have been faster
                    found = each.stat(follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode):
                        entries.append((found.st_mtime, found.st_size, each.path))
                        total += found.st_size
    if total <= LARGEST:
        return
    total = 0
    for _, size, path in sorted(entries, reverse=True):
        total += size
        if total > LARGEST:
            with contextlib.suppress(OSError):
                os.unlink(path)
