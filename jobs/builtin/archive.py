"""The archive: history that is deleted is written to Parquet files first, a day at a time, and checked.

A folder, or a bucket, has ``executions/date=2026-11-01/0.parquet`` (Hive's layout, which DuckDB, Spark and others
read), the same for ``log_lines``, ``runs`` and ``skipped_occurrences``, and ``manifests/2026-11-01.json`` with the rows
and the SHA-256 of each file. A day belongs to the archive as soon as its manifest is there, which is written last.
"""

import hashlib
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ..core.base.errors import ConfigurationError
from ..own.threads import in_own_thread
from ..store.db.database import Database
from ..store.db.filelock import write_through
from ..store.statements import archive as stored
from ..store.statements.archive import EXECUTIONS, LINES, PARTS, Kind, Part

PAGE: Final = 5_000
"""Rows that are read and written at once."""
MOST_ROWS: Final = 1_000_000
"""Rows of a file at most."""
NAMES: Final = (*(part.name for part in PARTS), LINES)
"""The folders of the archive that have rows."""
_PIECE: Final = 1 << 20
_MANIFESTS: Final = "manifests"
Row = Mapping[str, Any]


class ArchiveError(Exception):
    """Say that files differ from their intended content, or cannot be read; nothing of the day is deleted."""


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """Describe a file of the archive.

    Attributes:
        path: Where it is, from the root of the archive.
        rows: How many rows it has.
        bytes: How large it is.
        sha256: The digest of its content.
    """

    path: str
    rows: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Name the kind of its rows, e.g. ``executions``."""
        return self.path.partition("/")[0]


def location_of(url: str) -> str:
    """Return the place of an archive, without the parts that only its node needs to know.

    Raises:
        ConfigurationError: the address has a password; it would be shown.
    """
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ConfigurationError(
            "archive_url: must have no name and password in it; the usual variables of AWS are read, such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return url.partition("?")[0].rstrip("/")


class Archive:
    """Write and read an archive.

    Attributes:
        location: Where it is, without anything secret.
        arrow: PyArrow, which is an extra.
        parquet: Its part that reads and writes Parquet.
        storage: The file system of the archive.
    """

    def __init__(self, url: str) -> None:
        """Find the folder or bucket; nothing is written yet.

        Args:
            url: An absolute path, or ``s3://bucket/prefix``, as ``pyarrow.fs`` takes them.

        Raises:
            ConfigurationError: PyArrow is not installed, or the address cannot be read.
        """
        self.location = location_of(url)
        try:
            self.arrow: Any = import_module("pyarrow")
            self.parquet: Any = import_module("pyarrow.parquet")
            self._compute: Any = import_module("pyarrow.compute")
            self._dataset: Any = import_module("pyarrow.dataset")
            self._fs: Any = import_module("pyarrow.fs")
        except ImportError:
            raise ConfigurationError("the archive needs PyArrow: pip install 'cronograph[archive]'") from None
        try:
            self.storage, root = self._fs.FileSystem.from_uri(url)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"archive_url: must be an absolute path or s3://bucket/prefix, got {self.location!r}: {error}"
            ) from None
        self._root = str(root).rstrip("/")
        self._is_folder: bool = self.storage.type_name == "local"

    def clear(self, day: date) -> None:
        """Delete the files of a day that an unfinished attempt has written."""
        for name in NAMES:
            self.storage.delete_dir_contents(self.path(_folder(name, day)), missing_dir_ok=True)

    def writer(self, name: str, day: date, kinds: Mapping[str, Kind], most: int = MOST_ROWS) -> "Writer":
        """Return a writer of rows of a day, to files of about so many rows."""
        return Writer(self, name, day, kinds, most)

    def check(self, files: Sequence[ArchivedFile]) -> None:
        """Read files again.

        Raises:
            ArchiveError: one of them has changed since it was written.
        """
        for one in files:
            digest, size = hashlib.sha256(), 0
            with self.storage.open_input_stream(self.path(one.path)) as stream:
                while piece := stream.read(_PIECE):
                    digest.update(piece)
                    size += len(piece)
            rows = self.parquet.read_metadata(self.path(one.path), filesystem=self.storage).num_rows
            found = ArchivedFile(one.path, rows, size, digest.hexdigest())
            if found != one:
                raise ArchiveError(f"{self.location}/{one.path}: must be {asdict(one)}, was read as {asdict(found)}")

    def write_manifest(self, day: date, files: Sequence[ArchivedFile]) -> None:
        """Say that a day is complete, and list its files."""
        text = json.dumps({"version": 1, "date": f"{day}", "files": [asdict(one) for one in files]}, indent=1)
        name = _manifest(day)
        # In a folder a file is there as soon as it is begun, in a bucket only once it is whole.
        begun = f"{name}.part" if self._is_folder else name
        with self.create(begun) as stream:
            stream.write(text.encode())
        if begun != name:
            self.sync([begun])
            self.storage.move(self.path(begun), self.path(name))
            self.sync([name])

    def sync(self, files: Sequence[str]) -> None:
        """Wait until files and their folders are on the disk; a bucket has a file only once it keeps it."""
        if self._is_folder:
            paths, root = [Path(self.path(one)) for one in files], Path(self._root)
            for one in {*paths, *(above for path in paths for above in path.parents if above.is_relative_to(root))}:
                write_through(one)

    def days(self) -> list[date]:
        """Return the days that are complete, the newest first."""
        selector = self._fs.FileSelector(self.path(_MANIFESTS), allow_not_found=True)
        found = (_day_of(one.base_name) for one in self.storage.get_file_info(selector))
        return sorted((day for day in found if day is not None), reverse=True)

    def files(self, day: date) -> list[ArchivedFile]:
        """Return the files of a complete day.

        Raises:
            ArchiveError: its manifest cannot be read.
        """
        with self._reading(_manifest(day)), self.storage.open_input_stream(self.path(_manifest(day))) as stream:
            return [ArchivedFile(**one) for one in json.loads(stream.read())["files"]]

    def counts(self, day: date) -> Mapping[str, int] | None:
        """Return how many rows of each name a day has; None = the day is not complete."""
        if self.storage.get_file_info(self.path(_manifest(day))).type == self._fs.FileType.NotFound:
            return None
        files = self.files(day)
        return {name: sum(one.rows for one in files if one.name == name) for name in NAMES}

    def condition(self, column: str, operator: str, value: Any) -> Any:  # noqa: ANN401 - PyArrow has no types
        """Return a condition on a column, with the operators of the API's filters."""
        compute = self._compute
        of_row = compute.field(column)
        plain = {"eq": "__eq__", "ne": "__ne__", "gt": "__gt__", "gte": "__ge__", "lt": "__lt__", "lte": "__le__"}
        if operator in plain:
            return getattr(of_row, plain[operator])(value)
        if operator in {"in", "notIn"}:
            return of_row.isin(value) if operator == "in" else ~of_row.isin(value)
        if operator == "isNull":
            return of_row.is_null() if value else of_row.is_valid()
        if operator == "startsWith":
            return compute.starts_with(of_row, value)
        return compute.match_substring(of_row, value, ignore_case=True)

    def rows(self, day: date, name: str, condition: Any = None) -> Iterator[dict[str, Any]]:  # noqa: ANN401
        """Yield the rows of a complete day that meet a condition (None = all), the last one first.

        Args:
            day: The day on which they ended.
            name: The name of the rows, e.g. ``executions``.
            condition: One of ``condition``, or several, put together by ``&``.

        Raises:
            ArchiveError: the manifest or a file cannot be read.
        """
        for one in reversed([each for each in self.files(day) if each.name == name]):
            with self._reading(one.path):
                file = self._dataset.dataset(self.path(one.path), filesystem=self.storage, format="parquet")
                groups = [group for part in file.get_fragments() for group in part.split_by_row_group(condition)]
            for group in reversed(groups):
                with self._reading(one.path):
                    rows: list[dict[str, Any]] = group.to_table(filter=condition).to_pylist()
                yield from reversed(rows)

    @contextmanager
    def _reading(self, name: str) -> Generator[None]:
        try:
            yield
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArchiveError(f"{self.location}/{name}: cannot be read: {error}") from error

    def create(self, name: str) -> Any:  # noqa: ANN401 - PyArrow has no types
        """Begin a file; return the object that takes its content."""
        path = self.path(name)
        if self._is_folder:
            # A bucket has no folders.
            self.storage.create_dir(path.rpartition("/")[0], recursive=True)
        return self.storage.open_output_stream(path)

    def path(self, name: str) -> str:
        """Return the path by which PyArrow finds a file of the archive."""
        return f"{self._root}/{name}"


