"""What columns must hold beyond what the database knows of them: which words, and which documents.

Each column with documents is named in ``SHAPES`` or in ``ANY_DOCUMENT``, and if more of a document is read than what it
is, in ``MEANINGS`` too.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Table

from ...core.admission.caps import Cap
from ...core.base.awaits import Awaits
from ...core.base.levels import LogLevel
from ...core.base.rates import Rate
from ...core.events import EventKind, spread
from ...core.flows.model import Ending
from ...core.model import Isolation
from ...core.schedule import Syntax
from .callbacks import callback_from
from .events import event, idempotency_key
from .flows import flow, flow_run
from .groups import queue_group
from .records import execution_log, skipped_occurrence
from .specs import defaults_from
from .steps import run_signal, run_step
from .tables import job, job_execution, node, periodic_task, run
from .types import from_text

WORDS: Final[Mapping[tuple[Table, str], Iterable[str]]] = {
    (periodic_task, "declared_syntax"): Syntax,
    (job, "isolation"): Isolation,
    (execution_log, "level"): LogLevel,
}
"""Columns with words, which no constraint of the database knows."""

OBJECT: Final = "an object"
LIST: Final = "a list"
SHAPES: Final[Mapping[tuple[Table, str], str]] = {
    **{(periodic_task, name): OBJECT for name in ("args", "declared_args", "labels", "rate")},
    (periodic_task, "inherits"): LIST,
    **{(run, name): OBJECT for name in ("args", "carried", "labels", "progress")},
    (job_execution, "progress"): OBJECT,
    (execution_log, "fields"): OBJECT,
    (skipped_occurrence, "policy"): OBJECT,
    **{(job, name): OBJECT for name in ("args_schema", "defaults", "rate")},
    (job, "tags"): LIST,
    (node, "jobs"): LIST,
    **{(node, name): OBJECT for name in ("signatures", "choice", "blockage")},
    (event, "changes"): LIST,
    (run, "awaits"): OBJECT,
    **{(flow, name): OBJECT for name in ("callbacks", "labels")},
    (flow_run, "uses"): OBJECT,
    (flow_run, "chain"): LIST,
    (queue_group, "rate"): OBJECT,
    (queue_group, "cap"): OBJECT,
    (run_step, "form"): OBJECT,
}
"""Of columns with documents: what these are."""

ANY_DOCUMENT: Final = frozenset(
    {
        (periodic_task, "checkpoint"),
        (run, "checkpoint"),
        (run, "result"),
        (job_execution, "value"),
        (run_step, "value"),
        (run_signal, "payload"),
        (idempotency_key, "answer"),
    }
)
"""The columns that may hold any document: what users store, and answers, which are read by what asks for them."""


def _texts(document: Any) -> None:
    if not all(isinstance(one, str) for one in document):
        raise ValueError


def _texts_by_name(document: Any) -> None:
    _texts(document.values())


def _choice(document: Any) -> None:
    if not document.keys() <= {"groups", "only_jobs", "tags", "without_tags"}:
        raise ValueError
    for names in document.values():
        _texts(names)


def _blockage(document: Any) -> None:
    from_text(document["since"])
    _texts((document["job"], *document["stack"]))
    int(document["run"])


def _progress(document: Any) -> None:
    number = (int, float)
    fits = (
        isinstance(document["done"], number)
        and isinstance(document.get("total"), (*number, type(None)))
        and isinstance(document.get("message"), str | None)
    )
    if not fits:
        raise ValueError(document)


def _awaits(document: Any) -> None:
    found = Awaits.from_json(document)
    _texts([document.get("name", "")])
    if not all(type(one) is int for one in (*found.runs, found.count)):
        raise ValueError(document)


def _callbacks(document: Any) -> None:
    for end, callback in document.items():
        callback_from(callback)
        _texts((Ending(end), callback["job_name"], callback["group"]))


def _uses(document: Any) -> None:
    _texts(document["keys"])
    document["args"].items()


def _kind_of(name: str) -> type:
    return EventKind if name == "kind" else str


def _changes(document: Any) -> None:
    for change in spread(document):
        for name in change.__slots__:
            value, number = getattr(change, name), name.endswith("_id")
            if value is not None and type(value) is not (int if number else _kind_of(name)):
                raise ValueError(change)


MEANINGS: Final[Mapping[tuple[Table, str], tuple[str, Callable[[Any], object]]]] = {
    (periodic_task, "inherits"): ("a list of texts", _texts),
    (run, "progress"): ("what `progress()` stores", _progress),
    (job_execution, "progress"): ("what `progress()` stores", _progress),
    (job, "tags"): ("a list of texts", _texts),
    (job, "defaults"): ("what a job says of its runs", defaults_from),
    (node, "jobs"): ("a list of texts", _texts),
    (node, "signatures"): ("an object of texts", _texts_by_name),
    (node, "choice"): ("what a node takes: lists of names", _choice),
    (node, "blockage"): ("since when which run blocks the node, and where", _blockage),
    (event, "changes"): ("a list of changes", _changes),
    (run, "awaits"): ("what a suspended run waits for", _awaits),
    (flow, "callbacks"): ("the runs that follow the end of a flow", _callbacks),
    (flow_run, "uses"): ("the keys of results, and the arguments that take them", _uses),
    (flow_run, "chain"): ("a list of texts", _texts),
    (queue_group, "rate"): ("a rate", Rate.from_json),
    (queue_group, "cap"): ("a cap on waiting runs", Cap.from_json),
    (periodic_task, "rate"): ("a rate", Rate.from_json),
    (job, "rate"): ("a rate", Rate.from_json),
}
"""The documents that the product reads as more than a document, with what makes that of them."""
