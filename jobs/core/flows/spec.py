"""A flow to be, as its caller describes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..base.errors import InvalidInput, refuse
from ..base.python_names import python_names
from ..run_spec import RunSpec
from .model import Ending, When
from .shape import flow_faults


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A run to be of a flow: its key, the run, what it comes after, and when it starts."""

    key: str
    run: RunSpec
    after: tuple[str, ...] = ()
    when: When = When.SUCCESS


@dataclass(frozen=True, slots=True)
class FlowSpec:
    """A flow to be; the fields are those of ``NewFlow``."""

    name: str
    members: tuple[MemberSpec, ...]
    is_open: bool = False
    unique_key: str | None = None
    callbacks: Mapping[Ending, RunSpec] = field(default_factory=dict[Ending, RunSpec])
    labels: Mapping[str, str] | None = None


def check_flow(name: object, unique_key: object, labels: object, *, is_open: object) -> None:
    """Let pass what a flow is made of, apart from its runs.

    Raises:
        UserError: what is wrong with it, in a Python caller's names.
    """
    with python_names():
        refuse(_faults(name, unique_key, labels, is_open))


def _faults(name: object, unique_key: object, labels: object, is_open: object) -> Iterator[InvalidInput]:
    yield from flow_faults(name, unique_key, labels)
    if not isinstance(is_open, bool):
        yield InvalidInput(f"open: must be True or False, got {is_open!r:.60}", path=("open",))
