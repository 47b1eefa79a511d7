"""The folder of a campaign: its table in blocks, each written whole or not at all.

    DIR/campaign.json            what the table is of: settings, seed, runs, columns, versions
    DIR/campaign.toml            the file as it was given
    DIR/blocks/000123.parquet    the rows of one block (or .npy)
    DIR/blocks/SHA256SUMS        a line per block that is complete, as `sha256sum -c` reads it

    table = read(DIR)                     a pyarrow.Table, in the order of runs
    rows, schema = read_rows(DIR)         the same as a structured array, without pyarrow where blocks are .npy

A block is written under a temporary name, synchronised with the disk and renamed; only then its line is added.  What
has no line, or another checksum than its line, does not count: it is run again when the campaign is resumed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import __version__
from ..disk_cache import SOURCES
from ..errors import ElbowroomError, UnknownNameError, pip_install
from .arms import where
from .distributions import Distribution, distribution
from .draws import parameters
from .engines import Block, block_size
from .runs import Rows, Schema, schema
from .settings import OBJECTIVE, Campaign
from .summaries import summary, whole

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
FORMATS = ("parquet", "npy", "summary")
SUFFIX = {"parquet": "parquet", "npy": "npy", "summary": "npy"}
MANIFEST, FILE, SUMS = "campaign.json", "campaign.toml", "SHA256SUMS"
SAME = ("format", "seed", "precision", "files", "elbowroom", "sources")
"""What must be the same in a campaign that is resumed, besides settings, arms and columns."""
PROBED = 64  # runs whose draws are compared
SHOWN = 4  # differences that a message names


class StoreError(ElbowroomError):
    """A campaign's folder that cannot be read, written or resumed."""


def arrow() -> Any:
    """pyarrow, or an error that says how to get it or do without."""
    try:
        pa = import_module("pyarrow")
        import_module("pyarrow.parquet")
    except ImportError as error:
        raise StoreError(f"Parquet files need pyarrow: {pip_install('campaign')}; --format npy does without") from error
    return pa


