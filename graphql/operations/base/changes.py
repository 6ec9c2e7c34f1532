"""Write by mutations: check the input, run one action in one transaction, turn refusals into data."""

import hashlib
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, partial
from itertools import chain
from typing import Any, Final, Generic, Protocol, TypeVar, cast, runtime_checkable

import strawberry
from pydantic import TypeAdapter

from ....jobs.accounts.rules.accounts import LOCAL_ADMINISTRATOR_NAME
from ....jobs.actions.idempotent import AnswerCodec, Request, once
from ....jobs.actions.tasks import check_task_version
from ....jobs.base.services import Also
from ....jobs.core.actor import Record, argument_names
from ....jobs.core.base.errors import InvalidInput, NotFound, refuse
from ....jobs.core.base.errors import UserError as Refusal
from ....jobs.core.base.times import time_text
from ....jobs.core.model import Json, Run, Task
from ....jobs.core.rules import MAX_NAME
from ....jobs.store.db.transaction import Tx
from ....jobs.store.statements import runs as run_store
from ....jobs.store.statements import tasks as task_store
from ...base.scalars import camel, decimal, unstorable
from ...resolving.context import Info
from ...types.common import MutationPayload, UserError
from ...types.refusals import shown

P = TypeVar("P", bound=MutationPayload)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The outcome of a write: a result, or the reasons why nothing was changed."""

    result: T | None
    errors: list[UserError]

    def answer(self, kind: type[P], **made_by: Callable[[T], object]) -> P:
        """Return the payload of the mutation: fields made of the result, or the errors."""
        result = self.result
        if result is None:
            return kind(errors=self.errors)
        made: dict[str, Any] = {name: make(result) for name, make in made_by.items()}
        return kind(**made)


async def perform(
    info: Info,
    input: object,
    action: Callable[[Tx], T],
    codec: AnswerCodec[T],
    *,
    key: str | None = None,
    fast_path: Callable[[Record], Awaitable[T | None]] | None = None,
    faults: Iterable[Refusal] = (),
) -> Done[T]:
    """Run ``action`` in one transaction.

    All faults of the input are reported at once.

    Args:
        info: Of the resolver; its field's name is part of the request that an idempotency key stands for.
        input: The input from the client; its texts and numbers are checked here.
        action: Calls ``jobs.actions``.
        codec: How a repeated request finds its answer.
        key: The idempotency key, unless ``input`` carries it. A dry run is taken back, and not remembered.
        fast_path: Does the same in less than a transaction, with this entry of the audit log; None: it cannot, and has
            done nothing. Not asked where there is an idempotency key.
        faults: Further faults of the input.
    """

    async def write() -> T:
        chosen = key or getattr(input, "idempotency_key", None) or None
        if is_dry(input):
            return await info.context.write(partial(_tried, action))
        request = (
            None if chosen is None else Request(chosen, info.field_name, digest(info, input), info.context.person.key)
        )
        also = info.context.also
        if request is None and fast_path is not None and also is None:
            subject, asked = _asked(input)
            done = await fast_path(Record(info.context.person.actor, info.field_name, subject, after=asked))
            if done is not None:
                info.context.renew()
                return done
        audited = partial(_audited, action, info.field_name, input)
        if also is not None:
            audited = partial(_with, audited, codec, also)
        return await info.context.write(once, request, audited, codec)

    return await _done(input, write, chain(input_faults(key, ("idempotencyKey",)), faults))


def _with(action: Callable[[Tx], T], codec: AnswerCodec[T], also: Also, tx: Tx) -> T:
    result = action(tx)
    also(tx, codec.dump(result))
    return result


async def perform_once(info: Info, input: object, action: Callable[[Tx], T]) -> Done[T]:
    """Run ``action`` in one transaction, for answers that must not be remembered, such as one with a secret."""
    return await _done(input, partial(info.context.write, partial(_tried, action) if is_dry(input) else action))


def is_dry(input: object) -> bool:
    """Return whether a request asks for a dry run."""
    return bool(getattr(input, "dry_run", None))


def _tried(action: Callable[[Tx], T], tx: Tx) -> T:
    """Run an action, take back its changes and return its result."""
    with tx.undone():
        return action(tx)


class OfVersion(Protocol):
    """An input that says which version of a task it means."""

    name: str
    expected_version: int | None


def versioned(input: OfVersion, action: Callable[[Tx], T]) -> Callable[[Tx], T]:
    """Return the action, refused if the task is no longer at the version that the input expects."""
    expected = given(input.expected_version)

    def checked(tx: Tx) -> T:
        if expected is not None:
            check_task_version(tx, input.name, expected)
        return action(tx)

    return checked


async def _done(input: object, write: Callable[[], Awaitable[T]], faults: Iterable[Refusal] = ()) -> Done[T]:
    try:
        refuse(chain(_faults(input), faults))
        return Done(await write(), [])
    except Refusal as refusal:
        return Done(None, [shown(fault) for fault in refusal.faults])


def _audited(action: Callable[[Tx], T], operation: str, input: object, tx: Tx) -> T:
    """Run an action; unless it records its changes itself, the audit log gets the input."""
    tx.operation = operation
    result = action(tx)
    if not tx.records:
        subject, asked = _asked(input)
        tx.record(operation, subject, before=_before(tx), after=asked)
    return result


def _asked(input: object) -> tuple[str | None, Json]:
    asked = audited_input(input)
    return next((str(asked[name]) for name in NAMING if asked.get(name)), None), asked


def _before(tx: Tx) -> Json:
    if len(tx.before) == 1:
        return next(iter(tx.before.values()))
    return dict(list(tx.before.items())[:MOST_LISTED]) or None


NAMING: Final = ("name", "jobName", "id", "owner")
"""Members of inputs that name what is changed, the best first."""
MOST_LISTED: Final = 20


def audited_input(input: object) -> dict[str, Json]:
    """Return a client's input as the audit log keeps it: of arguments the names alone, of long lists the length."""
    asked = {camel(name): _for_audit(name, value) for name, value in _present(input)}
    return {name: value for name, value in asked.items() if value is not None and name != "idempotencyKey"}


