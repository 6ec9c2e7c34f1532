"""History that is deleted is in the archive first: complete days, checked, and nothing goes that is not there."""

import errno
import gc
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select

from cronograph.jobs.builtin.archive import Archive, ArchivedFile, ArchiveError, archive_day
from cronograph.jobs.builtin.prune import Retention, prune
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import execution_log, job, job_execution, skipped_occurrence
from cronograph.jobs.store.statements import archive as stored
from cronograph.jobs.store.statements.prunable import blocks_of
from cronograph.jobs.store.statements.prune import set_archive
from tests.support.forking import Running, start_fresh
from tests.support.history import add, add_execution, add_run, add_task, fill_block, history
from tests.support.ports import free_port
from tests.support.waiting import wait_until

DAY = timedelta(days=1)
RETENTION = Retention(30 * DAY)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A place for an archive."""
    return f"{tmp_path}/archive"


def past(*days_ago: float) -> Callable[[Tx], list[int]]:
    """Return what makes executions that ended so long ago, each with two lines and a skipped occurrence beside it."""

    def fill(tx: Tx) -> list[int]:
        made = list[int]()
        for days in days_ago:
            at = tx.now - days * DAY
            run_id = add_run(tx.conn, at, args={"day": days}, labels={"customer": "42"})
            made.append(add_execution(tx.conn, run_id, at, at, value={"a": [1, "ä"]}))
            line: dict[str, Any] = {
                "execution_id": made[-1],
                "at": at,
                "level": "INFO",
                "message": "m",
                "fields": {"n": 1},
            }
            tx.conn.execute(insert(execution_log), [line | {"line": number} for number in (1, 2)])
            add(
                tx.conn, skipped_occurrence, task_id=9, task_name="t", reason="missed", first_scheduled_for=at,
                last_scheduled_for=at, occurrences=1, policy={}, at=at,
            )  # fmt: skip
        return made

    return fill


def executions(conn: Connection) -> list[int]:
    return list(conn.execute(select(job_execution.c.id).order_by(job_execution.c.id)).scalars())


def day_before(tx: Tx, days: float) -> date:
    return (tx.now - days * DAY).date()


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def archived_ids(url: str) -> list[int]:
    archive = Archive(url)
    return sorted(row["id"] for day in archive.days() for row in archive.rows(day, "executions"))


async def test_what_is_deleted_is_in_the_archive(database: Database, folder: str) -> None:
    first, second, young = await database.write(past(45.5, 40, 3))
    pruned = await prune(database, RETENTION, archive_url=folder)
    assert (pruned.executions, pruned.runs, pruned.log_lines, pruned.skipped_occurrences) == (2, 2, 4, 2)
    assert await database.read(executions) == [young]
    assert archived_ids(folder) == [first, second]
    archive, day = Archive(folder), await database.write(day_before, 40)
    [row] = archive.rows(day, "executions")
    assert (row["id"], row["success"], row["value"]) == (second, True, '{"a": [1, "ä"]}')
    assert row["completed_at"] == row["started_at"]
    assert row["completed_at"].tzinfo is not None
    assert [(line["line"], line["message"]) for line in archive.rows(day, "log_lines")] == [(2, "m"), (1, "m")]
    [of_run] = archive.rows(day, "runs")
    assert (of_run["id"], of_run["labels"]) == (row["run_id"], '{"customer": "42"}')
    assert [one["reason"] for one in archive.rows(day, "skipped_occurrences")] == ["missed"]
    again = await prune(database, RETENTION, archive_url=folder)
    assert again.total == 0
    assert archived_ids(folder) == [first, second]


@pytest.mark.costly
async def test_other_programs_read_it_as_a_partitioned_table(database: Database, folder: str) -> None:
    await database.write(past(45, 40, 40))
    await prune(database, RETENTION, archive_url=folder)
    dataset: Any = import_module("pyarrow.dataset")
    table: Any = dataset.dataset(f"{folder}/executions", partitioning="hive").to_table()
    days = {await database.write(day_before, 45), await database.write(day_before, 40)}
    assert (table.num_rows, {date.fromisoformat(one) for one in table["date"].to_pylist()}) == (3, days)
    manifest = json.loads(read(f"{folder}/manifests/{min(days)}.json"))
    assert (manifest["version"], manifest["date"]) == (1, f"{min(days)}")
    assert {one["path"]: one["rows"] for one in manifest["files"]} == {
        f"{name}/date={min(days)}/0.parquet": rows
        for name, rows in (("executions", 1), ("log_lines", 2), ("runs", 1), ("skipped_occurrences", 1))
    }


async def test_what_is_kept_for_hours_waits_until_its_day_is_in_the_archive(database: Database, folder: str) -> None:
    def brief(tx: Tx) -> datetime:
        row: dict[str, Any] = {"description": "", "isolation": "async", "args_schema": {}, "tags": []}
        tx.conn.execute(insert(job).values(name="j", signature="s", defaults={"keep": 60.0}, **row))
        return stored.day_of(tx.now)

    today = await database.write(brief)
    now = datetime.now(UTC)
    ids = await database.write(past((now - today + 3 * DAY) / DAY, (now - today) / 2 / DAY))
    await prune(database, RETENTION, archive_url=folder)
    assert await database.read(executions) == ids[1:]
    archived = await database.read(stored.of)
    assert archived is not None
    assert archived.location == folder
    # In the first hour of a day the day before is not yet complete.
    assert archived.through in {today, today - DAY}


@pytest.mark.costly
async def test_a_surplus_goes_as_far_as_it_is_archived(database: Database, folder: str) -> None:
    def of_task(tx: Tx) -> None:
        add_task(tx.conn, 1)
        history(tx.conn, 1, *[tx.now - days * DAY for days in (5, 4, 3, 2, 0, 0, 0)])

    await database.write(of_task)
    await prune(database, Retention(1000 * DAY, max_per_task=1), archive_url=folder)
    left = await database.read(executions)
    assert len(archived_ids(folder)) == 4
    assert len(left) == 3


async def test_nothing_goes_that_cannot_be_archived(database: Database, tmp_path: Path) -> None:
    ids = await database.write(past(40, 40))
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(ArchiveError, match=rf"^{file}/archive: day \S+ cannot be written: .*; its rows stay"):
        await prune(database, RETENTION, archive_url=f"{file}/archive")
    assert await database.read(executions) == ids
    # Nor does a node delete it that has not heard of the archive.
    await prune(database, RETENTION)
    assert await database.read(executions) == ids
    file.unlink()
    assert (await prune(database, RETENTION, archive_url=f"{file}/archive")).executions == 2


async def test_files_are_on_the_disk_before_their_day_is_complete(
    database: Database, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[str]()

    def fsync(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink().relative_to(Path(folder).parent)))

    monkeypatch.setattr(os, "fsync", fsync)
    await database.write(past(40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    await archive_day(database, Archive(folder), day)
    monkeypatch.undo()
    manifest = f"archive/manifests/{day.date()}.json"
    begun, done = synced.index(f"{manifest}.part"), synced.index(manifest)
    assert "archive/manifests" in synced[done - 2 :]
    for name in ("executions", "log_lines", "runs", "skipped_occurrences"):
        of_day = f"archive/{name}/date={day.date()}"
        assert {f"{of_day}/0.parquet", of_day, f"archive/{name}", "archive"} <= set(synced[:begun])


@pytest.mark.costly
async def test_a_node_without_the_setting_deletes_only_what_is_archived(
    database: Database, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    await database.write(past(45))
    await prune(database, RETENTION, archive_url=folder)
    await database.write(past(40))
    through = await database.read(stored.of)
    await database.write(lambda tx: set_archive(tx.conn, folder, stored.day_of(tx.now - 42 * DAY)))
    assert through is not None
    with caplog.at_level(logging.WARNING):
        assert (await prune(database, RETENTION)).executions == 0
    assert f"history is archived at {folder}, but this node has no archive_url" in caplog.text
    caplog.clear()
    assert (await prune(database, RETENTION, archive_url="off")).executions == 1
    assert "history is archived no longer" in caplog.text
    assert await database.read(stored.of) is None


async def test_a_day_that_was_begun_and_not_ended_is_written_again(database: Database, folder: str) -> None:
    ids = await database.write(past(40, 40, 40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    archive = Archive(folder)
    lost = archive.writer("executions", day.date(), stored.EXECUTIONS.kinds)
    lost.write(await database.read(stored.page, stored.EXECUTIONS, day, None, 2))
    lost.close()
    assert archive.days() == []
    assert (await archive_day(database, archive, day))["executions"] == 3
    assert archived_ids(folder) == ids


async def test_large_days_have_several_files(database: Database, folder: str) -> None:
    ids = await database.write(past(*[40] * 10))
    archive, day = Archive(folder), stored.day_of(datetime.now(UTC) - 40 * DAY)
    assert (await archive_day(database, archive, day, page=3, most=6))["executions"] == 10
    assert [one.rows for one in archive.files(day.date()) if one.name == "executions"] == [6, 4]
    assert [row["id"] for row in archive.rows(day.date(), "executions")] == ids[::-1]
    assert len(list(archive.rows(day.date(), "log_lines"))) == 20
    some = archive.condition("id", "in", [ids[1], ids[8]])
    assert [row["id"] for row in archive.rows(day.date(), "executions", some)] == [ids[8], ids[1]]


async def test_a_file_that_is_not_what_was_written_is_found(database: Database, folder: str) -> None:
    await database.write(past(40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    archive = Archive(folder)
    await archive_day(database, archive, day)
    file = next(one for one in archive.files(day.date()) if one.name == "executions")
    path = Path(folder) / file.path
    with pytest.raises(ArchiveError, match=r"executions/date=.*must be .*'rows': 2, .*was read as .*'rows': 1, "):
        archive.check([replace(file, rows=2)])
    archive.check([file])
    damaged = bytearray(path.read_bytes())
    damaged[10] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ArchiveError, match="sha256"):
        archive.check([file])


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"files": 5}', '{"files": [{"rows": 1}]}', "\xff"])
async def test_a_manifest_that_cannot_be_read_is_named_and_nothing_goes(
    database: Database, folder: str, text: str
) -> None:
    ids = await database.write(past(40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    manifest = Path(folder) / "manifests" / f"{day.date()}.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(text.encode("latin-1"))
    with pytest.raises(ArchiveError, match=rf"{folder}/manifests/{day.date()}\.json: cannot be read: "):
        await prune(database, RETENTION, archive_url=folder)
    assert await database.read(executions) == ids
    manifest.unlink()
    assert (await prune(database, RETENTION, archive_url=folder)).executions == 1


def test_a_manifest_is_there_as_a_whole_or_not_at_all(folder: str, tmp_path: Path) -> None:
    """What is written over it does not touch what somebody reads of it."""
    archive, day = Archive(folder), date(2026, 3, 1)
    archive.write_manifest(day, [])
    [written] = (Path(folder) / "manifests").iterdir()
    read = tmp_path / "read"
    os.link(written, read)
    before = read.read_text()
    archive.write_manifest(day, [ArchivedFile("executions/date=2026-03-01/0.parquet", 1, 1, "")])
    assert read.read_text() == before
    assert [one.rows for one in archive.files(day)] == [1]
    for name in (".2026-03-02.json.swp", "README", "2026-03-02.json.part", "2026-03-03.txt", "soon.json"):
        (written.parent / name).write_text("")
    assert archive.days() == [day]


@pytest.mark.costly
async def test_a_complete_day_stays_when_an_older_database_comes_back(database: Database, folder: str) -> None:
    ids = await database.write(past(40, 40))
    await prune(database, RETENTION, archive_url=folder)
    # As a restored backup would have it: one of these rows, and nothing is known of what was archived since.
    [back] = await database.write(past(40))
    await database.write(lambda tx: set_archive(tx.conn, folder, stored.day_of(tx.now - 50 * DAY)))
    await prune(database, RETENTION, archive_url=folder)
    assert back not in await database.read(executions)
    assert archived_ids(folder) == ids
    await database.write(past(40, 40, 40))
    await database.write(lambda tx: set_archive(tx.conn, folder, stored.day_of(tx.now - 50 * DAY)))
    with pytest.raises(ArchiveError, match=r"the archive has .*'executions': 2.*, but the database has .*: 3"):
        await prune(database, RETENTION, archive_url=folder)
    assert archived_ids(folder) == ids


class FullArchive(Archive):
    """An archive on a disk that has no room left as soon as lines are written."""

    is_full = False

    def create(self, name: str) -> "FileOnFullDisk":
        return FileOnFullDisk(self, name)


class FileOnFullDisk:
    def __init__(self, archive: FullArchive, name: str) -> None:
        self._archive = archive
        self._is_last = name.startswith("log_lines")

    def write(self, data: memoryview) -> None:
        self._archive.is_full |= self._is_last and data.nbytes > len(b"PAR1")
        if self._archive.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        """Nothing is left to write."""


async def test_a_full_archive_fails_with_its_reason_alone(database: Database, folder: str) -> None:
    ids = await database.write(past(40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    with pytest.raises(ArchiveError, match=r"cannot be written: .*No space left on device"):
        await archive_day(database, FullArchive(folder), day)
    # An error of a finalizer would fail this test.
    gc.collect()
    assert Archive(folder).days() == []
    assert await database.read(executions) == ids


def test_who_has_no_pyarrow_is_told_what_to_install(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"needs PyArrow: pip install 'cronograph\[archive\]'"):
        Archive(folder)


class Changing:
    """A database in which an execution is deleted by hand while a day is archived."""

    def __init__(self, database: Database, gone: int) -> None:
        self._database = database
        self._gone = gone

    async def read(self, function: Any, *args: Any) -> Any:
        if function is stored.lines_page:
            lines = delete(execution_log).where(execution_log.c.execution_id == self._gone)
            await self._database.write(lambda tx: tx.conn.execute(lines))
            await self._database.write(
                lambda tx: tx.conn.execute(delete(job_execution).where(job_execution.c.id == self._gone))
            )
        return await self._database.read(function, *args)


async def test_a_day_that_changes_meanwhile_is_not_archived(database: Database, folder: str) -> None:
    ids = await database.write(past(40, 40))
    day = stored.day_of(datetime.now(UTC) - 40 * DAY)
    changing: Any = Changing(database, ids[0])
    with pytest.raises(ArchiveError, match=r"the database has changed since .*'executions': 2.* were written"):
        await archive_day(changing, Archive(folder), day)
    assert Archive(folder).days() == []
    assert (await archive_day(database, Archive(folder), day))["executions"] == 1


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("s3://key:secret@bucket/x", "must have no name and password in it"),
        ("nothing://bucket/x", "must be an absolute path or s3://bucket/prefix, got 'nothing://bucket/x'"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        Archive(url)


@pytest.mark.costly
@pytest.mark.both_databases
async def test_blocks_are_dropped_when_they_are_archived(postgres_url: str, folder: str) -> None:
    postgres = Database(postgres_url)
    ids = await postgres.write(past(*[40] * 30))
    await postgres.write(fill_block)
    await postgres.write(lambda tx: set_archive(tx.conn, folder, stored.day_of(tx.now - 50 * DAY)))
    assert (await prune(postgres, RETENTION)).total == 0
    pruned = await prune(postgres, RETENTION, archive_url=folder)
    assert (pruned.executions, pruned.log_lines) == (30, 60)
    blocks = await postgres.read(blocks_of, "job_execution_done")
    await postgres.close()
    assert archived_ids(folder) == ids
    assert [block.number for block in blocks] == [0, 2]


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[], Running]]]:
    """The address of a bucket, and a function that starts its server, rclone."""
    port, running = free_port(), list[Running]()
    (tmp_path / "s3" / "history").mkdir(parents=True)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
    command = [f"{Path(sys.executable).with_name('rclone')}", "serve", "s3", "--addr", f"127.0.0.1:{port}"]

    def start() -> Running:
        words = [*command, "--auth-key", "key,secret", "--force-path-style", f"{tmp_path}/s3"]
        with (tmp_path / "rclone.log").open("ab") as output:
            running.append(start_fresh(words, tmp_path, dict(os.environ), output.fileno()))
        wait_until(lambda: answers(port), within=20, message="rclone to listen")
        return running[-1]

    place = f"s3://history/of/cronograph?endpoint_override=127.0.0.1:{port}&scheme=http"
    yield place, start
    for one in running:
        one.kill()
        one.wait()


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.costly
async def test_a_bucket_is_an_archive_too(database: Database, bucket: tuple[str, Callable[[], Running]]) -> None:
    url, start = bucket
    server = start()
    first = await database.write(past(*[45] * 250))
    assert (await prune(database, RETENTION, archive_url=url)).executions == 250
    assert archived_ids(url) == first
    second = await database.write(past(25))
    server.kill()
    server.wait()
    with pytest.raises(OSError, match="AWS Error"):
        await prune(database, Retention(20 * DAY), archive_url=url)
    assert await database.read(executions) == second
    start()
    assert (await prune(database, Retention(20 * DAY), archive_url=url)).executions == 1
    assert archived_ids(url) == [*first, *second]
