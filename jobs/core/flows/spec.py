"""A flow to be, as its caller describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..run_spec import RunSpec
from .model import Ending, When


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
