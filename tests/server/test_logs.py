"""Log lines are JSON for machines, text for people, and never a flood."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from cronograph.jobs.runtime.job.lines import OWN_LOGGER, OwnLogger
from cronograph.server.process.logs import BURST, WINDOW, FloodFilter, LogFormat, configure_logging
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """All that a test does to the root logger is undone."""
    loggers = [logging.getLogger(), logging.getLogger(OWN_LOGGER)]
    before = [(one, one.handlers[:], one.level) for one in loggers]
    yield
    for logger, handlers, level in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
    logging.root.manager.loggerClass = None
    structlog.reset_defaults()
    for one in logging.root.manager.loggerDict.values():
        if isinstance(one, OwnLogger):
            one.__class__ = logging.Logger  # type: ignore[assignment]
    logging.captureWarnings(capture=False)


def written(form: LogFormat, *, error: bool = False) -> str:
    stream = io.StringIO()
    configure_logging(form, "info", stream)
    log = logging.getLogger("cronograph.test")
    log.debug("not written")
    fault = RuntimeError("boom") if error else None
    log.info("claimed %d runs", 3, extra={"node": "calm-curie-1"}, exc_info=fault)
    return stream.getvalue()


def record(message: str = "refused %s", level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("cronograph.graphql", level, __file__, 1, message, ("x",), None)


def test_a_machine_gets_one_json_object_per_line(restored_logging: None) -> None:
    (line,) = written("auto").splitlines()
    entry = json.loads(line)
    assert entry["event"] == "claimed 3 runs"
    assert (entry["level"], entry["logger"], entry["node"]) == ("info", "cronograph.test", "calm-curie-1")
    assert entry["timestamp"].endswith("Z")


def test_modules_that_configured_structlog_keep_their_lines_as_they_are(
    restored_logging: None, capsys: pytest.CaptureFixture[str]
) -> None:
    structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
    configure_logging("json", "info", io.StringIO())
    structlog.get_logger().info("paid", order=7)
    assert capsys.readouterr().out == "order=7 event='paid'\n"


def test_people_get_text_without_colours_when_it_is_no_terminal(restored_logging: None) -> None:
    text = written("human")
    assert "claimed 3 runs" in text
    assert "\x1b[" not in text


def test_a_traceback_is_part_of_the_json_object(restored_logging: None) -> None:
    (line,) = written("json", error=True).splitlines()
    assert "RuntimeError: boom" in json.loads(line)["exception"]


def test_lines_of_one_kind_are_bounded_and_what_was_cut_is_counted() -> None:
    now = 0.0
    gate = FloodFilter(clock=lambda: now)
    assert sum(gate.filter(record()) for _ in range(10_000)) == BURST
    now = WINDOW
    after = record()
    assert gate.filter(after)
    assert after.__dict__["cut_lines"] == 10_000 - BURST


def test_another_kind_of_line_passes_during_a_flood() -> None:
    gate = FloodFilter(clock=lambda: 0.0)
    for _ in range(100):
        gate.filter(record())
    assert gate.filter(record("node lost"))
    assert gate.filter(record(level=logging.ERROR))


JOBS = """
import logging
import logging.config

log = logging.getLogger("early")
logging.config.dictConfig({
    "version": 1,
    "disable_existing_loggers": True,
    "handlers": {"c": {"class": "logging.StreamHandler"}},
    "root": {"level": "WARNING", "handlers": ["c"]},
})

from cronograph.jobs import job

for logger in logging.root.manager.loggerDict.values():
    logger.disabled = True

@job(retries=0)
def reconfigures() -> None:
    logging.basicConfig(force=True, level="ERROR")
    logging.disable(logging.CRITICAL)
    for name, logger in logging.root.manager.loggerDict.items():
        logger.disabled = name.startswith("cronograph")
    log.info("in a thread")

@job(retries=0, isolation="process")
def in_a_process() -> None:
    log.disabled = False
    log.info("in a process")
    logging.basicConfig(force=True, level="ERROR")
    logging.disable(logging.CRITICAL)
    log.info("after basicConfig")
"""


@pytest.mark.costly
def test_modules_and_jobs_that_configure_logging_lose_no_line_and_do_not_silence_the_server(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    (processes.folder / "configuring.py").write_text(JOBS)
    server = processes.serve(sqlite_url, "--jobs", "configuring")

    def asked(document: str) -> dict[str, Any]:
        data: dict[str, Any] = post(f"{server.url}/graphql", {"query": document}).json()["data"]
        return data

    def lines(name: str) -> list[str]:
        found = asked(f'{{ jobLogs(jobName: "{name}") {{ outcome logLines {{ lines {{ message }} }} }} }}')["jobLogs"]
        return [line["message"] for one in found if one["outcome"] for line in one["logLines"]["lines"]]

    for name, expected in (
        ("reconfigures", ["in a thread"]),
        ("in_a_process", ["in a process", "after basicConfig"]),
        ("reconfigures", ["in a thread"] * 2),
        ("in_a_process", ["in a process", "after basicConfig"] * 2),
    ):
        asked(f'mutation {{ triggerJob(jobName: "{name}") {{ success }} }}')
        wait_until(lambda name=name, expected=expected: lines(name) == expected, message=f"the lines of {name}")  # type: ignore[misc]
    assert server.stop() == 0
    assert "stopping: nothing new is taken" in server.output()
