"""Log lines of executions: bounded, the newest kept, exact counts, and every kept line once for anyone who follows."""

import asyncio
import io
import logging
import logging.config
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from cronograph.jobs import job
from cronograph.jobs.base.context import current_host
from cronograph.jobs.core.model import KEPT_LINES
from cronograph.jobs.core.states import RunState
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.registry import Registry
from cronograph.jobs.runtime.job.lines import MAX_FIELDS, MAX_LINE, SLOWED_BY, RawLine, bounded_fields, keep_record
from cronograph.jobs.runtime.live.writers import BATCH, LogWriter
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.db.transaction import Tx, Wake
from cronograph.jobs.store.schema.types import SchemaText
from cronograph.jobs.store.statements.logs import LogLine
from tests.runtime.flood_jobs import flooding
from tests.support.engines import RunningEngine, StartEngine
from tests.support.storage import Stored
from tests.support.waiting import DEFAULT_WAIT, eventually

FLOODS = ("loop", "thread", "process", "thread by logging", "process by logging")


class Follower:
    """Follows an execution as `executionLog` does: asks for what is new whenever lines were written."""

    def __init__(self, engine: RunningEngine, run_id: int) -> None:
        self.engine = engine
        self.run_id = run_id
        self.lines: list[LogLine] = []
        self.written = asyncio.Event()
        engine.engine.wakeup.subscribe(self.hear)

    def hear(self, wakes: Wake) -> None:
        if wakes & (Wake.LOGS | Wake.RUNS):
            self.written.set()

    async def follow(self) -> str:
        """Read until the execution has ended and nothing is left; returns the end mark."""
        (execution,) = await eventually(lambda: self.engine.executions(self.run_id))
        while True:
            self.written.clear()
            ended = await self.engine.has_ended(self.run_id)
            await self.read(execution.id)
            if ended:
                return "end"
            await asyncio.wait_for(self.written.wait(), DEFAULT_WAIT)

    async def read(self, execution_id: int) -> None:
        while page := await self.engine.lines(execution_id, self.lines[-1].line if self.lines else 0, 500):
            self.lines += page


@pytest.mark.costly
@pytest.mark.parametrize("kind", FLOODS)
async def test_of_a_flood_the_newest_lines_are_kept_the_rest_is_counted_and_a_follower_sees_every_kept_line_once(
    start_engine: StartEngine, kind: str
) -> None:
    engine = await start_engine(flooding())
    total = KEPT_LINES + 1_500
    run_id = await engine.enqueue(kind, {"lines": total})
    follower = Follower(engine, run_id)
    assert await follower.follow() == "end"
    done = await engine.finished(run_id)
    assert done.run.state is RunState.SUCCESS
    kept = list(range(total - KEPT_LINES + 1, total + 1))
    assert [line.line for line in done.lines] == kept
    assert done.messages == [f"line {number}" for number in kept]
    assert (done.execution.log_lines, done.execution.log_cut) == (KEPT_LINES, total - KEPT_LINES)
    seen = [line.line for line in follower.lines]
    assert seen == sorted(set(seen))
    assert set(kept) <= set(seen)
    times = [line.at for line in done.lines]
    assert times == sorted(times)


@pytest.mark.costly
async def test_three_floods_of_lines_do_not_keep_other_jobs_from_running(start_engine: StartEngine) -> None:
    engine = await start_engine(flooding())
    each = KEPT_LINES + 2_000
    floods = [await engine.enqueue(kind, {"lines": each}) for kind in ("thread", "process", "loop")]
    for _ in range(5):
        assert (await engine.finish("small")).run.state is RunState.SUCCESS
    for flood in floods:
        done = await engine.finished(flood)
        assert (done.execution.log_lines, done.execution.log_cut) == (KEPT_LINES, each - KEPT_LINES)
        newest = [done.lines[0].line, done.lines[-1].line, len(done.lines)]
        assert newest == [each - KEPT_LINES + 1, each, KEPT_LINES]


async def test_lines_appear_while_the_job_runs(start_engine: StartEngine) -> None:
    registry, go_on = Registry(), threading.Event()

    @job("waits", registry=registry)
    def waits() -> None:
        logging.getLogger("somewhere").warning("before %s", "the end")
        go_on.wait()

    engine = await start_engine(registry)
    run_id = await engine.enqueue("waits")
    await engine.wait_line(run_id, "before the end")
    assert (await engine.run(run_id)).state is RunState.RUNNING
    go_on.set()
    assert (await engine.finished(run_id)).messages == ["before the end"]


