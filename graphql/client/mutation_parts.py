"""Share parts between several of the ready-made mutations."""

from collections.abc import Mapping
from typing import Any

from .base.shapes import camel, read
from .builders import mutation
from .inputs import TaskChanges, TaskSettings
from .operation import Operation
from .results import ChangedTasks, DeletedTasks


def many_tasks(field: str, given: Mapping[str, object]) -> Operation[ChangedTasks]:
    """A mutation of many tasks."""

    def convert(payload: Mapping[str, Any]) -> ChangedTasks:
        return ChangedTasks(
            names=tuple(one["name"] for one in payload.get("tasks", ())),
            count=read(int, payload.get("count"), f"{field}.count"),
            has_more=read(bool, payload.get("hasMore"), f"{field}.hasMore"),
            end_cursor=payload.get("endCursor"),
        )

    return mutation(field, given, "tasks { name } count hasMore endCursor", convert)


def deleted_tasks(field: str, given: Mapping[str, object], more: str = "") -> Operation[DeletedTasks]:
    """A mutation that deletes many tasks; ``more`` is asked for besides their names and their number."""

    def convert(payload: Mapping[str, Any]) -> DeletedTasks:
        return DeletedTasks(
            names=read(tuple[str, ...], payload.get("deletedNames"), f"{field}.deletedNames"),
            count=read(int, payload.get("count"), f"{field}.count"),
            has_more=bool(payload.get("hasMore")),
            end_cursor=payload.get("endCursor"),
        )

    return mutation(field, given, f"deletedNames count {more}", convert)


def settings_of(settings: TaskSettings | TaskChanges) -> dict[str, object]:
    """The settings under their GraphQL names; None stays, it sets the default."""
    return {camel(name): value for name, value in settings.items()}
