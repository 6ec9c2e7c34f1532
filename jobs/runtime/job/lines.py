"""The lines that a job logs, as it wrote them: bounded, without secrets, and how ``logging`` becomes some."""

import json
import logging
import time
import traceback
from collections.abc import Mapping
from typing import NamedTuple

from typing_extensions import override

from ...base.context import Host, current_host
from ...base.steps import current_step
from ...core.base.levels import LogLevel
from ...core.model import Json
from .redaction import NOTHING_HIDDEN, Redactor
from .values import plain_json, plain_text

MAX_LINE = 8 * 1024
"""Characters of one line; the rest is cut, and the line says so."""
MAX_FIELDS = 8 * 1024
"""Characters of the JSON of a line's fields; larger ones are replaced by a note."""
MANY_WAITING = 500
"""Waiting lines from which on a thread that writes more is slowed down."""
SLOWED_EVERY = 20
"""A slowed thread pauses after so many lines."""
SLOWED_BY = 0.001
"""Seconds that it pauses: the interpreter is free for others meanwhile."""
_FEW = 10
_SHORT = 200
"""Fields and characters of each that are stored without a closer look; together they stay within ``MAX_FIELDS``."""


class RawLine(NamedTuple):
    """A line as its job wrote it, bounded already.

    ``at`` is seconds since the epoch, ``level`` as in ``logging``, ``step`` the label of the step that wrote it.
    """

    at: float
    level: int
    message: str
    fields: dict[str, Json] | None
    step: str | None = None

    @classmethod
    def now(
        cls, level: int, message: str, fields: Mapping[str, Json] | None, redactor: Redactor = NOTHING_HIDDEN
    ) -> "RawLine":
        """A line written at this moment, without the secrets of its job."""
        # Before it is cut to its length: half a secret is not found any more.
        text = plain_text(redactor.text(str(message)), MAX_LINE)
        return cls(time.time(), level, text, redactor.json(bounded_fields(fields)), current_step.get())

    def also(self, fields: Mapping[str, Json]) -> "RawLine":
        """The line with further fields."""
        return self._replace(fields={**(self.fields or {}), **fields})


_LEVELS = {
    logging.DEBUG: LogLevel.DEBUG.value,
    logging.INFO: LogLevel.INFO.value,
    logging.WARNING: LogLevel.WARNING.value,
    logging.ERROR: LogLevel.ERROR.value,
    logging.CRITICAL: LogLevel.CRITICAL.value,
}


def bounded_fields(fields: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """A line's fields as plain JSON; what is not JSON becomes text, and a note replaces what is too large."""
    if not fields:
        return None
    if len(fields) <= _FEW and all(_is_plain(key, value) for key, value in fields.items()):
        return dict(fields)
    try:
        document = json.loads(json.dumps(fields, default=str), parse_constant=str)
        return dict(plain_json(document, "the fields", MAX_FIELDS))
    except (TypeError, ValueError, RecursionError) as error:
        # A line is never a reason for a job to fail.
        return {"cut": plain_text(str(error), MAX_LINE)}


def _is_plain(key: str, value: Json) -> bool:
    """Whether it certainly is JSON that can be stored as it is; most fields are."""
    match value:
        case bool() | None:
            is_plain = True
        case int():
            is_plain = -(2**63) <= value < 2**63
        case str():
            is_plain = len(value) <= _SHORT and value.isprintable() and value.isascii()
        case _:
            is_plain = False
    return is_plain and len(key) <= _SHORT and key.isprintable() and key.isascii()


class JobLogHandler(logging.Handler):
    """Sends ordinary ``logging`` calls made inside a job to that job's execution; others pass by.

    Args:
        host: The one job of this process; unless given, the job in whose context a call is made.
    """

    def __init__(self, host: Host | None = None) -> None:
        super().__init__()
        self._host = host

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Keep ``record`` with the execution in whose context it was made, once for all nodes of a process."""
        if record.__dict__.setdefault(_TAKEN_BY, self) is not self:
            return
        host = self._host or current_host.get()
        if host is None:
            _show_unhandled(record)
            return
        try:
            host.log(_level(record.levelno), self._text(record), _extra_of(record))
        except Exception:
            self.handleError(record)

    def _text(self, record: logging.LogRecord) -> str:
        """The line, also of a call whose arguments do not fit its message; then as Python prints it."""
        try:
            return self.format(record)
        except Exception as error:
            fault = traceback.format_exception_only(error)[-1].strip()
            return f"--- Logging error ---\n{fault}\nMessage: {record.msg!r}\nArguments: {record.args!r}"


def _show_unhandled(record: logging.LogRecord) -> None:
    """Write a warning to standard error if nobody else takes it, as ``logging`` does where no handler is set up.

    With our handler at the root, ``logging`` would take it for handled.
    """
    last, logger = logging.lastResort, logging.getLogger(record.name)
    if last is None or record.levelno < last.level:
        return
    while True:
        if any(not isinstance(one, JobLogHandler) for one in logger.handlers):
            return
        if logger.parent is None or not logger.propagate:
            break
        logger = logger.parent
    last.handle(record)


_TAKEN_BY = "_cronograph_handler"
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", _TAKEN_BY}
"""What every record has, and what formatting it adds."""


def _extra_of(record: logging.LogRecord) -> Mapping[str, Json] | None:
    """What the call gave as ``extra``: the fields of the line."""
    attributes = vars(record).items()
    extra = {name: value for name, value in attributes if name not in _OWN_ATTRIBUTES and not name.startswith("_")}
    return extra or None


def level_name(level: int) -> str:
    """The word under which a level is stored."""
    return _LEVELS[_level(level)]


def _level(levelno: int) -> int:
    return max((level for level in _LEVELS if level <= levelno), default=logging.DEBUG)