async def test_a_line_of_a_job_is_not_taken_for_a_line_of_another(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("tells", registry=registry)
    async def tells(word: str) -> None:
        await asyncio.sleep(0)
        logging.getLogger("any").error("async %s", word)
        await asyncio.to_thread(logging.getLogger("any").error, "thread of %s", word)

    engine = await start_engine(registry)
    ids = {word: await engine.enqueue("tells", {"word": word}) for word in ("a", "b", "c", "d")}
    logging.getLogger("any").error("outside of any job")
    for word, run_id in ids.items():
        assert (await engine.finished(run_id)).messages == [f"async {word}", f"thread of {word}"]


@pytest.fixture
async def writer(database_url: str) -> AsyncIterator[LogWriter]:
    database = Database(database_url)
    made = LogWriter(database)
    yield made
    await made.stop()
    await database.close()


@pytest.fixture
def started(stored: Stored) -> Started:
    node = stored.node()
    stored.enqueue()
    return node.start()


async def test_what_logs_while_a_line_is_being_kept_waits_for_nobody(writer: LogWriter, started: Started) -> None:
    execution = started.execution_id
    writer.open(execution)

    def lines() -> Iterator[RawLine]:
        # As when to make a line frees an object that logs as it goes.
        writer.write(execution, [RawLine.now(logging.INFO, "inner", None)])
        yield RawLine.now(logging.INFO, "outer", None)

    writer.write(execution, lines())
    tail = await writer.close(execution)
    assert [(line.line, line.message) for line in tail.lines] == [(1, "inner"), (2, "outer")]


@pytest.mark.costly
async def test_without_a_database_all_newest_lines_are_left_for_the_end(writer: LogWriter, started: Started) -> None:
    writer.open(started.execution_id)
    for number in range(KEPT_LINES + 7):
        writer.write(started.execution_id, [RawLine.now(logging.INFO, f"line {number + 1}", None)])
    tail = await writer.close(started.execution_id)
    assert (tail.kept, tail.cut) == (KEPT_LINES, 7)


def without_a_table(tx: Tx) -> None:
    """As if somebody had laid hands on the database."""
    tx.conn.execute(SchemaText("ALTER TABLE cronograph.execution_log RENAME TO gone"))


async def test_a_long_log_that_cannot_be_written_is_left_for_the_end_and_says_so(
    writer: LogWriter, stored: Stored, started: Started, caplog: pytest.LogCaptureFixture
) -> None:
    stored.do(without_a_table)
    writer.open(started.execution_id)
    for number in range(BATCH + 7):
        writer.write(started.execution_id, [RawLine.now(logging.INFO, f"line {number + 1}", None)])
    tail = await writer.close(started.execution_id)
    assert (len(tail.lines), tail.kept, tail.cut) == (BATCH + 7, BATCH + 7, 0)
    assert (
        f"the log of execution {started.execution_id} is written with its end, because now that failed" in caplog.text
    )


async def test_what_was_lost_on_the_way_counts_and_leaves_a_gap(writer: LogWriter, started: Started) -> None:
    writer.open(started.execution_id)
    raw = RawLine.now(logging.INFO, "here", None)
    writer.write(started.execution_id, [raw])
    writer.write(started.execution_id, [raw, raw], dropped=KEPT_LINES)
    tail = await writer.close(started.execution_id)
    assert [line.line for line in tail.lines] == [1, KEPT_LINES + 2, KEPT_LINES + 3]
    assert (tail.kept, tail.cut) == (KEPT_LINES, 3)


async def test_a_line_after_the_end_is_left_out(writer: LogWriter, started: Started) -> None:
    writer.open(started.execution_id)
    assert (await writer.close(started.execution_id)).lines == ()
    assert writer.write(started.execution_id, [RawLine.now(logging.INFO, "too late", None)]) == 0


async def test_a_thread_that_writes_faster_than_lines_are_kept_is_slowed(writer: LogWriter, started: Started) -> None:
    writer.open(started.execution_id)
    pauses = [writer.write(started.execution_id, [RawLine.now(logging.INFO, "line", None)]) for _ in range(3 * BATCH)]
    assert set(pauses[:BATCH]) == {0.0}
    assert SLOWED_BY in pauses[-BATCH:]


async def test_the_rest_of_a_long_log_is_written_before_the_end_of_the_execution(
    writer: LogWriter, started: Started
) -> None:
    writer.open(started.execution_id)
    for _ in range(3 * BATCH):
        writer.write(started.execution_id, [RawLine.now(logging.INFO, "line", None)])
    tail = await writer.close(started.execution_id)
    assert len(tail.lines) <= BATCH
    assert (tail.kept, tail.cut) == (3 * BATCH, 0)


async def test_levels_are_stored_as_words(writer: LogWriter, started: Started) -> None:
    words = {
        5: "debug",
        10: "debug",
        20: "info",
        25: "info",
        30: "warning",
        40: "error",
        50: "critical",
        99: "critical",
    }
    writer.open(started.execution_id)
    for level in words:
        writer.write(started.execution_id, [RawLine.now(level, "line", None)])
    lines = (await writer.close(started.execution_id)).lines
    assert [line.level for line in lines] == list(words.values())
    assert all(abs((datetime.now(UTC) - line.at).total_seconds()) < 60 for line in lines)


def test_a_long_line_is_cut_and_says_so() -> None:
    line = RawLine.now(logging.INFO, "x" * (MAX_LINE + 5), None)
    assert line.message == "x" * MAX_LINE + "… (5 characters cut)"


def test_what_no_database_stores_is_replaced_in_lines() -> None:
    line = RawLine.now(logging.INFO, "a\x00b\ud800", {"c\x00": "d\ud800", "\ud83d\ude00": "😀"})
    assert line.message == "a\ufffdb?"
    assert line.fields == {"c\ufffd": "d?", "😀": "😀"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, None),
        ({"a": 1, "b": "two", "c": None, "d": True}, {"a": 1, "b": "two", "c": None, "d": True}),
        ({"a": float("nan"), "b": [float("inf")], "c": 1.5}, {"a": "NaN", "b": ["Infinity"], "c": 1.5}),
        ({"a": datetime(2026, 1, 2, tzinfo=UTC)}, {"a": "2026-01-02 00:00:00+00:00"}),
        ({"a": {1: (2, 3)}}, {"a": {"1": [2, 3]}}),
        ({"a": 2**70}, {"a": 2**70}),
    ],
)
def test_fields_become_plain_json(given: dict[str, object], kept: object) -> None:
    assert bounded_fields(given) == kept


