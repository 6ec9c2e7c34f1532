"""Log lines are JSON for machines, text for people, and never a flood."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from cronograph.server.process.logs import BURST, WINDOW, FloodFilter, LogFormat, configure_logging


@pytest.fixture
def restored_logging() -> Iterator[None]:
    """All that a test does to the root logger is undone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
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
