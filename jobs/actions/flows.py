"""Change flows, each action in one transaction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select, update

from ..core.base.errors import InvalidInput, InvalidState, NotFound, UserError, refuse
from ..core.defaults import JobDefaults
from ..core.flows import (
    Before,
    Flow,
    FlowState,
    NewFlow,
    NewMember,
    Standing,
    deadline_sentence,
    flow_faults,
    ordered,
    result_faults,
    standing,
    unknown_in,
)
from ..core.limits import key_of_flow
from ..core.model import Json, NewRun, Run
from ..core.rules import check_reason, unknown
from ..core.states import FINAL, RunState
from ..queue.cancel import cancel_all
from ..queue.flows.flow_ends import emit_flow, end_if_over, hold, overdue, release, was_kept
from ..queue.flows.new_flows import as_member, put_again, put_flow, put_members, refuse_taken
from ..store.db.transaction import Tx
from ..store.schema.tables import flow as f
from ..store.schema.tables import run as r
from ..store.statements import flows as stored
from ..store.statements import jobs
from ..store.statements import runs as stored_runs
from .idempotent import account_of, check_submitter
from .retries import made_again
from .runs import derived, labels_of_changed, published, request_faults, version_for


def enqueue_flow(tx: Tx, new: NewFlow, *, submitter: str | None = None) -> Flow:
    """Put a flow into the queue, all of its runs or none.

    Raises:
        UserError: faults of its shape, its jobs or their arguments, each with its path.
    """
    refuse(_flow_faults(new))
    members = ordered(new.members)
    judged = _judged(tx, members, new.members)
    callbacks = {end: _judged_callback(tx, end.value, run) for end, run in new.callbacks.items()}
    flow_id = put_flow(tx, replace(new, members=tuple(judged), callbacks=callbacks), submitter, account_of(tx))
    return stored.by_ids(tx.conn, [flow_id])[flow_id]


def _flow_faults(new: NewFlow) -> Iterator[UserError]:
    yield from flow_faults(new.name, new.unique_key, new.labels, new.max_concurrent, new.deadline, is_open=new.is_open)
    if not new.members and not new.is_open:
        message = "runs: must be at least one, got none; a flow that gets its runs later is enqueued with open: true"
        yield InvalidInput(message, path=("runs",))


def add_runs(tx: Tx, flow_id: int, members: Sequence[NewMember]) -> list[Run]:
    """Add runs to an open flow; they may come after any run that is in it.

    Raises:
        InvalidState: the flow was closed.
        UserError: see ``enqueue_flow``.
    """
    flow = _locked(tx, flow_id)
    if flow.closed_at is not None:
        raise InvalidState(
            f"flow {flow_id} is closed and takes no further runs; enqueue a flow with open: true for that", path=("id",)
        )
    known = {one.key: one.run_id for one in stored.members_of(tx.conn, [flow_id])}
    judged = _judged(tx, ordered(members, known), members)
    runs = put_members(tx, flow_id, judged, known, flow.labels)
    _release_added(tx, [run.id for run in runs])
    return list(stored_runs.by_ids(tx.conn, [run.id for run in runs]).values())


def close_flow(tx: Tx, flow_id: int) -> Flow:
    """Let a flow take no further runs, so that it ends with the last one that it has. Closing twice is fine."""
    flow = _locked(tx, flow_id)
    if flow.closed_at is None:
        tx.conn.execute(update(f).where(f.c.id == flow_id).values(closed_at=tx.now))
        emit_flow(tx, flow_id, flow.state)
        end_if_over(tx, {flow_id})
    return _now(tx, flow_id)


def cancel_flow(tx: Tx, flow_id: int, *, reason: str | None = None, actor: str | None = None) -> Flow:
    """Cancel all runs of a flow that are unfinished, and close it.

    Its state is decided when the last of them has stopped. Of a flow that is over nothing is changed.
    """
    check_reason(reason)
    flow = _locked(tx, flow_id)
    if flow.finished_at is not None:
        return flow
    by = f" by {actor}" if actor else ""
    _cancel(tx, flow, f"cancelled with its flow{by}" + (f": {reason}" if reason else ""))
    return _now(tx, flow_id)


def cancel_overdue(tx: Tx) -> int:
    """Cancel one flow whose deadline is over; return how many were.

    One in a transaction, as ``cancel_flow`` does: so each locks its flow before the runs of others.
    """
    found = overdue(tx.conn, tx.now)
    if found is None:
        return 0
    flow = stored.by_ids(tx.conn, [found])[found]
    assert flow.deadline_at is not None, "it was found by that"
    _cancel(tx, flow, deadline_sentence(flow.deadline_at))
    return 1


def _cancel(tx: Tx, flow: Flow, sentence: str) -> None:
    """Close a locked flow and cancel its unfinished runs, with the reason as a sentence."""
    closing = {"closed_at": flow.closed_at or tx.now, "cancel_requested_at": flow.cancel_requested_at or tx.now}
    tx.conn.execute(update(f).where(f.c.id == flow.id).values(**closing))
    unfinished = select(r.c.id).where(r.c.flow_id == flow.id, r.c.flow_id.is_not(None), r.c.finished_at.is_(None))
    cancel_all(tx, sorted(tx.conn.execute(unfinished).scalars()), reason=sentence)
    end_if_over(tx, {flow.id})


def retry_flow(
    tx: Tx,
    flow_id: int,
    *,
    from_run: int | None = None,
    args: dict[str, Json] | None = None,
    actor: str | None = None,
) -> Flow:
    """Make new runs in the place of those that failed or were cancelled, and of those that they kept from starting.

    Other successful runs stay, and their results are used. The flow is unfinished again.

    Args:
        from_run: Make new runs in the place of this one and of all that come after it instead, however they ended.
        args: The arguments of the new run in the place of ``from_run``; unless given, those of that run.
        actor: Who asks for it.

    Raises:
        InvalidState: it is unfinished, or nothing of it failed, was cancelled or kept from starting.
        AlreadyExists: an unfinished flow has its unique key.
        InvalidState: the runs before ``from_run`` have not ended as its condition says.
        UserError: the flow has no such run, or its job does not take the arguments.
    """
    flow = _locked(tx, flow_id)
    if flow.finished_at is None:
        raise InvalidState(f"flow {flow_id} is unfinished; retry it when it is over, or cancel it first", path=("id",))
    if flow.unique_key is not None:
        refuse_taken(tx.conn, flow.unique_key)
    members = {one.run_id: one for one in stored.members_of(tx.conn, [flow_id])}
    runs = stored_runs.by_ids(tx.conn, list(members))
    changed: dict[int, NewRun] = {}
    if from_run is None:
        if args is not None:
            raise InvalidInput("args: are those of one run; name it by fromRun", path=("args",))
        again = _to_retry(tx, runs, members)
    else:
        again = _to_repeat(tx, flow_id, runs, members, from_run)
        if args is not None:
            changed[from_run] = _with_args(tx, runs[from_run], members, args, actor)
    if not again:
        raise InvalidState(f"flow {flow_id} ended {flow.state.value}, and there is nothing to retry", path=("id",))
    reopened = {"state": FlowState.RUNNING.value, "finished_at": None, "cancel_requested_at": None}
    if flow.deadline_at is not None and flow.deadline_at <= tx.now:
        reopened["deadline_at"] = None
    tx.conn.execute(update(f).where(f.c.id == flow_id).values(**reopened))
    _replace(tx, flow_id, again, changed, actor)
    emit_flow(tx, flow_id, FlowState.RUNNING)
    end_if_over(tx, {flow_id})
    return _now(tx, flow_id)


def _to_repeat(
    tx: Tx, flow_id: int, runs: Mapping[int, Run], members: Mapping[int, stored.Member], from_run: int
) -> list[Run]:
    """Return a run of a flow and all that come after it, directly or not.

    Raises:
        NotFound: the flow has no such run, or another one has its place.
        InvalidState: it could not start.
    """
    if from_run not in runs:
        raise NotFound(
            f"fromRun: run {from_run} has no place in flow {flow_id}; if it was retried, name the run that has its "
            "place now",
            path=("fromRun",),
        )
    before = stored.before(tx.conn, sorted(members))
    earlier = [runs[one] for one in before.get(from_run, ())]
    found = Before(
        unfinished=False,
        failed=any(run.state is RunState.FAILED for run in earlier),
        unsuccessful=any(run.state is not RunState.SUCCESS for run in earlier),
    )
    if standing(members[from_run].when, found) is Standing.SKIP:
        ends = ", ".join(f"'{members[run.id].key}' ended {run.state.value}" for run in earlier)
        raise InvalidState(
            f"fromRun: '{members[from_run].key}' would be skipped again, since {ends} and it starts only on "
            f"{members[from_run].when.value}; retry the flow from one of those",
            path=("fromRun",),
        )
    again = {from_run}
    while following := {one for one, its in before.items() if again.intersection(its)} - again:
        again |= following
    return [runs[one] for one in sorted(again)]


def _with_args(
    tx: Tx, run: Run, members: Mapping[int, stored.Member], args: dict[str, Json], actor: str | None
) -> NewRun:
    """Return the run that takes the place of ``run`` with other arguments, which may take results of earlier runs.

    Raises:
        UserError: its job does not take them, or they take a result of another run.
    """
    before = stored.before(tx.conn, sorted(members))
    earlier = set(before.get(run.id, ()))
    while more := {one for known in earlier for one in before.get(known, ())} - earlier:
        earlier |= more
    keys = {members[one].key for one in earlier}
    new = replace(made_again(tx, run, args, actor), labels=None)
    schemas = published(tx, {run.job_name})
    hint = f"name one of {', '.join(sorted(keys))}" if keys else "it comes after none"
    refuse((*request_faults(new, schemas, in_flow=True), *result_faults(members[run.id].key, args, keys, hint)))
    check_submitter(tx, (run.job_name,))
    schema = version_for(schemas[run.job_name], run.job_name, args)
    labels = labels_of_changed(run, args, schema, unknown_in(args))
    return replace(new, signature=schema.signature, labels=labels)


def _to_retry(tx: Tx, runs: Mapping[int, Run], members: Mapping[int, stored.Member]) -> list[Run]:
    """Return the runs that failed or were cancelled, and those that are skipped and come after a run that is retried.

    Of the latter are those of ``when=FAILURE`` whose predecessors did not fail, since these now may.
    """
    again = {one for one, run in runs.items() if run.state in (RunState.FAILED, RunState.CANCELLED)}
    kept = {one for one, run in runs.items() if run.state is RunState.SKIPPED and was_kept(run)}
    before = stored.before(tx.conn, sorted(kept))
    again |= {one for one in kept if members[one].chain}
    following = {one for one in kept - again if again.intersection(before.get(one, ()))}
    while following:
        again |= following
        following = {one for one in kept - again if again.intersection(before.get(one, ()))}
    return [runs[one] for one in sorted(again)]


def _replace(tx: Tx, flow_id: int, again: Sequence[Run], changed: Mapping[int, NewRun], actor: str | None) -> None:
    """Replace these runs by new ones, ``changed`` ones by those given, and let those wait that come after others."""
    before = stored.before(tx.conn, [run.id for run in again])
    templates = stored.templates(tx.conn, [run.id for run in again])
    defaults = jobs.defaults(tx.conn, {run.job_name for run in again})
    for run in again:
        tx.note_before(str(run.id), state=run.state.value)
        new = changed.get(run.id) or _as_before(tx, run, templates.get(run.id, run.args), defaults, actor)
        bound = run.max_concurrent if run.concurrency_key == key_of_flow(flow_id) else None
        member = as_member(new, flow_id, defaults, suspended=run.id in before, max_concurrent=bound)
        put_again(tx, run.id, member, defaults)
    _release_added(tx, [one.run_id for one in stored.members_of(tx.conn, [flow_id])])


def _as_before(
    tx: Tx, run: Run, args: dict[str, Json], defaults: Mapping[str, JobDefaults], actor: str | None
) -> NewRun:
    """Return a run like this one, with its arguments as they were before results were filled in."""
    rule, labels = defaults[run.job_name].labels, run.labels
    if rule is not None and labels is not None:
        labels = rule.without(labels, run.args, unknown_in(args))
    return replace(made_again(tx, run, None, actor), args=args, labels=labels)


def _release_added(tx: Tx, run_ids: Sequence[int]) -> None:
    """Start or skip those of these runs for which all that they come after have ended already."""
    earlier = {one for ids in stored.before(tx.conn, run_ids).values() for one in ids}
    states = {run.id: run.state for run in stored_runs.by_ids(tx.conn, sorted(earlier)).values()}
    ended = sorted(run_id for run_id, state in states.items() if state in FINAL)
    if ended:
        release(tx, ended, [run_id for run_id in ended if states[run_id] is not RunState.SUCCESS])


def _judged(tx: Tx, members: Sequence[NewMember], as_given: Sequence[NewMember]) -> list[NewMember]:
    """Return the members, with the settings that they inherit from their jobs.

    Raises:
        UserError: a job or its arguments are wrong.
    """
    schemas = published(tx, {one.run.job_name for one in members})
    refuse(
        fault.with_prefix("runs", str(place))
        for place, one in enumerate(as_given)
        for fault in (*request_faults(one.run, schemas, in_flow=True), *_key_faults(one.run))
    )
    check_submitter(tx, (one.run.job_name for one in members))
    return [replace(one, run=derived(one.run, schemas, in_flow=True)) for one in members]


def _judged_callback(tx: Tx, field: str, run: NewRun) -> NewRun:
    schemas = published(tx, {run.job_name})
    name = {"on_end": "onEnd", "on_success": "onSuccess", "on_failure": "onFailure"}[field]
    refuse(fault.with_prefix(name) for fault in request_faults(run, schemas))
    check_submitter(tx, (run.job_name,))
    # What it inherits it gets when it is enqueued.
    return replace(run, signature=version_for(schemas[run.job_name], run.job_name, run.args).signature)


def _key_faults(run: NewRun) -> Iterator[UserError]:
    if run.unique_key is not None:
        message = "uniqueKey: a run of a flow has none, its key makes it unique there; give it to the flow"
        yield InvalidInput(message, path=("uniqueKey",))


def _locked(tx: Tx, flow_id: int) -> Flow:
    hold(tx.conn, [flow_id])
    found = stored.by_ids(tx.conn, [flow_id]).get(flow_id)
    if found is None:
        raise unknown("flow", str(flow_id), [], field="id")
    return found


def _now(tx: Tx, flow_id: int) -> Flow:
    return stored.by_ids(tx.conn, [flow_id])[flow_id]
