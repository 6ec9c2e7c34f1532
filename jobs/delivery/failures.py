"""Let people say of a group of failures that it is known, or solved."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ..accounts.statements.audit import said_versions
from ..core.alarms import MAX_MARKS, FailureMark, unmarked
from ..core.base.errors import InvalidInput, InvalidState, NotFound
from ..core.events import Change, EventKind
from ..core.rules import MAX_NAME, check_silence, check_text
from ..store.db.transaction import Tx
from ..store.statements.figures.failures import JUST_BEGUN, FailureHistory, history, marks
from ..store.statements.figures.scope import Scope
from . import read, write

LOOKED_AT: Final = timedelta(days=30)
"""So far back a group of failures is looked for."""
_BY: Final = ("fingerprint",)


def silence_failures(
    tx: Tx, fingerprint: str, until: datetime | None, reason: str | None, *, job_name: str | None = None
) -> FailureMark:
    """Let a group of failures count as known until a time; None ends its silence.

    Raises:
        NotFound: there is none of this fingerprint.
        InvalidInput: of the reason, or the time has passed.
        InvalidState: there are too many marks.
    """
    check_silence(until, reason, tx.now)
    before = _mark(tx, fingerprint, job_name)
    is_over = until is None
    after = replace(
        before,
        silenced_until=until,
        silenced_by=None if is_over else tx.by,
        silence_reason=None if is_over else reason,
        updated_at=tx.now,
    )
    _keep(tx, after)
    tx.record("failures.silenced", fingerprint, before=before.silence(), after=after.silence())
    return after


def solve_failures(tx: Tx, fingerprint: str, version: str | None, *, job_name: str | None = None) -> FailureMark:
    """Let a group of failures count as solved, until one comes back.

    Args:
        version: The version of the job's code that solves it: nodes with those that had it may fail so meanwhile.
            None = each later failure shows that it is not solved.
        job_name: The job of the group, if it is known.

    Raises:
        NotFound: there is none of this fingerprint.
        InvalidInput: of the version, or the job says none.
        InvalidState: there are too many marks.
    """
    before = _mark(tx, fingerprint, job_name)
    old = None if version is None else _old_versions(tx, before, version)
    mended = replace(before, solved_at=tx.now, solved_by=tx.by, solved_in=version, updated_at=tx.now)
    after = replace(mended, old_versions=old)
    _keep(tx, after)
    tx.record("failures.solved", fingerprint, before=before.solution(), after=after.solution())
    return after


def reopen_failures(tx: Tx, fingerprint: str) -> FailureMark:
    """Let a group of failures count as unsolved again.

    Raises:
        NotFound: nobody has said that it is solved.
    """
    before = marks(tx.conn, [fingerprint]).get(fingerprint)
    if before is None or before.solved_at is None:
        raise NotFound(f"fingerprint: nobody has said that '{fingerprint}' is solved", path=_BY)
    after = replace(before, solved_at=None, solved_by=None, solved_in=None, old_versions=None, updated_at=tx.now)
    _keep(tx, after)
    tx.record("failures.reopened", fingerprint, before=before.solution(), after=after.solution())
    return after


def _mark(tx: Tx, fingerprint: str, job_name: str | None) -> FailureMark:
    """Return the mark of a group, new unless it has one; a group that was marked may have no failure left."""
    known = marks(tx.conn, [fingerprint]).get(fingerprint)
    if known is not None:
        return known
    if read.count(tx.conn, "marks") >= MAX_MARKS:
        raise InvalidState(f"there are {MAX_MARKS:,} silenced or solved groups of failures, the most there may be")
    return unmarked(fingerprint, _history(tx, fingerprint, job_name).group.job_name, tx.now)


def _history(tx: Tx, fingerprint: str, job_name: str | None) -> FailureHistory:
    scope = Scope(tx.now - LOOKED_AT, tx.now + JUST_BEGUN, job_name)
    found = history(tx.conn, scope, fingerprint, 86_400, tx.now)
    if found is None:
        of_job = "" if job_name is None else f" of job '{job_name}'"
        raise NotFound(
            f"fingerprint: no failure{of_job} of the last 30 days has '{fingerprint}'; `failureGroups` lists them",
            path=_BY,
        )
    return found


def _old_versions(tx: Tx, mark: FailureMark, version: str) -> tuple[str, ...]:
    """Return the signatures of the versions that had it, without that of the version that solves it."""
    check_text(version, "codeVersion", least=1, most=MAX_NAME)
    words = said_versions(tx.conn, mark.job_name)
    if not words:
        raise InvalidInput(
            f"codeVersion: the code of job '{mark.job_name}' says no version (`code_version`), so that its "
            "versions do not differ; leave it out, and each later failure counts",
            path=("codeVersion",),
        )
    had = [one for one, _ in _history(tx, mark.fingerprint, mark.job_name).versions if one is not None]
    return tuple(one for one in had if words.get(one) != version)


def _keep(tx: Tx, mark: FailureMark) -> None:
    write.keep_mark(tx.conn, mark)
    tx.emit([Change(EventKind.FAILURES_UPDATED, job_name=mark.job_name, fingerprint=mark.fingerprint)])
