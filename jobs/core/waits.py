"""Suspended runs: the time, signal, runs or version each waits for, and how a job asks for it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self, TypeAlias

from .actor import RANK, Role
from .base.errors import InvalidInput, python_names, refuse
from .base.unwritable import Unwritable, unwritable
from .model import Json
from .rules import text_faults
from .run_spec import Cancel, ReplaceArgs, Reschedule, RunSpec
from .steps import StepKind, StepName, StoredStep, check_step

LISTED: Final = 20
"""So many of the runs that a run waits for are named with it; the others are counted."""


class AwaitedKind(StrEnum):
    """Name the kind of thing that wakes a suspended run."""

    TIME = "time"
    SIGNAL = "signal"
    RUNS = "runs"
    FLOW = "flow"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class Awaits:
    """Describe the awaited thing, as it is stored with a suspended run.

    Attributes:
        kind: A time, a signal, runs, its predecessors in its flow, or a version of its job that reads its
            arguments. Each of them may end by time as well: that is the run's ``wake_at``.
        name: Of the sleep, the signal or the step that waits, as the job calls it; None if it has none.
        runs: The first ``LISTED`` of the runs that have to end, in ascending order.
        count: How many runs have to end in all.
        until: When this one of several ends by time; None = not by time, or there are no others.
        others: The other things that the run waits for, the first ``LISTED``; whichever comes first wakes it.
        more: How many further ones there are.
    """

    kind: AwaitedKind
    name: str | None = None
    runs: tuple[int, ...] = ()
    count: int = 0
    until: datetime | None = None
    others: "tuple[Awaits, ...]" = ()
    more: int = 0

    @classmethod
    def for_runs(cls, run_ids: "list[int] | tuple[int, ...]", name: str | None = None) -> Self:
        """Return the wait for the end of these runs."""
        return cls(AwaitedKind.RUNS, name, tuple(sorted(run_ids)[:LISTED]), len(run_ids))

    def to_json(self) -> dict[str, Any]:
        """Return the stored form: only set fields."""
        stored: dict[str, Any] = {"kind": self.kind.value}
        if self.name is not None:
            stored["name"] = self.name
        if self.count:
            stored |= {"runs": list(self.runs), "count": self.count}
        if self.until is not None:
            stored["until"] = self.until.isoformat()
        if self.others:
            stored["others"] = [one.to_json() for one in self.others]
        if self.more:
            stored["more"] = self.more
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """Read the stored form."""
        until = stored.get("until")
        return cls(
            AwaitedKind(stored["kind"]),
            stored.get("name"),
            tuple(stored.get("runs", ())),
            stored.get("count", 0),
            None if until is None else datetime.fromisoformat(until),
            tuple(map(cls.from_json, stored.get("others", ()))),
            stored.get("more", 0),
        )


MAX_BOX: Final = 1_000
"""Signals of one run that nobody has taken yet."""
MAX_PAYLOAD: Final = 1_000_000
"""Characters of a signal's payload, as JSON."""
_encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


@dataclass(frozen=True, slots=True)
class Wait:
    """Describe a wait as a job asks for it.

    Attributes:
        label: Of the step that waits.
        kind: The awaited thing.
        seconds: It ends by time after so many seconds, counted by the database's clock from its beginning.
        until: It ends by time then, by that clock.
        form: The JSON Schema of a signal's payload; None = anything.
        role: Whose signals it takes: of accounts with this role, or one above it.
        runs: The runs that it begins and waits for.
        max_concurrent: How many of these run at once; None = any number.
    """

    label: str
    kind: StepKind
    seconds: float | None = None
    until: datetime | None = None
    form: dict[str, Any] | None = None
    role: Role = Role.OPERATOR
    runs: tuple[RunSpec, ...] = ()
    max_concurrent: int | None = None

    @property
    def signal(self) -> str | None:
        """The box that it empties; None for a sleep."""
        return StepName.parse(self.label).signal if self.kind is StepKind.SIGNAL else None


def awaited(waits: Sequence[StoredStep]) -> Awaits:
    """Return all waits, at least one, at which a run's attempt stands: the first one, with the others."""
    first, *others = (_awaited(one) for one in waits)
    if not others:
        return replace(first, until=None)
    return replace(first, others=tuple(others[:LISTED]), more=max(0, len(others) - LISTED))


def _awaited(found: StoredStep) -> Awaits:
    if found.kind is StepKind.RUNS:
        return replace(Awaits.for_runs(found.runs, found.label), until=found.wake_at)
    if found.kind is StepKind.SLEEP:
        return Awaits(AwaitedKind.TIME, found.label, until=found.wake_at)
    return Awaits(AwaitedKind.SIGNAL, StepName.parse(found.label).signal, until=found.wake_at)