def _for_audit(name: str, value: object) -> Json:
    if name == "args" and not is_dataclass(value):
        return argument_names(cast("dict[str, Json]", value)) if isinstance(value, dict) else None
    if is_dataclass(value):
        return audited_input(value)
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_for_audit("", one) for one in items] if len(items) <= MOST_LISTED else {"count": len(items)}
    return _plain(value)


@runtime_checkable
class Judged(Protocol):
    """An input about which more can be said without the database than that its values can be stored."""

    def faults(self) -> Iterator[Refusal]:
        """Yield the faults of the input by the engine's rules."""
        ...


def _faults(input: object) -> Iterator[Refusal]:
    """Yield the faults of unstorable values, then all others that need no look at the database."""
    found = {fault.path: fault for fault in input_faults(input)}
    yield from found.values()
    if found and isinstance(input, Judged):
        yield from (fault for fault in input.faults() if fault.path not in found)


_NAMES: Final = frozenset(
    {"name", "job_name", "task_name", "group", "owner", "after", "unique_key", "idempotency_key"}
    | {"names", "set_name"}
)
"""Members of inputs that are names, or lists of them: no mutation takes a longer one, whether it makes or finds it."""
_HARMLESS: Final = frozenset({bool, int, datetime})
"""Values of these exact types can be stored."""


