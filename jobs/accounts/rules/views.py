"""Saved views: an address of the dashboard under a name, for one person or for the whole team."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ...core.actor import Actor, Role
from ...core.base.errors import ErrorCode, InvalidInput, UserError
from ...core.base.times import number_text
from ...core.rules import name_faults

MAX_VIEWS: Final = 200
"""Views of one person, and of the team, at most."""
MAX_PAGE: Final = 200
MAX_SEARCH: Final = 2_000
SHARING: Final = Role.OPERATOR
"""Role that may add, change and delete views of the team."""

TEAM: Final = "team"
_PAGE: Final = re.compile(r"/|(/[\w.~%:@!$&'()*+,;=-]+)+", re.ASCII)
_SEARCH: Final = re.compile(r"|\?[\w.~%:@!$&'()*+,;=/?-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view.

    Attributes:
        scope: Whose it is, as ``scope_of`` says.
        page: The path of the page, such as ``/runs``.
        name: Its name; unique on its page for one person, and for the team.
        search: The query of the address with its ``?``, or nothing.
        created_at: When it was saved first.
        created_by: By whom.
        updated_at: When it was changed last.
    """

    id: int
    scope: str
    page: str
    name: str
    search: str
    created_at: datetime
    created_by: str
    updated_at: datetime

    @property
    def shared(self) -> bool:
        """Return whether the whole team sees it."""
        return self.scope == TEAM


def scope_of(person: Actor, *, shared: bool) -> str:
    """Return the scope of a view: the team's, an account's, or that of a person without an account here."""
    if shared:
        return TEAM
    return f"person:{person.name}" if person.account_id is None else f"account:{person.account_id}"


def view_faults(page: str, name: str, search: str) -> Iterator[UserError]:
    """Yield the faults of a view. Its address leads to a page of this server and nowhere else."""
    yield from name_faults(name, "name")
    yield from _address_faults("page", page, _PAGE, MAX_PAGE, "the path of a page, such as /runs")
    yield from _address_faults("search", search, _SEARCH, MAX_SEARCH, "empty, or a query such as ?state=WAITING")


def _address_faults(field: str, text: str, form: re.Pattern[str], most: int, wanted: str) -> Iterator[InvalidInput]:
    if len(text) > most:
        yield InvalidInput(
            f"{field}: must have at most {number_text(most)} characters, got {number_text(len(text))}", path=(field,)
        )
    elif form.fullmatch(text) is None:
        yield InvalidInput(f"{field}: must be {wanted}, got {text[:60]!r}", path=(field,))


def sharing_faults(person: Actor) -> Iterator[UserError]:
    """Yield the reason for which somebody may not add, change or delete a view of the team."""
    if not person.role.includes(SHARING):
        yield UserError(
            f"shared: views of the team are changed by the role {SHARING.value}, and {person.name} is a "
            f"{person.role.value}",
            path=("shared",),
            code=ErrorCode.FORBIDDEN,
        )
