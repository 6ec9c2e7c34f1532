"""Groups of failures are known for a while, or solved until a failure shows otherwise."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from cronograph.jobs.accounts.statements.audit import said_versions
from cronograph.jobs.core.actor import Actor, Role, described
from cronograph.jobs.core.alarms import MAX_MARKS, FailureMark, FailureState
from cronograph.jobs.core.base.errors import InvalidInput, InvalidState, NotFound
from cronograph.jobs.core.base.times import time_text
from cronograph.jobs.core.events import Cursor, EventKind
from cronograph.jobs.core.outcome import Failed
from cronograph.jobs.delivery import write
from cronograph.jobs.delivery.failures import reopen_failures, silence_failures, solve_failures
from cronograph.jobs.store.db.transaction import Tx
from cronograph.jobs.store.schema.tables import audit_log, failure_mark
from cronograph.jobs.store.statements import events
from cronograph.jobs.store.statements.figures.failures import failures, fingerprint, history, marked
from cronograph.jobs.store.statements.figures.scope import Scope
from tests.support.history import add_many
from tests.support.storage import Stored, Worker

T = TypeVar("T")
ERROR = Failed("ValueError", "user 7 is missing", permanent=True)
NAME = fingerprint("work", "ValueError", "user 7 is missing")


def said(stored: Stored, action: Callable[[Tx], T]) -> T:
    def act(tx: Tx) -> T:
        tx.actor = Actor("anna", Role.OPERATOR)
        return action(tx)

    return stored.do(act)


def fail(stored: Stored, worker: Worker, seconds: float = 1) -> None:
    stored.pass_time(seconds)
    stored.enqueue(retries=0)
    worker.end(worker.start(), ERROR)


def state(stored: Stored) -> FailureState:
    def read(tx: Tx) -> FailureState:
        rows = failures(tx.conn, Scope(tx.now - timedelta(days=30), tx.now + timedelta(seconds=1)), 10)
        (row,) = marked(tx.conn, rows, tx.now)
        return row.state

    return stored.do(read)


def test_a_silence_begins_and_ends_and_everybody_hears_of_it(stored: Stored) -> None:
    fail(stored, stored.node())
    assert state(stored) is FailureState.OPEN
    ends = stored.now + timedelta(hours=1)
    made = said(stored, lambda tx: silence_failures(tx, NAME, ends, "a known one"))
    assert (made.job_name, made.silenced_until, made.silenced_by) == ("work", ends, "anna")
    assert state(stored) is FailureState.SILENCED
    stored.pass_time(3601)
    assert state(stored) is FailureState.OPEN
    ended = said(stored, lambda tx: silence_failures(tx, NAME, None, None))
    assert (ended.silenced_until, ended.silenced_by, ended.silence_reason) == (None, None, None)
    stored.do(lambda tx: events.publish(tx.conn))
    seen = [one.change for one in stored.do(lambda tx: events.after(tx.conn, Cursor(0, 0), 500))]
    assert [(one.job_name, one.fingerprint) for one in seen if one.kind is EventKind.FAILURES_UPDATED] == [
        ("work", NAME), ("work", NAME)
    ]  # fmt: skip
    entries = stored.rows(audit_log, action="failures.silenced")
    assert [(one.actor, one.subject) for one in entries] == [("anna", NAME)] * 2
    assert "a known one" in entries[0].after
    assert described(entries[1].before) == {"until": time_text(ends), "reason": "a known one"}


def test_a_solved_group_comes_back_with_a_failure_that_began_later(stored: Stored) -> None:
    worker = stored.node()
    fail(stored, worker)
    stored.enqueue(retries=0)
    stored.pass_time(1)
    began_before = worker.start()
    stored.pass_time(1)
    said(stored, lambda tx: solve_failures(tx, NAME, None))
    worker.end(began_before, ERROR)
    assert state(stored) is FailureState.SOLVED
    fail(stored, worker)
    assert state(stored) is FailureState.REGRESSED
    # It is solved once more, or never was.
    stored.pass_time(1)
    said(stored, lambda tx: solve_failures(tx, NAME, None))
    assert state(stored) is FailureState.SOLVED
    said(stored, lambda tx: reopen_failures(tx, NAME))
    assert state(stored) is FailureState.OPEN
    with pytest.raises(NotFound, match="nobody has said that"):
        said(stored, lambda tx: reopen_failures(tx, NAME))
    assert [one.action for one in stored.rows(audit_log) if one.action.startswith("failures")] == [
        "failures.solved", "failures.solved", "failures.reopened"
    ]  # fmt: skip


def test_solved_in_a_version_expects_failures_of_the_code_that_had_it(stored: Stored) -> None:
    old = stored.node("old", code_version="v1")
    fail(stored, old)
    said(stored, lambda tx: solve_failures(tx, NAME, "v3"))
    fail(stored, old)
    assert state(stored) is FailureState.SOLVED
    # Another version than those that had it, and than the one that mends it.
    fail(stored, stored.node("new", code_version="v2"))
    assert state(stored) is FailureState.REGRESSED
    assert set(stored.do(lambda tx: said_versions(tx.conn, "work")).values()) == {"v1", "v2"}
    found = stored.do(
        lambda tx: history(tx.conn, Scope(tx.now - timedelta(days=1), tx.now + timedelta(1)), NAME, 3600, tx.now)
    )
    assert found is not None
    assert [count for _, count in found.versions] == [2, 1]


def test_the_version_that_mends_it_may_have_failed_so_before(stored: Stored) -> None:
    worker = stored.node(code_version="v2")
    fail(stored, worker)
    stored.pass_time(1)
    said(stored, lambda tx: solve_failures(tx, NAME, "v2"))
    assert state(stored) is FailureState.SOLVED
    fail(stored, worker)
    assert state(stored) is FailureState.REGRESSED


def test_a_silence_hides_that_a_solved_group_came_back(stored: Stored) -> None:
    worker = stored.node()
    fail(stored, worker)
    said(stored, lambda tx: solve_failures(tx, NAME, None, job_name="work"))
    fail(stored, worker)
    said(stored, lambda tx: silence_failures(tx, NAME, tx.now + timedelta(hours=1), None))
    assert state(stored) is FailureState.SILENCED
    stored.pass_time(3601)
    assert state(stored) is FailureState.REGRESSED


def test_refusals_name_what_is_wrong(stored: Stored) -> None:
    fail(stored, stored.node())
    with pytest.raises(NotFound, match=r"no failure of the last 30 days has '0{16}'"):
        said(stored, lambda tx: silence_failures(tx, "0" * 16, None, None))
    with pytest.raises(NotFound, match="no failure of job 'other' of the last 30 days"):
        said(stored, lambda tx: solve_failures(tx, NAME, None, job_name="other"))
    with pytest.raises(InvalidInput, match="endsAt: must be later than now"):
        said(stored, lambda tx: silence_failures(tx, NAME, tx.now, None))
    with pytest.raises(InvalidInput, match="job 'work' says no version"):
        said(stored, lambda tx: solve_failures(tx, NAME, "v1"))
    with pytest.raises(InvalidInput, match="codeVersion: must have"):
        said(stored, lambda tx: solve_failures(tx, NAME, "v" * 201))


def test_there_are_not_more_marks_than_people_make(stored: Stored) -> None:
    fail(stored, stored.node())
    rows = [{"fingerprint": f"{one:016x}", "job_name": "work", "updated_at": stored.now} for one in range(MAX_MARKS)]
    stored.do(lambda tx: add_many(tx.conn, failure_mark, rows))
    with pytest.raises(InvalidState, match="10,000 silenced or solved groups of failures, the most there may be"):
        said(stored, lambda tx: solve_failures(tx, NAME, None))


def test_marks_that_say_nothing_any_more_are_deleted(stored: Stored) -> None:
    fail(stored, stored.node())
    now = stored.now

    def keep(tx: Tx) -> None:
        old, past = now - timedelta(days=100), now - timedelta(days=99)
        for name, until, solved in (("quiet", past, None), ("loud", None, None), ("solved", None, old)):
            write.keep_mark(tx.conn, FailureMark(name, "work", until, None, None, solved, None, None, None, old))
        write.keep_mark(
            tx.conn, FailureMark("silent", "work", now + timedelta(1), None, None, None, None, None, None, old)
        )
        write.keep_mark(tx.conn, FailureMark("new", "work", None, None, None, None, None, None, None, now))

    stored.do(keep)
    assert stored.do(lambda tx: write.prune(tx.conn, tx.now)) == 2
    assert {one.fingerprint for one in stored.rows(failure_mark)} == {"solved", "silent", "new"}
    stored.pass_time(timedelta(days=900).total_seconds())
    assert stored.do(lambda tx: write.prune(tx.conn, tx.now)) == 3