def _folder(name: str, day: date) -> str:
    return f"{name}/date={day}"


def _manifest(day: date) -> str:
    return f"{_MANIFESTS}/{day}.json"


def _day_of(name: str) -> date | None:
    """Return the day of a manifest; None = the file is none, such as one that is being written."""
    try:
        return date.fromisoformat(name.removesuffix(".json")) if name.endswith(".json") else None
    except ValueError:
        return None


class Writer:
    """Write rows of a day to files, a new one for each million."""

    def __init__(self, archive: Archive, name: str, day: date, kinds: Mapping[str, Kind], most: int) -> None:
        self.written: list[ArchivedFile] = []
        self._most = most
        self._archive = archive
        self._folder = _folder(name, day)
        self._json = [column for column, kind in kinds.items() if kind == "json"]
        arrow = archive.arrow
        types = {
            "flag": arrow.bool_(),
            "json": arrow.string(),
            "number": arrow.float64(),
            "text": arrow.string(),
            "time": arrow.timestamp("us", tz="UTC"),
            "whole": arrow.int64(),
        }
        self._schema = arrow.schema([(column, types[kind]) for column, kind in kinds.items()])
        self._sink: _Sink | None = None
        self._parquet: Any = None
        self._rows = 0

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows as one group of the file; JSON values stand in them as text."""
        if self._sink is None:
            self._parquet, self._sink = None, _Sink(self._archive, f"{self._folder}/{len(self.written)}.parquet")
            self._parquet = self._archive.parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
            self._rows = 0
        plain = [{**row, **{name: _text(row[name]) for name in self._json}} for row in rows]
        self._parquet.write_table(self._archive.arrow.Table.from_pylist(plain, schema=self._schema))
        self._rows += len(rows)
        if self._rows >= self._most:
            self.close()

    def close(self) -> None:
        """End the file, if there is one; its digest is that of the bytes handed to the storage."""
        if self._sink is not None:
            self._parquet.close()
            self._sink.close()
            self.written.append(
                ArchivedFile(self._sink.path, self._rows, self._sink.size, self._sink.digest.hexdigest())
            )
            self._sink = None

    def leave(self) -> None:
        """Leave the file that is begun, if there is one, as it is."""
        if self._sink is not None:
            # PyArrow would write the end of the file once nobody uses its writer any more, where writing fails.
            self._sink.closed = True
            if self._parquet is not None:
                self._parquet.close()
            self._sink = None

    @property
    def rows(self) -> int:
        """The number of rows in the files that are closed."""
        return sum(one.rows for one in self.written)


def _text(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class _Sink:
    """A file for PyArrow, which counts and digests the bytes that pass."""

    archive: Archive
    path: str
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    closed: bool = False
    stream: Any = None

    def __post_init__(self) -> None:
        self.stream = self.archive.create(self.path)

    def write(self, piece: Any) -> int:  # noqa: ANN401 - anything that is a buffer
        data = memoryview(piece)
        if self.closed:
            return data.nbytes
        self.stream.write(data)
        self.digest.update(data)
        self.size += data.nbytes
        return data.nbytes

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.stream.close()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


async def archive_day(
    database: Database, archive: Archive, day: datetime, *, page: int = PAGE, most: int = MOST_ROWS
) -> Mapping[str, int]:
    """Write the history that ended on a day, and read it again.

    A day that is complete stays as it is: its rows may be gone from the database, as after a restore of an old backup.

    Args:
        database: Whose history; each page of it is read in a transaction of its own.
        day: The beginning of the day in UTC.
        page: How many rows are read at once.
        most: About how many rows a file has at most.

    Returns:
        How many rows of each name the archive has of this day.

    Raises:
        ArchiveError: the folder or the bucket cannot be written; the rows read again, or the rows that the database
            has by now, differ.
    """
    there = await in_own_thread(archive.counts, day.date())
    if there is not None:
        return _at_least(archive, day, there, await _present(database, day))
    try:
        return await _write_day(database, archive, day, page, most)
    except OSError as error:
        raise ArchiveError(
            f"{archive.location}: day {day.date()} cannot be written: {error}; its rows stay in the database, and the "
            "next run tries again"
        ) from error


async def _write_day(database: Database, archive: Archive, day: datetime, page: int, most: int) -> Mapping[str, int]:
    await in_own_thread(archive.clear, day.date())
    lines = archive.writer(LINES, day.date(), stored.KINDS_OF_LINES, most)
    writers = {part.name: archive.writer(part.name, day.date(), part.kinds, most) for part in PARTS}
    try:
        for part in PARTS:
            await _write_part(database, part, day, writers[part.name], lines, page)
        writers[LINES] = lines
        for one in writers.values():
            await in_own_thread(one.close)
    finally:
        for one in (*writers.values(), lines):
            one.leave()
    files = [each for one in writers.values() for each in one.written]
    await in_own_thread(archive.check, files)
    rows = {name: one.rows for name, one in writers.items()}
    if rows != await _present(database, day):
        raise ArchiveError(f"{archive.location}, {day.date()}: the database has changed since {rows} were written")
    await in_own_thread(archive.sync, [one.path for one in files])
    await in_own_thread(archive.write_manifest, day.date(), files)
    return rows


async def _present(database: Database, day: datetime) -> Mapping[str, int]:
    """Return how many rows of each name the database has of a day."""
    rows = {part.name: await database.read(stored.count, part, day) for part in PARTS}
    return {**rows, LINES: await database.read(stored.count_lines, day)}


def _at_least(
    archive: Archive, day: datetime, there: Mapping[str, int], present: Mapping[str, int]
) -> Mapping[str, int]:
    if any(there[name] < rows for name, rows in present.items()):
        raise ArchiveError(
            f"{archive.location}, {day.date()}: the archive has {dict(there)} of this day, but the database has "
            f"{dict(present)}; move the day's manifest and files away, and it is written again"
        )
    return there


async def _write_part(database: Database, part: Part, day: datetime, writer: Writer, lines: Writer, page: int) -> None:
    after: tuple[datetime, int] | None = None
    while rows := await database.read(stored.page, part, day, after, page):
        await in_own_thread(writer.write, rows)
        if part is EXECUTIONS:
            await _write_lines(database, [row["id"] for row in rows], lines, page)
        after = rows[-1][part.ended.name], rows[-1]["id"]


async def _write_lines(database: Database, executions: Sequence[int], writer: Writer, page: int) -> None:
    after = (0, 0)
    while rows := await database.read(stored.lines_page, executions, after, page):
        await in_own_thread(writer.write, rows)
        after = rows[-1]["execution_id"], rows[-1]["line"]
