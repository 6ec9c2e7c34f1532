"""The server's side of the remote contract: code at an engine begins, speaks, and ends.

It has the messages of a child process to its node (``process.wire``), one by one, each with the next number: one
that comes again is answered as before and changes nothing. All of it is stored, so any server answers.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar, cast

from ...actions.run_changes import changed
from ...actions.runs import save_checkpoint, save_progress
from ...actions.signals import PATH, make_link
from ...base.services import Services
from ...core.admission.labels import inherited
from ...core.arguments.secrets import references, resolved
from ...core.base.errors import ConfigurationError, InvalidInput, UserError, refuse
from ...core.base.times import check_time
from ...core.model import Json, Run
from ...core.outcome import Failed, time_box
from ...core.remote import heartbeat_of
from ...core.rules import seconds_faults
from ...core.run_spec import RunSpec
from ...core.steps import StepState, StoredStep, check_label
from ...queue import remote
from ...queue.base.apart import append_lines
from ...queue.enqueue.enqueue import put_many
from ...queue.enqueue.requests import new_runs
from ...queue.flows.new_flows import put_spec
from ...queue.remote import Refusal, Speaker
from ...queue.steps import EndedStep, rows_of, rows_to_store
from ...queue.waits import wait
from ...store.db.faults import ErrorKind, first_line, kind_of, log_fault
from ...store.db.transaction import Tx
from ...store.statements import runs as stored_runs
from ...store.statements import tasks as stored_tasks
from ...store.statements.logs import LogLine
from ..job.lines import level_name
from ..job.results import error_text, storable
from ..job.secrets import read_secrets
from ..job.values import plain_json, progress_document
from ..process.wire import (
    Answer,
    BeginWait,
    ChangeRun,
    Ended,
    Enqueue,
    FindStep,
    FrameError,
    KeepStep,
    Lines,
    MakeSignalUrl,
    Progress,
    Request,
    Save,
    ToNode,
    to_node,
)

T = TypeVar("T")

log = logging.getLogger(__name__)

_LATEST: Final = datetime(9998, 12, 31, tzinfo=UTC).timestamp()

_MOST_LINES: Final = 2**31 - 1
"""The last number that a line can have in the tables and in the API."""

TAKEN_FROM_NODE: Final = "the run was taken from the node that looks after it"


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to code at an engine.

    Attributes:
        sequence: The number of its last message.
        answer: To a request; None: it asked for nothing.
        stop: Why it should stop; None: it need not.
    """

    sequence: int
    answer: Json = None
    stop: str | None = None

    def document(self) -> dict[str, Json]:
        """Return the answer as it is sent."""
        return {"answer": self.answer, "stop": self.stop}


