"""The lines that a job logs, as it wrote them: bounded, without secrets, and how ``logging`` becomes some."""

import json
import logging
import logging.config
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial, partialmethod
from typing import Any, ClassVar, Final, NamedTuple

from ...base.context import Host, current_host
from ...base.hiding import NOTHING_HIDDEN, Redactor
from ...base.steps import current_step
from ...core.base.unwritable import storable_json
from ...core.model import Json, LogLevel
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
        """Return a line written at this moment, without the secrets of its job."""
        # Before it is cut to its length: half a secret is not found any more.
        text = plain_text(redactor.text(str(message)), MAX_LINE)
        return cls(time.time(), level, text, redactor.json(bounded_fields(fields)), current_step.get())

    def also(self, fields: Mapping[str, Json]) -> "RawLine":
        """Return the line with further fields."""
        return self._replace(fields={**(self.fields or {}), **fields})


_LEVELS = {
    logging.DEBUG: LogLevel.DEBUG.value,
    logging.INFO: LogLevel.INFO.value,
    logging.WARNING: LogLevel.WARNING.value,
    logging.ERROR: LogLevel.ERROR.value,
    logging.CRITICAL: LogLevel.CRITICAL.value,
}


def bounded_fields(fields: Mapping[str, Json] | None) -> dict[str, Json] | None:
    """Return a line's fields as plain JSON; other values become text, and a note replaces those too large."""
    if not fields:
        return None
    if len(fields) <= _FEW and all(_is_plain(key, value) for key, value in fields.items()):
        return dict(fields)
    try:
        document = json.loads(json.dumps(fields, default=str), parse_constant=str)
        return dict(plain_json(storable_json(document), "the fields", MAX_FIELDS))
    except (TypeError, ValueError, RecursionError) as error:
        # A line is never a reason for a job to fail.
        return {"cut": plain_text(str(error), MAX_LINE)}


def _is_plain(key: str, value: Json) -> bool:
    """Return whether a field is certainly JSON that can be stored as it is; most fields are."""
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


def keep_lines_of_jobs(host: Host | None = None) -> None:
    """Start to keep the lines that jobs log by ``logging`` with their executions; for the life of the process.

    Nothing that configures ``logging`` later changes that: neither a change of handlers, nor a higher level of the
    root logger or ``logging.disable``, which hold for handlers alone; nor ``disable_existing_loggers``, by which a
    logger is muted everywhere but in jobs. Our own loggers are not muted by that. A logger's own level and ``disabled``
    hold as ever. Doing it again changes ``host`` and the level.

    Args:
        host: The one job of this process; unless given, the job in whose context a call is made.
    """
    _Keeping.of_process = host
    _Keeping.least = logging.root.level
    # Loggers remember which levels they let pass; this makes them forget it.
    logging.root.setLevel(logging.root.level)
    if _Keeping.is_on:
        return
    _Keeping.is_on = True
    # Sentry goes the same way: it is the one place that all records pass, and no configuration changes it.
    logging.Logger.callHandlers = partialmethod(_call_handlers, logging.Logger.callHandlers)  # type: ignore[method-assign, assignment]
    logging.Logger.handle = partialmethod(_handle, logging.Logger.handle)  # type: ignore[method-assign, assignment]
    logging.Logger.makeRecord = partialmethod(_make_record, logging.Logger.makeRecord)  # type: ignore[method-assign, assignment]
    logging.Logger.getEffectiveLevel = _kept_level  # type: ignore[method-assign, assignment]
    _Keeping.disabled = logging.root.manager.disable
    logging.disable(logging.NOTSET)
    logging.disable = _disable
    # Neither has a public way to ask for.
    functions: Any = logging.config
    functions._handle_existing_loggers = partial(_mute, functions._handle_existing_loggers)  # noqa: SLF001 - see above


class _Keeping:
    """The state of this process.

    Attributes:
        least: The level of the root logger as the node set it: lines of jobs are kept from there on.
        disabled: The level up to which handlers get no record, by ``logging.disable``.
    """

    is_on: ClassVar[bool] = False
    of_process: ClassVar[Host | None] = None
    least: ClassVar[int] = logging.NOTSET
    disabled: ClassVar[int] = logging.NOTSET


class OwnLogger(logging.Logger):
    """A logger of the server: nothing that code of jobs disables concerns it."""

    @property
    def disabled(self) -> bool:
        """Return False: it never is."""
        return False

    @disabled.setter
    def disabled(self, _: bool) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - no attribute there
        """Stay as it is, no matter who says otherwise."""


def _disable(level: int = logging.CRITICAL) -> None:
    """Take the place of ``logging.disable``."""
    _Keeping.disabled = level


