"""Give tasks, groups and jobs the settings back that they had after a revision."""

from typing import Final

from ..accounts.read.audit import MOST_UNDONE, later_revisions, revision
from ..core.actor import Entry, described
from ..core.admission.caps import Rate
from ..core.arguments.revisions import Revised, RevisedKind, limits_back, settings_back
from ..core.base.errors import InvalidInput, InvalidState, NotFound, VersionConflict
from ..core.model import Json
from ..core.task_sets import version_of
from ..store.db.transaction import Tx
from ..store.write import groups
from .groups import change_limits, set_job_rate
from .tasks import check_task_version, locked, update_task

_BY: Final = ("id",)


def revert_to(tx: Tx, number: int, *, expected: int | None = None, actor: str | None = None) -> Revised:
    """Give a thing the settings that it had after a revision; pauses stay as they are.

    It is an edit like any other, and a revision itself. Hidden values of arguments stay as they are now.

    Args:
        number: Of the revision's entry in the audit log.
        expected: The version that the task must still have, or the limits of the group.
        actor: Who edits.

    Raises:
        UserError: there is no such revision, the thing was deleted since or changed meanwhile, or it cannot be as it
            was then.
    """
    entry = revision(tx.conn, number)
    if entry is None or entry.subject is None or entry.revised is None:
        raise NotFound(f"there is no revision {number}", path=_BY)
    thing = Revised(RevisedKind(entry.revised), entry.subject, entry.job_name)
    values = _values_then(tx, entry)
    if thing.kind is RevisedKind.TASK:
        if expected is not None:
            check_task_version(tx, thing.name, expected)
        settings = settings_back(locked(tx, thing.name).spec, values)
        update_task(tx, thing.name, settings, actor=actor)
    elif thing.kind is RevisedKind.GROUP:
        _check_limits(tx, thing.name, expected)
        change_limits(tx, thing.name, limits_back(values))
    else:
        _set_rate_back(tx, thing.name, expected, values)
    return thing


def _values_then(tx: Tx, entry: Entry) -> dict[str, Json]:
    """Return the fields that were changed after a revision, with their values after it."""
    later = later_revisions(tx.conn, entry)
    if len(later) > MOST_UNDONE:
        raise InvalidState(f"it was changed more than {MOST_UNDONE:,} times since", path=_BY)
    values: dict[str, Json] = {}
    for one in later:
        before = described(one.before)
        if not isinstance(before, dict) or one.after is None:
            raise InvalidState(f"{entry.revised} '{entry.subject}' was deleted since that revision", path=_BY)
        values.update(before)  # pyright: ignore[reportUnknownArgumentType]
    if entry.after is None:
        raise InvalidState(f"{entry.revised} '{entry.subject}' was deleted by that revision", path=_BY)
    return values


def _check_limits(tx: Tx, name: str, expected: int | None) -> None:
    group = groups.locked(tx.conn, name)
    if expected is not None and expected != version_of(group):
        raise VersionConflict(
            f"expectedVersion: the limits of group '{name}' are at version {version_of(group)}, got {expected}; read "
            "the group again",
            path=("expectedVersion",),
        )


def _set_rate_back(tx: Tx, name: str, expected: int | None, values: dict[str, Json]) -> None:
    if expected is not None:
        raise InvalidInput("expectedVersion: a job has no version; leave it out", path=("expectedVersion",))
    if "rate" in values:
        rate = values["rate"]
        set_job_rate(tx, name, rate=None if rate is None else Rate.from_json(rate))