class Store:
    """A campaign's folder, open for writing by this process alone."""

    def __init__(self, folder: Path, columns: Schema, runs: int, block: int, files: str) -> None:
        self.folder, self.columns, self.runs, self.block, self.files = folder, columns, runs, block, files
        self.damaged: list[str] = []  # what was found so, and will be run again
        self._sums: dict[str, str] = {}
        self._lock: Any = None

    @classmethod
    def create(
        cls, folder: Path, campaign: Campaign, runs: int, *, block: int = 0, files: str = "parquet", precision: str
    ) -> Self:
        """A new campaign in a folder that is new or empty."""
        if folder.exists() and not _fresh(folder):
            what = "is not empty" if folder.is_dir() else "is a file"
            hint = "; --resume goes on with the campaign there" if (folder / MANIFEST).exists() else ""
            raise StoreError(f"{folder}: {what}; expected a new folder{hint}")
        _formats(files, campaign, folder)
        columns = schema(campaign)
        store = cls(folder, columns, runs, block or block_size(runs), files)
        found = manifest(campaign, columns, runs, store.block, files, precision)
        try:
            (folder / "blocks").mkdir(parents=True, exist_ok=True)
            store._take()
            _write(folder / FILE, campaign.text.encode())
            _write(folder / MANIFEST, (json.dumps(found, indent=1) + "\n").encode())
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written to: {error.strerror or error}") from error
        return store

    @classmethod
    def resume(cls, folder: Path, campaign: Campaign, runs: int | None, *, precision: str) -> Self:
        """The campaign that is in a folder already, which must be this one; with more runs than before if asked."""
        there = read_manifest(folder)
        runs = int(there["runs"]) if runs is None else runs
        block, files = int(there["block"]), str(there["files"])
        if there.get("rounded") and files != "summary":
            raise StoreError(f"{folder}: was made of summaries, in single precision; resume the campaign they are of")
        if files == "parquet":
            arrow()
        columns = schema(campaign)
        here = manifest(campaign, columns, runs, block, files, precision)
        wrong = differences(there, here)
        if runs < int(there["runs"]):
            wrong.append(f"runs: {there['runs']} there, {runs} here (more may be asked for, not fewer)")
        if wrong:
            more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
            raise StoreError(f"{folder}: holds another campaign: {'; '.join(wrong[:SHOWN])}{more}")
        store = cls(folder, columns, runs, block, files)
        try:
            store._take()
            store._sums = _read_sums(folder)
            store._check()
            if runs != there["runs"]:
                _write(folder / MANIFEST, (json.dumps(here, indent=1) + "\n").encode())
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written to: {error.strerror or error}") from error
        return store

    # ---- blocks

    @property
    def blocks(self) -> Iterator[Block]:
        """All blocks of the campaign."""
        for number, first in enumerate(range(0, self.runs, self.block)):
            yield Block(number, first, min(self.block, self.runs - first))

    def missing(self) -> list[Block]:
        """Those that are not complete."""
        return [block for block in self.blocks if self._name(block) not in self._sums]

    @property
    def done(self) -> int:
        """Runs that are complete."""
        return sum(block.count for block in self.blocks if self._name(block) in self._sums)

    def write(self, block: Block, rows: Rows) -> None:
        """Keeps a block; a StoreError leaves all others as they are."""
        if len(rows) != block.count or rows.dtype != self.columns.dtype:
            raise StoreError(
                f"block {block.number}: expected {block.count} rows with the campaign's columns; got others"
            )
        name = self._name(block)
        data = encoded(rows, self.columns, self.files)
        digest = hashlib.sha256(data).hexdigest()
        try:
            _write(self.folder / "blocks" / name, data)
            _append(self.folder / "blocks" / SUMS, f"{digest}  {name}\n".encode())
        except OSError as error:
            kept = sum(1 for _ in self._sums)
            raise StoreError(
                f"{self.folder / 'blocks' / name}: cannot be written: {error.strerror or error}; "
                f"{kept} blocks are kept, and --resume goes on from there"
            ) from error
        self._sums[name] = digest

    def close(self) -> None:
        """Another process may write now."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _name(self, block: Block) -> str:
        return f"{block.number:06d}.{SUFFIX[self.files]}"

    def _take(self) -> None:
        """Refuses a folder in which another process is at work."""
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        self._lock = open(self.folder / ".lock", "a")  # noqa: SIM115  # closed by `close`
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of this process alone: workers do not inherit it
        except OSError as error:
            self._lock.close()
            raise StoreError(f"{self.folder}: another process is running the campaign there") from error

    def _check(self) -> None:
        """Forgets blocks whose file is not as it was written, and writes the list of the others anew."""
        expected = {self._name(block): block for block in self.blocks}
        for name, digest in list(self._sums.items()):
            path, problem = self.folder / "blocks" / name, ""
            if name not in expected:
                problem = "is not a block of this campaign"
            elif not path.is_file():
                problem = "is missing"
            elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                problem = "is not as it was written (its checksum differs)"
            elif _count(path, self.files) != expected[name].count:
                del self._sums[name]  # the last block of a campaign that has more runs now
                continue
            if problem:
                del self._sums[name]
                self.damaged.append(f"blocks/{name} {problem}")
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self._sums.items()))
        _write(self.folder / "blocks" / SUMS, lines.encode())


def _fresh(folder: Path) -> bool:
    """Whether a folder is empty, but for what is left of a campaign that could not even begin."""
    ours = {".lock", "blocks", FILE, f".{FILE}.part", f".{MANIFEST}.part"}
    blocks = folder / "blocks"
    return folder.is_dir() and {each.name for each in folder.iterdir()} <= ours and not any(blocks.glob("*"))


def _write(path: Path, data: bytes) -> None:
    """The file whole, on the disk, or as it was before."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _append(path: Path, line: bytes) -> None:
    """The line at the end of the file, on the disk, or the file as it was before."""
    with open(path, "ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(line) != len(line):  # what a disk that is full leaves of it
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                file.truncate(before)
            raise


def _read_sums(folder: Path) -> dict[str, str]:
    """Checksums by file; a line that was cut off does not count."""
    path = folder / "blocks" / SUMS
    text = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    found = re.findall(r"^([0-9a-f]{64})  (\d{6,}\.(?:parquet|npy))\n", text, re.MULTILINE)
    return {name: digest for digest, name in found}


# ---- what the table is of


def manifest(campaign: Campaign, columns: Schema, runs: int, block: int, files: str, precision: str) -> dict[str, Any]:
    """What campaign.json holds."""
    return {
        "format": FORMAT,
        "title": campaign.title,
        "seed": campaign.seed,
        "runs": runs,
        "block": block,
        "files": files,
        "precision": precision,
        "elbowroom": __version__,
        "sources": SOURCES.digest[:16],
        "numpy": np.__version__,
        "drawn": drawn_digest(campaign),
        "settings": campaign.data(),
        "arms": {arm: where(arm, campaign.tips.get(arm)).arm.model.digest[:16] for arm in campaign.arms},
        "columns": [[name, columns.dtype[name].str] for name in columns.names],
        "labels": {name: list(words) for name, words in columns.labels.items()},
    }


def drawn_digest(campaign: Campaign) -> str:
    """A hash of what the first runs draw: another version that draws otherwise cannot read summaries."""
    if campaign.points is not None:
        return ""
    drawn = [(of.seed, of.arm, of.law, of.people, of.duration, of.drawn) for of in parameters(campaign, 0, PROBED)]
    return hashlib.sha256(repr(drawn).encode()).hexdigest()[:16]


def read_manifest(folder: Path) -> dict[str, Any]:
    """What campaign.json of a folder holds."""
    path = Path(folder) / MANIFEST
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(f"{folder}: no campaign is there (no {MANIFEST})") from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StoreError(f"{path}: expected JSON; {error}") from error
    needed = {"format", "seed", "runs", "block", "files", "settings", "columns", "labels"}
    if not isinstance(found, dict) or not needed <= set(found):
        raise StoreError(f"{path}: expected the JSON of a campaign; got something else")
    if found["format"] != FORMAT:
        raise StoreError(f"{path}: expected format {FORMAT}; got {found['format']!r}")
    return found


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What of two manifests is not the same, in words."""
    found = []
    for part in ("settings", "arms"):
        a, b = there.get(part, {}), json.loads(json.dumps(here[part]))
        for name in dict.fromkeys([*a, *b]):
            if a.get(name) != b.get(name):
                what = name if part == "settings" else f"the model of {name}"
                found.append(f"{what}: {_said(a, name)} there, {_said(b, name)} here")
    for name in SAME:
        if there.get(name) != here[name]:
            what = "elbowroom's sources" if name == "sources" else name
            found.append(f"{what}: {_said(there, name)} there, {_said(here, name)} here")
    if not found and (there["columns"] != here["columns"] or there["labels"] != json.loads(json.dumps(here["labels"]))):
        found.append("columns: others there")
    return found


def _said(table: Mapping[str, Any], name: str) -> str:
    return json.dumps(table[name]) if name in table else "nothing"


def campaign_of(folder: str | Path) -> Campaign:
    """The campaign whose table is in a folder, from its manifest: the files it was made of may have gone."""
    found = read_manifest(Path(folder))
    draws: dict[str, Distribution] = {}
    tips: dict[str, str] = {}
    for name, value in found["settings"].items():
        if name.startswith("tips."):
            tips[name.removeprefix("tips.")] = value
        else:
            draws[name] = distribution(value, name)
    return Campaign(draws, int(found["seed"]), str(found.get("title", "")), tips, str(folder))


def convert(folder: Path, out: Path, files: str = "parquet") -> Store:
    """The same table in another folder and format of files; what is not complete there is missing here.

    Arms' files are not needed.  A table that was made of summaries says so, and takes no more runs.
    """
    there, columns = read_manifest(folder), read_schema(folder)
    _formats(files, campaign_of(folder), out)
    if out.exists() and not _fresh(out):
        raise StoreError(f"{out}: is not empty; expected a new folder")
    changed = {"files": files, "rounded": bool(there.get("rounded")) or "summary" in (files, there["files"])}
    store = Store(out, columns, int(there["runs"]), int(there["block"]), files)
    try:
        (out / "blocks").mkdir(parents=True, exist_ok=True)
        store._take()
        _write(out / FILE, (folder / FILE).read_bytes())
        _write(out / MANIFEST, (json.dumps({**there, **changed}, indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{out}: cannot be written to: {error.strerror or error}") from error
    with store:
        blocks = {block.first: block for block in store.blocks}
        for rows in each_rows(folder):
            store.write(blocks[int(rows["run"][0])], rows)
    return store


def _formats(files: str, campaign: Campaign, folder: Path) -> None:
    """Refuses files that cannot be written."""
    if files not in FORMATS:
        raise UnknownNameError(f"files: expected {', '.join(FORMATS)}; got {files!r}")
    if files == "parquet":
        arrow()
    if files == "summary" and (campaign.points is not None or OBJECTIVE in campaign.draws):
        raise StoreError(f"{folder}: summaries are of runs that a file draws, not of a search's")


def read_schema(folder: Path) -> Schema:
    """The columns of the campaign in a folder."""
    found = read_manifest(folder)
    dtype = np.dtype([(name, kind) for name, kind in found["columns"]])
    return Schema(dtype, {name: tuple(words) for name, words in found["labels"].items()})


# ---- rows as files, and back


def encoded(rows: Rows, columns: Schema, files: str) -> bytes:
    """The bytes of a block's file."""
    out = io.BytesIO()
    if files != "parquet":
        np.save(out, summary(rows) if files == "summary" else rows, allow_pickle=False)
        return out.getvalue()
    arrow().parquet.write_table(as_table(rows, columns), out, compression="zstd")
    return out.getvalue()


def as_table(rows: Rows, columns: Schema) -> pa.Table:
    """Rows as a pyarrow.Table: words as dictionaries, none as ""."""
    arrays = arrow()
    found = {}
    for name in columns.names:
        values = np.ascontiguousarray(rows[name])
        words = columns.labels.get(name)
        if words is None:
            found[name] = arrays.array(values)
        else:
            codes = np.where(values < 0, len(words), values).astype(np.int16)
            found[name] = arrays.DictionaryArray.from_arrays(arrays.array(codes), arrays.array([*words, ""]))
    return arrays.table(found)


def as_rows(table: pa.Table, columns: Schema) -> Rows:
    """The inverse of `as_table`."""
    found = np.empty(table.num_rows, dtype=columns.dtype)
    for name in columns.names:
        words = columns.labels.get(name)
        if words is None:
            found[name] = table.column(name).to_numpy()
            continue
        codes, at = {word: k for k, word in enumerate(words)} | {"": -1}, 0
        for chunk in table.column(name).chunks:
            own = np.array([codes[word] for word in chunk.dictionary.to_pylist()], dtype=np.int16)
            found[name][at : at + len(chunk)] = own[chunk.indices.to_numpy(zero_copy_only=False)]
            at += len(chunk)
    return found


def decoded(data: bytes, columns: Schema, files: str, campaign: Campaign) -> Rows:
    """The rows of a block's file."""
    if files != "parquet":
        rows: Rows = np.load(io.BytesIO(data), allow_pickle=False)
        return whole(rows, campaign, columns) if files == "summary" else rows
    return as_rows(arrow().parquet.read_table(io.BytesIO(data)), columns)


def _count(path: Path, files: str) -> int:
    if files != "parquet":
        return len(np.load(path, mmap_mode="r", allow_pickle=False))
    return int(arrow().parquet.read_metadata(path).num_rows)


def _sound(folder: Path) -> Iterator[bytes]:
    """The bytes of every complete block, in order; a damaged one is refused by name."""
    for name, digest in sorted(_read_sums(folder).items()):
        path = folder / "blocks" / name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror or error}; --resume runs it again") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise StoreError(f"{path}: is not as it was written (its checksum differs); --resume runs it again")
        yield data


def each_rows(folder: str | Path) -> Iterator[Rows]:
    """The rows of the campaign in a folder block by block, in the order of runs: as much memory as one block takes."""
    folder = Path(folder)
    columns, manifest, campaign = read_schema(folder), read_manifest(folder), campaign_of(folder)
    files = str(manifest["files"])
    if files == "summary" and manifest.get("drawn") not in (None, drawn_digest(campaign)):
        made = f"elbowroom {manifest['elbowroom']}, sources {manifest['sources']}"
        raise StoreError(f"{folder}: this version draws other parameters than the one that made it ({made})")
    for data in _sound(folder):
        yield decoded(data, columns, files, campaign)


def read_rows(folder: str | Path) -> tuple[Rows, Schema]:
    """All complete rows of the campaign in a folder, in the order of runs, and their columns."""
    columns = read_schema(Path(folder))
    blocks = list(each_rows(folder))
    return (np.concatenate(blocks) if blocks else np.empty(0, dtype=columns.dtype)), columns


def read(folder: str | Path) -> pa.Table:
    """All complete rows of the campaign in a folder as a pyarrow.Table, in the order of runs."""
    rows, columns = read_rows(folder)
    return as_table(rows, columns)