def test_fields_that_cannot_be_kept_are_replaced_by_a_note_and_fail_nothing() -> None:
    circle: list[object] = []
    circle.append(circle)
    for bad in ({"a": "x" * MAX_FIELDS}, {"a": circle}, {"a": {(1, 2): 3}}, {"a": 10**5000}):
        kept = bounded_fields(bad)
        assert list(kept or ()) == ["cut"]


def test_a_bad_call_of_logging_in_a_job_is_reported_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Host:
        def log(self, *_: object) -> None:
            raise AssertionError("nothing to keep")

    record = logging.makeLogRecord({"msg": "%d", "args": ("x",), "levelno": logging.INFO})
    keep_record(record, Host())  # type: ignore[arg-type]
    assert "--- Logging error ---" in capsys.readouterr().err


@pytest.fixture
def ordinary_threads() -> Iterator[None]:
    """All that the test has done to the threads of this process is undone at its end."""
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit
    yield
    threading.Thread.start = start  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]


async def test_threads_are_left_as_they_are_unless_asked(start_engine: StartEngine) -> None:
    registry, write = Registry(), logging.getLogger("any").error
    before = threading.Thread.start, ThreadPoolExecutor.submit

    @job("blocks", registry=registry)
    def blocks() -> None:
        thread = threading.Thread(target=write, args=("by a thread",))
        thread.start()
        thread.join()
        write("by the job")

    engine = await start_engine(registry)
    assert (await engine.finish("blocks")).messages == ["by the job"]
    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before


@pytest.mark.usefixtures("ordinary_threads")
async def test_what_a_job_s_own_threads_write_is_kept_with_its_execution_if_asked(start_engine: StartEngine) -> None:
    registry, pool, write = Registry(), ThreadPoolExecutor(1), logging.getLogger("any").error

    def nested(word: str) -> None:
        thread = threading.Thread(target=write, args=(f"nested {word}",))
        thread.start()
        thread.join()

    @job("blocks", registry=registry)
    def blocks(word: str) -> None:
        thread = threading.Thread(target=nested, args=(word,))
        thread.start()
        thread.join()
        pool.submit(write, f"pool {word}").result()

    @job("awaits", registry=registry)
    async def awaits(word: str) -> None:
        await asyncio.get_running_loop().run_in_executor(pool, write, f"executor {word}")

    engine = await start_engine(registry, thread_logs=True)
    for word in ("a", "b"):
        assert (await engine.finish("blocks", {"word": word})).messages == [f"nested {word}", f"pool {word}"]
        assert (await engine.finish("awaits", {"word": word})).messages == [f"executor {word}"]
    # The pool's thread was started for a job, but works for anyone who calls it.
    assert pool.submit(current_host.get).result() is None
    pool.shutdown()