class RemoteContract:
    """Answers code at engines.

    Args:
        services: The database of the API, and the keys of secrets.
        lease: Seconds for which such code may be silent.
    """

    def __init__(self, services: Services, lease: float) -> None:
        self._services = services
        self._database = services.database
        self._heartbeat = heartbeat_of(lease)

    async def knows(self, token_hash: str) -> bool:
        """Return whether a token is that of an attempt: strangers do not have a body read."""
        return await self._database.read(remote.is_known, token_hash)

    async def start(self, token_hash: str, starter: str) -> dict[str, Json] | Refusal | str:
        """Start code: return its input, with its secrets, a refusal, or in words why its secrets cannot be had."""
        found = await self._database.write(_begin, token_hash, starter)
        if isinstance(found, Refusal):
            return found
        speaker, begin = found
        begun = await self._with_secrets(speaker, begin)
        return begun if isinstance(begun, str) else {**begun, "sequence": speaker.sequence}

    async def prepare(self, token_hash: str) -> dict[str, Json] | Refusal | str:
        """Return the input of code that begins without a server, at an unknown time."""
        found = await self._database.write(remote.speaker, token_hash)
        if isinstance(found, Refusal):
            return found
        begin = await self._with_secrets(found, dict(found.begin))
        if isinstance(begin, str):
            return begin
        run = found.run
        deadline = None if run.deadline_at is None else run.deadline_at.isoformat()
        return {**begin, "sequence": 0, "timeout": run.timeout, "deadline": deadline}

    async def _with_secrets(self, speaker: Speaker, begin: dict[str, Any]) -> dict[str, Any] | str:
        names = references(speaker.run.args)
        secrets: dict[str, str] = {}
        if names:
            read = await read_secrets(self._services, names)
            if not isinstance(read, dict):
                return read.message if isinstance(read, Failed) else read.reason
            secrets = read
        info = begin["info"] | {"args": resolved(speaker.run.args, secrets)}
        return {"begin": {**begin, "info": info, "secrets": secrets}, "heartbeat": self._heartbeat}

    async def read(self, token_hash: str, line: bytes) -> Said | Refusal:
        """Carry out a line of an outbox: the start of code, or a message of it.

        Raises:
            FrameError: it is neither.
        """
        starter = document_of(line).get("starter")
        if not isinstance(starter, str):
            return await self.say(token_hash, line)
        found = await self._database.write(remote.begin, token_hash, starter)
        return found if isinstance(found, Refusal) else Said(found.sequence, None, found.attempt.stop)

    async def last(self, token_hash: str) -> Said | Refusal:
        """Return the answer to the last message, and whether the code should stop."""
        found = await self._database.read(remote.last_said, token_hash)
        return found if isinstance(found, Refusal) else Said(*found)

    async def heartbeat(self, token_hash: str) -> Said | Refusal:
        """Note a sign of life."""
        noted = await self._database.write(remote.note_life, token_hash)
        return noted if isinstance(noted, Refusal) else Said(0, stop=noted.stop)

    async def say(self, token_hash: str, body: bytes) -> Said | Refusal:
        """Carry out a message: ``{"sequence": 1, "message": {"kind": …}}``.

        Raises:
            FrameError: it is none.
        """
        document = document_of(body)
        sequence = document.get("sequence")
        if not isinstance(sequence, int) or isinstance(sequence, bool):
            raise FrameError("'sequence' must be a whole number")
        message = to_node(json.dumps(document.get("message")).encode())
        try:
            return await self._database.write(_say, token_hash, sequence, message, self._services.public_url)
        except Exception as error:
            if kind_of(error) is not ErrorKind.REFUSAL:
                raise
            raise FrameError(f"the database cannot store it: {first_line(error)}") from error


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def document_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is.

    Raises:
        FrameError: it is none.
    """
    try:
        found = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the body must be JSON: {error}") from error
    if not isinstance(found, dict):
        raise FrameError("the body must be a JSON object")
    return cast("dict[str, Any]", found)


def _begin(tx: Tx, token_hash: str, starter: str) -> tuple[Speaker, dict[str, Any]] | Refusal:
    found = remote.begin(tx, token_hash, starter)
    if isinstance(found, Refusal):
        return found
    run = found.run
    # Its time box counts from here: how long an engine lets it wait is not its fault.
    started = found.attempt.started_at or tx.now
    box = time_box(_Timed(run.timeout, started, run.deadline_at))
    left = None if box is None else max(0.0, box - (tx.now - started).total_seconds())
    deadline = None if left is None else tx.now + timedelta(seconds=left)
    owner = stored_tasks.checkpoints(tx.conn, [run.task_id]) if run.task_id is not None else {}
    begin = dict(found.begin)
    begin["info"] = {**begin["info"], "deadline": None if deadline is None else deadline.isoformat()}
    return found, {**begin, "remaining": left, "checkpoint": owner.get(run.task_id or 0, run.checkpoint)}


@dataclass(frozen=True, slots=True)
class _Timed:
    timeout: float | None
    started_at: datetime | None
    deadline_at: datetime | None


def _say(tx: Tx, token_hash: str, sequence: int, message: ToNode, public_url: str | None) -> Said | Refusal:
    said = remote.speaker(tx, token_hash)
    if isinstance(said, Refusal):
        return said
    if sequence == said.sequence:
        return Said(sequence, said.answer, said.attempt.stop)
    if sequence != said.sequence + 1:
        return Refusal.OUT_OF_ORDER if sequence > said.sequence else Refusal.SAID_BEFORE
    answer, lines, notes = None, 0, dict(said.notes)
    match message:
        case Lines():
            lines = _keep_lines(tx, said, message)
        case Progress(done=done, total=total, message=text):
            save_progress(tx, [(said.run, _judged(progress_document, done, total, text))])
        case Ended():
            remote.end(tx, said.attempt.execution_id, _storable(message).model_dump(mode="json"))
        case _:
            answer = _answered(tx, said, message, public_url)
            _note(notes, message, answer)
    document = None if answer is None else answer.model_dump(mode="json")
    remote.note_message(tx, said, answer=document, lines=lines, notes=notes)
    return Said(sequence, document, said.attempt.stop)


def _storable(message: Ended) -> Ended:
    """Return an end as it can be stored.

    Raises:
        FrameError: a job on a node could not end so.
    """
    outcome = _judged(storable, message.strict_value())
    _judged(new_runs, message.at_end)
    return Ended.of(outcome, message.at_end)


def _judged(make: Callable[..., T], *values: object) -> T:
    """Return the message made of foreign values.

    Raises:
        FrameError: they are invalid.
    """
    try:
        return make(*values)
    except (UserError, ValueError) as error:
        raise FrameError(str(error)) from error


def _time(at: float) -> datetime:
    if not 0 <= at < _LATEST:
        raise ValueError(f"lines: 'at' must be seconds since 1970, before the year 9999, got {at!r:.60}")
    return datetime.fromtimestamp(at, UTC)


def _keep_lines(tx: Tx, said: Speaker, message: Lines) -> int:
    first = said.attempt.log_lines + message.dropped + 1
    last = first - 1 + len(message.lines)
    if last > _MOST_LINES:
        raise FrameError(f"lines: an attempt may have {_MOST_LINES:,} lines, dropped ones counted, got {last:,}")
    lines = [
        LogLine(
            said.attempt.execution_id, first + place, _judged(_time, one.at), level_name(one.level), one.message,
            one.fields, one.step,
        )
        for place, one in enumerate(message.lines)
    ]  # fmt: skip
    append_lines(tx, lines)
    return message.dropped + len(lines)


def _note(notes: dict[str, Any], message: Request, answer: Answer) -> None:
    """Note facts for the end of the attempt: results that were asked for, and waits at which it may stand."""
    match message:
        case FindStep(label=label):
            notes["asked"] = sorted({*notes.get("asked", []), label})
        case BeginWait(wait=asked) if answer.step is not None and answer.step.state is StepState.WAITING:
            notes["waits"] = {**notes.get("waits", {}), asked.label: message.model_dump(mode="json")["wait"]}
        case _:
            pass


def _answered(tx: Tx, said: Speaker, asked: Request, public_url: str | None) -> Answer:
    """Carry out a request; one that is refused changes nothing, and the code gets the reason."""
    try:
        with tx.savepoint():
            return _done(tx, said.run, asked, public_url)
    except Exception as error:
        if kind_of(error).passes:
            raise
        if kind_of(error) is ErrorKind.FAULT and not isinstance(error, UserError | ConfigurationError | _TakenError):
            log_fault(log, f"run {said.run.id} could not {asked.kind}", error)
        why = str(error) if isinstance(asked, KeepStep) else f"{type(error).__name__}: {error}"
        return Answer(number=asked.number, error=why)


class _TakenError(Exception):
    """The request is refused, because the run was taken away."""


def _check(asked: Request) -> None:
    """Let a request pass that a job of a node could make.

    Raises:
        UserError: its label, a time or a number of seconds is none.
    """
    match asked:
        case KeepStep(end=end):
            check_label(end.label)
            check_time(end.started_at, "startedAt")
            check_time(end.finished_at, "finishedAt")
        case BeginWait(wait=wanted):
            check_label(wanted.label)
            check_time(wanted.until, "until")
            refuse(seconds_faults(wanted.seconds or 0, "seconds"))
        case FindStep(label=label) | MakeSignalUrl(label=label):
            check_label(label)
        case _:
            pass


def _done(tx: Tx, run: Run, asked: Request, public_url: str | None) -> Answer:
    number = asked.number
    _check(asked)
    match asked:
        case Save(value=value):
            _held(save_checkpoint(tx, run, _plain(value, "the checkpoint")) or None)
            return Answer(number=number)
        case Enqueue(runs=runs, flow=None):
            return Answer(number=number, ids=put_many(tx, _inheriting(run, runs)))
        case Enqueue(flow=flow) if flow is not None:
            labelled = replace(flow, labels=inherited(run.labels, flow.labels))
            return Answer(number=number, ids=[put_spec(tx, labelled)])
        case ChangeRun(target=target, change=change):
            return Answer(number=number, state=changed(tx, target, change).state)
        case FindStep(label=label):
            found = stored_runs.step_results_of(tx.conn, [run.id]).get(run.id, {})
            return Answer(number=number, step=found.get(label))
        case KeepStep(end=end):
            value, error = _plain(end.value, f"the value of step '{end.label}'"), end.error and error_text(end.error)
            rows = rows_of([EndedStep(run, replace(end, value=value, error=error))])
            _held(rows_to_store(tx, (run.node_id or 0, run.node or ""), rows) or None)
            return Answer(number=number)
        case BeginWait(wait=wanted):
            stored: StoredStep = _held(wait(tx, run, wanted))
            return Answer(number=number, step=stored)
        case MakeSignalUrl(label=label, page=page):
            return Answer(number=number, url=_signal_url(tx, run, label, page, public_url))
        case _:
            raise AssertionError(asked)


def _plain(value: Json, what: str) -> Json:
    """Return a value that is small enough to be kept, and that every database can store.

    Raises:
        InvalidInput: it is not.
    """
    try:
        return plain_json(value, what)
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def _held(found: Any) -> Any:  # noqa: ANN401 - what the queue returns, or None
    if found is None:
        raise _TakenError(TAKEN_FROM_NODE)
    return found


def _inheriting(run: Run, runs: Sequence[RunSpec]) -> Sequence[RunSpec]:
    return [replace(one, parent_labels=run.labels) for one in runs] if run.labels else runs


def _signal_url(tx: Tx, run: Run, label: str, page: Mapping[str, Json] | None, public_url: str | None) -> str:
    if public_url is None:
        raise ConfigurationError(
            "signal_url: this server does not know under which address people reach it; set public_url "
            "(CRONOGRAPH_PUBLIC_URL), e.g. https://cron.example.com"
        )
    return f"{public_url.rstrip('/')}{PATH}/{_held(make_link(tx, run, label, page))}"