def _with_level(logger: logging.Logger) -> logging.Logger:
    """Return the logger whose level holds for ``logger``: itself or the nearest above it that has one."""
    one = logger
    while not one.level and one.parent is not None:
        one = one.parent
    return one


def _kept_level(logger: logging.Logger) -> int:
    """Take the place of ``Logger.getEffectiveLevel``: records are made for lines of jobs, too."""
    one = _with_level(logger)
    return min(one.level, _Keeping.least) if one is logging.root else one.level


def _call_handlers(
    logger: logging.Logger, further: Callable[[logging.Logger, logging.LogRecord], None], record: logging.LogRecord
) -> None:
    """Keep ``record`` with the execution in whose context it was made; then show it to the handlers that there are."""
    host = _Keeping.of_process or current_host.get()
    if host is not None:
        keep_record(record, host)
    # What is kept is not lost: no handler is no reason to write it to standard error.
    if _is_shown(logger, record) and (host is None or logger.hasHandlers()):
        further(logger, record)


def _handle(
    logger: logging.Logger, further: Callable[[logging.Logger, logging.LogRecord], None], record: logging.LogRecord
) -> None:
    """Take the place of ``Logger.handle``: filters and handlers that raise fail users' code that logs, not the node."""
    try:
        further(logger, record)
    except Exception:
        if not is_own(logger.name):
            raise
        _REPORTING.handleError(record)


def _make_record(
    logger: logging.Logger,
    further: Callable[..., logging.LogRecord],
    *given: Any,  # noqa: ANN401 - of ``logging``
) -> logging.LogRecord:
    """Take the place of ``Logger.makeRecord``: a factory of records that raises fails users' code, not the node."""
    try:
        return further(logger, *given)
    except Exception:
        if not is_own(logger.name):
            raise
        record = logging.LogRecord(*given[:7])
        _REPORTING.handleError(record)
        return record


def _is_shown(logger: logging.Logger, record: logging.LogRecord) -> bool:
    """Return whether handlers get a record by the configuration."""
    if record.levelno < _with_level(logger).level:
        return False
    return isinstance(logger, OwnLogger) or (record.levelno > _Keeping.disabled and not vars(logger).get(_MUTED, False))


def _mute(further: Callable[..., None], existing: list[str], children: list[str], disable: bool) -> None:
    """Mute the loggers that a new configuration does not name, where ``logging`` would disable them."""
    loggers = logging.root.manager.loggerDict
    disabled = [name for name in existing if getattr(loggers[name], "disabled", False)]
    further(existing, children, False)
    muted = (set(existing) - set(children)) if disable else set[str]()
    for name, logger in loggers.items():
        setattr(logger, _MUTED, name in muted and not is_own(name))
    if disable:
        for name in disabled:
            setattr(loggers[name], "disabled", True)  # noqa: B010 - a place holder may be there instead of a logger


def keep_record(record: logging.LogRecord, host: Host) -> None:
    """Make ``record`` a line of this job, once; a bad call of ``logging`` is reported and fails nothing."""
    if _KEPT in vars(record):
        return
    setattr(record, _KEPT, True)
    try:
        host.log(_level(record.levelno), _text(record), _extra_of(record))
    except Exception:
        _REPORTING.handleError(record)


def _text(record: logging.LogRecord) -> str:
    """Return the line, also of a call whose arguments do not fit its message; then as Python prints it."""
    try:
        return _REPORTING.format(record)
    except Exception as error:
        fault = traceback.format_exception_only(error)[-1].strip()
        return f"--- Logging error ---\n{fault}\nMessage: {record.msg!r}\nArguments: {record.args!r}"


OWN_LOGGER: Final = "cronograph"
"""Above all loggers of ours."""


def is_own(name: str) -> bool:
    """Return whether a logger is ours."""
    return name.partition(".")[0] == OWN_LOGGER


_KEPT: Final = "_cronograph_kept"
_MUTED: Final = "_cronograph_muted"
_REPORTING: Final = logging.Handler()
"""Formats records, and reports what cannot be kept of them."""
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", _KEPT}
"""The attributes that every record has, and those that formatting adds."""


def _extra_of(record: logging.LogRecord) -> Mapping[str, Json] | None:
    attributes = vars(record).items()
    extra = {name: value for name, value in attributes if name not in _OWN_ATTRIBUTES and not name.startswith("_")}
    return extra or None


def level_name(level: int) -> str:
    """Return the word under which a level is stored."""
    return _LEVELS[_level(level)]


def _level(levelno: int) -> int:
    return max((level for level in _LEVELS if level <= levelno), default=logging.DEBUG)