@dataclass(frozen=True, slots=True)
class Signal:
    """Hold the content of a run's box.

    Attributes:
        name: Which box; see ``Wait.signal``.
        payload: Its payload, as JSON.
        rejects: It says no, for this reason; None = it does not.
        sender: Who sent it; None = code of the application.
        role: The sender's role.
    """

    name: str
    payload: Json = None
    rejects: str | None = None
    sender: str | None = None
    role: Role = Role.ADMIN

    @property
    def rank(self) -> int:
        """The role as a number, to be compared by the database."""
        return RANK[self.role]


RunChange: TypeAlias = Cancel | Signal | Reschedule | ReplaceArgs
"""A change that an application asks for of one of its runs."""


def stored_payload(payload: Json) -> Json:
    """Return a signal's payload as every database stores it: a copy, of plain JSON.

    Raises:
        InvalidInput: it cannot be stored.
    """
    path = ("payload",)
    try:
        text = _encode(payload)
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("payload: a text must not hold half of a surrogate pair", path=path) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(payload, error) from None
    if len(text) > MAX_PAYLOAD:
        raise InvalidInput(
            f"payload: must have at most {MAX_PAYLOAD:,} characters as JSON, got {len(text):,}; send where it is kept",
            path=path,
        )
    # An even number of backslashes before it would make it an ordinary text.
    if _NUL.search(text):
        raise InvalidInput("payload: a text must not hold the character U+0000", path=path)
    plain: Json = json.loads(text)
    if plain != payload and (found := unwritable(payload)) is not None:
        raise _refused(found)
    return plain


def _no_json(payload: Json, error: Exception) -> InvalidInput:
    found = unwritable(payload)
    if found is None:
        return InvalidInput(f"payload: must be JSON: {error}", path=("payload",))
    return _refused(found)


def _refused(found: Unwritable) -> InvalidInput:
    return InvalidInput(f"payload{'.' * bool(found.place)}{found.where}: {found.why}", path=("payload", *found.place))


def check_box(name: object) -> None:
    """Check the name of a box: of a wait, or of a wait with its key in brackets.

    Raises:
        UserError: it is none.
    """
    if not isinstance(name, str):
        check_step(name, None)
        return
    wait, bracket, rest = name.partition("[")
    has_key = bool(bracket) and rest.endswith("]")
    check_step(wait if has_key else name, rest[:-1] if has_key else None)


MAX_TITLE: Final = 200
MAX_TEXT: Final = 10_000
MAX_WORD: Final = 60
MAX_SHOWN: Final = 100_000
"""Characters of ``AnswerPage.shows``, as JSON."""
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?([/?#][^\s;,\"'<>\\\x00-\x1f\x7f]{0,2000})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPage:
    """Describe the page of ``ctx.signal_url``.

    ``await ctx.signal_url("approved", Approval, page=AnswerPage(title="Invoice 7", shows={"amount": "120 €"}))``

    Attributes:
        title: Its heading, up to 200 characters; the name of the signal unless given.
        text: Sentences below it, paragraphs with an empty line between them.
        shows: The facts to decide on, plain JSON: an object becomes a list of its members.
        confirm: The word on the button that answers.
        reject: The word on the button that says no, with a reason; None: nobody can say no there.
        thanks: The text shown after the answer.
        redirect: An address to go to after the answer instead, e.g. ``https://shop.example.com/thanks``.
    """

    title: str | None = None
    text: str | None = None
    shows: Json = None
    confirm: str = "Confirm"
    reject: str | None = "Reject"
    thanks: str | None = None
    redirect: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that no page can show.

        Raises:
            UserError: its faults.
        """
        with python_names():
            refuse(self._faults())

    def _faults(self) -> Iterator[InvalidInput]:
        most = {"title": MAX_TITLE, "text": MAX_TEXT, "thanks": MAX_TEXT, "confirm": MAX_WORD, "reject": MAX_WORD}
        for name, characters in most.items():
            value = getattr(self, name)
            if value is not None or name == "confirm":
                yield from text_faults(value, name, least=1, most=characters)
        if len(json.dumps(stored_payload(self.shows))) > MAX_SHOWN:
            yield InvalidInput(f"shows: must have at most {MAX_SHOWN:,} characters as JSON", path=("shows",))
        if self.redirect is not None and not _ADDRESS.fullmatch(str(self.redirect)):
            message = f"redirect: must be an address that begins with https:// or http://, got {self.redirect!r:.100}"
            yield InvalidInput(message, path=("redirect",))

    def to_json(self) -> dict[str, Json]:
        """Return the stored form: only set fields."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in given.items() if value is not None or name == "reject"}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "AnswerPage":
        """Read the stored form; members of a newer version are ignored."""
        return cls(**{name: value for name, value in stored.items() if name in cls.__dataclass_fields__})
