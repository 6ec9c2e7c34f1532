"""Which runs a node takes: a node may leave groups, jobs and tags to others."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class LeftBy(StrEnum):
    """By which part of its choice a node leaves a run to others."""

    GROUP = "group"
    JOB = "job"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """What a node takes. An empty part leaves nothing out; a run is taken when every part lets it pass.

    Attributes:
        groups: Only runs of these groups.
        only_jobs: Only runs of these jobs.
        tags: Only runs of jobs that carry one of these tags.
        without_tags: No run of a job that carries one of these tags.
    """

    groups: tuple[str, ...] = ()
    only_jobs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()

    def takes_job(self, name: str, tags: Collection[str]) -> bool:
        """Whether runs of a job with these tags are taken, in any group."""
        return self._leaves_job(name, tags) is None

    def takes_group(self, group: str) -> bool:
        """Whether runs of a group are taken, of any job."""
        return not self.groups or group in self.groups

    def leaves(self, job_name: str, tags: Collection[str], group: str) -> LeftBy | None:
        """Why a run is left to others; None = it is taken."""
        return self._leaves_job(job_name, tags) or (None if self.takes_group(group) else LeftBy.GROUP)

    def covers_groups_of(self, other: "NodeChoice") -> bool:
        """Whether every group of which the other node takes runs is one of which this node does."""
        return not self.groups or (bool(other.groups) and set(other.groups) <= set(self.groups))

    @property
    def words(self) -> str:
        """What is taken, as the end of a sentence: ``takes only the group 'a', and no job with the tag 'gpu'``."""
        only = [
            _named("group", self.groups),
            _named("job", self.only_jobs),
            f"jobs with {_named('tag', self.tags, 'a tag of')}" if self.tags else "",
        ]
        parts = [f"only {' and '.join(filter(None, only))}"] if any(only) else []
        if self.without_tags:
            parts.append(f"no job with {_named('tag', self.without_tags, 'a tag of')}")
        return f"takes {', and '.join(parts) or 'everything'}"

    def _leaves_job(self, name: str, tags: Collection[str]) -> LeftBy | None:
        if self.only_jobs and name not in self.only_jobs:
            return LeftBy.JOB
        if (self.tags and not set(tags).intersection(self.tags)) or set(tags).intersection(self.without_tags):
            return LeftBy.TAG
        return None


EVERYTHING: Final = NodeChoice()


def in_turn(groups: Collection[str], after: str) -> tuple[str, ...]:
    """Groups as fairness asks for them: the smallest name after the one that was served last, then wrapping."""
    ordered = sorted(set(groups))
    return (*(one for one in ordered if one > after), *(one for one in ordered if one <= after))


def _named(kind: str, names: Sequence[str], several: str = "") -> str:
    """``the group 'a'``, ``the groups 'a' and 'b'``; nothing for no name."""
    if not names:
        return ""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) == 1:
        return f"the {kind} {quoted[0]}"
    return f"{several or f'the {kind}s'} {', '.join(quoted[:-1])} and {quoted[-1]}"
