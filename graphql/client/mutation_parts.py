"""Share parts between several of the ready-made mutations."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from .base.shapes import camel, read
from .builders import mutation
from .inputs import TaskChanges, TaskSettings
from .operation import Operation
from .queries import Filter
from .results import ChangedTasks, DeletedTasks


class KeyOption(TypedDict, total=False):
    """Make a repetition of a mutation safe.

    Attributes:
        idempotency_key: Within 24 hours the same key with the same request answers as before and changes nothing.
    """

    idempotency_key: str | None


class MutationOptions(KeyOption, total=False):
    """Make a repetition of a mutation safe, or try it.

    Attributes:
        dry_run: Change nothing, and give the answer of the change.
    """

    dry_run: bool


class TaskOptions(MutationOptions, total=False):
    """Change one task: safe to repeat, as a trial, or of one version alone.

    Attributes:
        expected_version: Refuse if the task was edited since this ``version`` was read.
    """

    expected_version: int | None


class WebhookOptions(MutationOptions, total=False):
    """Change one webhook: safe to repeat, as a trial, or of one version alone.

    Attributes:
        expected_version: Refuse if the webhook was changed since this ``version`` was read.
    """

    expected_version: int | None


class RunChoice(MutationOptions, total=False):
    """Choose runs in exactly one way, and those behind a cursor.

    Attributes:
        ids: The runs with these ids.
        filter: The runs that match, as `RunFilter` of the API.
        all: All runs.
        after: Go on behind this ``end_cursor`` of the answer before.
    """

    ids: Sequence[int] | None
    filter: Filter | None
    all: bool
    after: str | None


class TaskChoice(MutationOptions, total=False):
    """Choose tasks in exactly one way, by their names, a filter or all of them; as ``RunChoice``."""

    names: Sequence[str] | None
    filter: Filter | None
    all: bool
    after: str | None


def selected(field: str, choice: RunChoice | TaskChoice) -> dict[str, Any]:
    """Return the arguments of a mutation of many: the selection under its name, and the options."""
    given: dict[str, Any] = {**choice}
    return {field: chosen(**{name: given.pop(name, None) for name in ("ids", "names", "filter", "all")}), **given}


def many_tasks(field: str, given: Mapping[str, object]) -> Operation[ChangedTasks]:
    """Return a mutation of many tasks."""

    def convert(payload: Mapping[str, Any]) -> ChangedTasks:
        return ChangedTasks(
            names=tuple(one["name"] for one in payload.get("tasks", ())),
            count=read(int, payload.get("count"), f"{field}.count"),
            has_more=read(bool, payload.get("hasMore"), f"{field}.hasMore"),
            end_cursor=payload.get("endCursor"),
        )

    return mutation(field, given, "tasks { name } count hasMore endCursor", convert)


def deleted_tasks(field: str, given: Mapping[str, object], more: str = "") -> Operation[DeletedTasks]:
    """Return a mutation that deletes many tasks; ``more`` is asked for besides their names and their number."""

    def convert(payload: Mapping[str, Any]) -> DeletedTasks:
        return DeletedTasks(
            names=read(tuple[str, ...], payload.get("deletedNames"), f"{field}.deletedNames"),
            count=read(int, payload.get("count"), f"{field}.count"),
            has_more=bool(payload.get("hasMore")),
            end_cursor=payload.get("endCursor"),
        )

    return mutation(field, given, f"deletedNames count {more}", convert)


def chosen(**given: object) -> dict[str, object]:
    """Return a choice of which the server takes exactly one: the member that is neither None nor False."""
    return {name: value for name, value in given.items() if value is not None and value is not False}


def settings_of(settings: TaskSettings | TaskChanges) -> dict[str, object]:
    """Return the settings under their GraphQL names; None stays, it sets the default."""
    return {camel(name): value for name, value in settings.items()}
