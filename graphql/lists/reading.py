"""What is read for a list: of the rows no more than what an operation asks for, as far as single columns tell it."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from ...jobs.store.read.listing.listing import Listing
from ...jobs.store.read.lists import EXECUTIONS, EXECUTIONS_AND_RUNS, PRESENT_RUN
from ..execution.shown import ByField, Cut
from .selection import below

RUN: Final = "run"
KEY: Final = frozenset({"id", "__typename"})
"""What is known of the run of an execution without reading it, if only it is there."""

M_contra = TypeVar("M_contra", contravariant=True)


class Shown(Protocol[M_contra]):
    """A type of the schema that shows rows of a list."""

    def from_model(self, row: M_contra, /) -> object:
        """The object that shows a row."""
        ...


@dataclass(frozen=True, slots=True)
class Newest:
    """The field of tasks that is their newest finished execution.

    Attributes:
        asked: Its name in the schema.
        name: Its name in Python.
        shown: The type that shows an execution; asked when it is needed.
    """

    asked: str
    name: str
    shown: Callable[[], Shown[Any]]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows of a list are read and shown.

    Attributes:
        rows: The list, or some of its columns.
        show: Makes the object of what was read of a row; with ``newest``, of that and its execution or None.
        newest: What is read of the newest finished execution of each row; None = it is not.
    """

    rows: Listing[Any]
    show: Callable[[Any], Any]
    newest: Listing[Any] | None = None


def reading_of(
    listing: Listing[Any], kind: Shown[Any], asked: AbstractSet[str], newest: Newest | None = None
) -> Reading:
    """What is read of a list.

    Args:
        listing: It.
        kind: The type that shows a row.
        asked: What is asked of a row, as ``asked_of`` gives it.
        newest: The field that is read together with the rows, if there is such a one.
    """
    names = {path for path in asked if "." not in path}
    if listing is EXECUTIONS and RUN in names and below(asked, f"{RUN}.") <= KEY:
        found = _with_runs(kind, names - {RUN})
        if found is not None:
            return found
    if newest is None or newest.asked not in names:
        return _own(listing, kind, names)
    own = _own(listing, kind, names - {newest.asked})
    other = _own(EXECUTIONS, newest.shown(), {path for path in below(asked, f"{newest.asked}.") if "." not in path})
    place, show, show_other = newest.name, own.show, other.show

    def show_both(read: tuple[Any, Any]) -> Any:  # noqa: ANN401 - an object of ``kind``
        row, execution = read
        shown = show(row)
        # Here the executor finds it, before it asks the resolver of this name.
        vars(shown)[place] = None if execution is None else show_other(execution)
        return shown

    return Reading(own.rows, show_both, other.rows)


def _own(listing: Listing[Any], kind: Shown[Any], names: AbstractSet[str]) -> Reading:
    cut: Cut | None = None
    if isinstance(kind, type) and issubclass(kind, ByField):
        cut = kind.FIELDS.cut(kind, names)
    return Reading(listing, kind.from_model) if cut is None else Reading(listing.only(cut.columns), cut.show)


def _with_runs(kind: Shown[Any], names: AbstractSet[str]) -> Reading | None:
    """What is read of executions if of their runs no more than the key is asked for; None = whole rows."""
    shown_by: Any = kind
    cut: Cut | None = shown_by.FIELDS.cut(kind, names)
    if cut is None:
        return None
    show_row, show_run = cut.show, shown_by.run_of_key

    def show(row: Sequence[Any]) -> Any:  # noqa: ANN401 - an object of ``kind``
        shown, key = show_row(row), row[-1]
        vars(shown)[RUN] = None if key is None else show_run(key)
        return shown

    return Reading(EXECUTIONS_AND_RUNS.only((*cut.columns, PRESENT_RUN)), show)