def input_faults(value: object, path: tuple[str, ...] = ()) -> Iterator[InvalidInput]:
    """Yield the faults that no action can judge: unstorable texts and numbers, arguments that are no object."""
    if isinstance(value, str) and not isinstance(value, Enum):
        fault = unstorable(value)
        if fault is not None:
            yield InvalidInput(f"{_shown(path)}: must not contain {fault}", path=path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield InvalidInput(f"{_shown(path)}: must be a finite number, got {value}", path=path)
    elif isinstance(value, list):
        for place, one in enumerate(cast("list[object]", value)):
            yield from input_faults(one, (*path, str(place)))
    elif is_dataclass(value):
        for name, one in _present(value):
            yield from _member_faults(name, one, path)


def _member_faults(name: str, value: object, path: tuple[str, ...]) -> Iterator[InvalidInput]:
    if name in {"args", "variables"} and not is_dataclass(value):
        yield from _args_faults(value, (*path, name))
    elif value is not None and type(value) not in _HARMLESS:
        place = (*path, camel(name))
        yield from input_faults(value, place)
        if name in _NAMES:
            yield from _name_faults(value, place)


def _name_faults(value: object, path: tuple[str, ...]) -> Iterator[InvalidInput]:
    """Yield faults of the length of a name; its spelling is judged where the thing is created."""
    if isinstance(value, str) and len(value) > MAX_NAME:
        yield InvalidInput(f"{_shown(path)}: must have at most {MAX_NAME} characters, got {len(value):,}", path=path)
    elif isinstance(value, list):
        for place, one in enumerate(cast("list[object]", value)):
            yield from _name_faults(one, (*path, str(place)))


def _args_faults(value: object, path: tuple[str, ...]) -> Iterator[InvalidInput]:
    """Yield the faults of a job's arguments, which may be nested as deep as a request may be."""
    if value is not None and not isinstance(value, dict):
        yield InvalidInput(f"{_shown(path)}: must be an object, got {value!r:.60}", path=path)
        return
    whole = cast("object", value)
    if _is_storable(whole):
        return
    pending: list[tuple[object, tuple[str, ...]]] = [(whole, path)]
    while pending:
        one, place = pending.pop()
        if isinstance(one, dict):
            members = cast("dict[str, object]", one)
            for name in members:
                yield from input_faults(name, place)
            pending += [(inner, (*place, name)) for name, inner in reversed(members.items())]
        elif isinstance(one, list):
            items = cast("list[object]", one)
            pending += [(inner, (*place, str(index))) for index, inner in reversed(list(enumerate(items)))]
        else:
            yield from input_faults(one, place)


def _is_storable(value: object) -> bool:
    """Return whether surely nothing in a value is a fault: places are only worked out where there may be one."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return False
    return "\\u0000" not in text and unstorable(text) is None


def parse_key(value: str, *path: str) -> int:
    """Return the key behind an id of an input.

    Raises:
        InvalidInput: it is no decimal number of at most 64 bits.
    """
    number = decimal(value)
    if number is None:
        raise InvalidInput(
            f"{_shown(path)}: must be an id as this API gives them, a decimal number, got {value[:60]!r}", path=path
        )
    return number


def digest(info: Info, input: object) -> str:
    """Hash who asks, the field and its input, so that a reused key never returns the answer to another request."""
    person = info.context.person
    asks = person.name if person.account_id is None and person.name != LOCAL_ADMINISTRATOR_NAME else person.account_id
    text = json.dumps([asks, info.field_name, _plain(input)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def args_of(value: object) -> dict[str, Json] | None:
    """Return the arguments of a job that ``input_faults`` has nothing against; absent is None."""
    return cast("dict[str, Json] | None", None if value is strawberry.UNSET else value)


def given(value: T | None) -> T | None:
    """Return the value of an optional input; absent is None."""
    return None if value is strawberry.UNSET else value


def changed(input: object, usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of an input of changes that are given, lists as tuples.

    Args:
        usual: The names of its fields, each with the value that null stands for; UNSET = null changes nothing.
    """
    found = {name: getattr(input, name) for name in usual}
    found = {name: usual[name] if value is None else value for name, value in found.items()}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in found.items()
        if value is not strawberry.UNSET
    }


def _present(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any input object
    for name in _names(cast("Any", type(value))):
        one = getattr(value, name)
        if one is not strawberry.UNSET:
            yield name, one


@cache
def _names(kind: "type[Any]") -> tuple[str, ...]:
    """Return the fields of a type of inputs; the library puts them together for each object."""
    return tuple(field.name for field in fields(kind))


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {name: _plain(one) for name, one in _present(value) if name != "idempotency_key"}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("list[object]", value)]
    return value


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(path) or "input"


def one_left(found: Mapping[int, T], key: int, kind: str, fate: str) -> T:
    """Return the row with which the first request was answered, for a repeated one.

    Raises:
        NotFound: it is gone; the message names its kind and its end.
    """
    if key not in found:
        raise NotFound(f"the {kind} that this request answered with was {fate} since (id {key})")
    return found[key]


def restore_tasks(tx: Tx, stored: Json) -> list[Task]:
    """Return the tasks of a repeated request, as they are now; those deleted since are left out."""
    found = task_store.by_ids(tx.conn, stored["tasks"])
    return [found[task_id] for task_id in stored["tasks"] if task_id in found]


def restore_runs(tx: Tx, stored: Json) -> list[Run]:
    """Return the runs of a repeated request, as they are now; those pruned since are left out."""
    found = run_store.by_ids(tx.conn, stored["runs"])
    return [found[run_id] for run_id in stored["runs"] if run_id in found]


def restore_run(tx: Tx, stored: Json) -> Run:
    """Return the run of a repeated request, as it is now."""
    return one_left(run_store.by_ids(tx.conn, stored["runs"]), stored["runs"][0], "run", "pruned")


def kept_whole(kind: type[T]) -> AnswerCodec[T]:
    """Return a codec that stores the whole answer, for things that may be gone when the request is repeated."""
    shape = TypeAdapter(kind)
    return AnswerCodec(
        dump=lambda one: {"kept": shape.dump_python(one, mode="json")},
        load=lambda _, stored: shape.validate_python(stored["kept"]),
    )


ONE_TASK: Final[AnswerCodec[Task]] = AnswerCodec(
    dump=lambda task: {"task": task.id},
    load=lambda tx, stored: one_left(task_store.by_ids(tx.conn, [stored["task"]]), stored["task"], "task", "deleted"),
)
ONE_RUN: Final[AnswerCodec[Run]] = AnswerCodec(dump=lambda run: {"runs": [run.id]}, load=restore_run)