async def test_the_extra_of_a_logging_call_becomes_the_fields_of_its_line(start_engine: StartEngine) -> None:
    registry = Registry()

    @job("tells", registry=registry)
    async def tells() -> None:
        logging.getLogger("any").error("with", extra={"rows": 3, "where": ["a"]})
        logging.getLogger("any").error("without")

    engine = await start_engine(registry)
    done = await engine.finish("tells")
    assert [line.fields for line in done.lines] == [{"rows": 3, "where": ["a"]}, None]


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """All that a test does to loggers is undone."""
    loggers = logging.root.manager.loggerDict
    there = {name: one for name, one in loggers.items() if isinstance(one, logging.Logger)}
    before = [(one, dict(vars(one)), one.handlers[:], one.filters[:]) for one in (logging.root, *there.values())]
    factory = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(factory)
    for name in set(loggers) - set(there):
        if isinstance(made := loggers[name], logging.Logger):
            made.propagate, made.disabled, made.handlers[:], made.filters[:] = True, False, [], []
            made.setLevel(logging.NOTSET)
    for logger, attributes, handlers, filters in before:
        vars(logger).clear()
        vars(logger).update(attributes)
        logger.handlers[:], logger.filters[:] = handlers, filters
        # It makes all loggers forget which levels they let pass.
        logger.setLevel(logger.level)


def quiet(disable: bool) -> dict[str, Any]:
    """A configuration with no handler."""
    root: dict[str, Any] = {"level": "WARNING", "handlers": []}
    return {"version": 1, "disable_existing_loggers": disable, "root": root}


def by_file() -> None:
    lines = "[loggers]\nkeys=root\n[handlers]\nkeys=\n[formatters]\nkeys=\n[logger_root]\nlevel=WARNING\nhandlers=\n"
    logging.config.fileConfig(io.StringIO(lines))


def twice() -> None:
    for _ in range(2):
        logging.config.dictConfig(quiet(disable=True))


RECONFIGURED: dict[str, Callable[[], object]] = {
    "basicConfig": lambda: logging.basicConfig(force=True),
    "dictConfig": lambda: logging.config.dictConfig(quiet(disable=True)),
    "dictConfig twice": twice,
    "dictConfig without disabling": lambda: logging.config.dictConfig(quiet(disable=False)),
    "fileConfig": by_file,
    "handlers": logging.root.handlers.clear,
    "propagate": lambda: setattr(logging.getLogger("early"), "propagate", False),
}


@pytest.mark.costly
@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("way", RECONFIGURED)
async def test_no_line_of_a_job_is_lost_whatever_configures_logging(start_engine: StartEngine, way: str) -> None:
    registry, early = Registry(), logging.getLogger("early")

    @job("reconfigures", registry=registry)
    def reconfigures() -> None:
        RECONFIGURED[way]()
        early.warning("by one of before")
        logging.getLogger("late").warning("by a new one")

    @job("says", registry=registry)
    async def says() -> None:
        early.warning("later")

    engine = await start_engine(registry)
    assert (await engine.finish("reconfigures")).messages == ["by one of before", "by a new one"]
    assert (await engine.finish("says")).messages == ["later"]


def no_room(record: logging.LogRecord) -> bool:
    raise RuntimeError(f"no room for {record.getMessage()}")


def broken_handler() -> None:
    handler = logging.Handler()
    handler.emit = no_room  # type: ignore[method-assign, assignment]
    logging.root.addHandler(handler)


def broken_filters() -> None:
    for name in ("cronograph.some.part", "some.part"):
        logging.getLogger(name).addFilter(no_room)


def broken_factory() -> None:
    def make(*given: Any, **named: Any) -> logging.LogRecord:
        record = logging.LogRecord(*given, **named)
        if record.name.endswith("some.part"):
            no_room(record)
        return record

    logging.setLogRecordFactory(make)


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("breaks", [broken_handler, broken_filters, broken_factory])
async def test_what_raises_at_a_line_of_ours_fails_no_code_of_ours(
    start_engine: StartEngine, capsys: pytest.CaptureFixture[str], breaks: Callable[[], None]
) -> None:
    await start_engine(Registry())
    breaks()
    logging.getLogger("cronograph.some.part").error("ours")
    assert "RuntimeError: no room for ours" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="no room for theirs"):
        logging.getLogger("some.part").error("theirs")


@pytest.mark.usefixtures("restored_logging")
async def test_what_is_disabled_stays_silent_outside_of_jobs_and_ours_is_never_disabled(
    start_engine: StartEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    await start_engine(Registry())
    early, off, own = (logging.getLogger(name) for name in ("early", "off", "cronograph.some.part"))
    off.disabled = True
    shown = {**quiet(disable=True), "handlers": {"err": {"class": "logging.StreamHandler"}}}
    shown["root"] = {"level": "INFO", "handlers": ["err"]}
    logging.config.dictConfig(shown)
    for logger in (early, off, own):
        logger.error("by %s", logger.name)
    # The engine is at work beside it, and may have something to say of its own.
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("by ")]
    assert said == ["by cronograph.some.part"]
    assert off.disabled
    logging.config.dictConfig(quiet(disable=False) | {"handlers": shown["handlers"], "root": shown["root"]})
    early.error("again")
    assert "again" in capsys.readouterr().err
