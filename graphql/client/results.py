"""Answers of operations that are no single thing of the API: pages, and the changes of many runs or tasks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from .base.shapes import Record
from .records import Execution, Run

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """A page of a list; iterate over it.

    Attributes:
        items: The rows, in the order of the list.
        end_cursor: Pass it as ``after`` to read on; None when the page is empty.
        has_next_page: Whether there are rows behind it.
    """

    items: tuple[Item, ...]
    end_cursor: str | None
    has_next_page: bool

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRuns(Record):
    """Hold the results of an action on many runs, or of its ``dry_run``.

    Attributes:
        runs: The first of them, at most 200.
        count: How many there are.
        has_more: Whether more match the filter than one call changes: call again with ``after=end_cursor``.
        end_cursor: Where the next call goes on; None if nothing was selected.
    """

    runs: tuple[Run, ...]
    count: int
    has_more: bool
    end_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTasks:
    """Hold the results of an action on many tasks, or of its ``dry_run``.

    Attributes:
        names: The first of them, at most 200.
        count: How many there are.
        has_more: Whether more match the filter than one call changes: call again with ``after=end_cursor``.
        end_cursor: Where the next call goes on; None if nothing was selected.
    """

    names: tuple[str, ...]
    count: int
    has_more: bool
    end_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning(Record):
    """Hold the results of ``prune_history``, or of its ``dry_run``.

    Attributes:
        run: The run that prunes; None on a dry run.
        executions: On a dry run, the oldest of those that would be deleted, at most 200.
        count: On a dry run, how many would be.
        has_more: On a dry run, whether only the oldest 10,000 were looked at.
    """

    run: Run | None
    executions: tuple[Execution, ...]
    count: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTasks:
    """Hold the results of ``delete_tasks`` or ``delete_tasks_of_owner``, or of their ``dry_run``.

    Attributes:
        names: The tasks that are gone, at most 200 of them.
        count: How many there are.
        has_more: Whether more match the filter than one call deletes: call again with ``after=end_cursor``.
        end_cursor: Where the next call goes on; None if nothing was selected, and of an owner.
    """

    names: tuple[str, ...]
    count: int
    has_more: bool = False
    end_cursor: str | None = None
