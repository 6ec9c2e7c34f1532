"""Which runs this node takes, as its settings say, and what is odd about that."""

from collections.abc import Iterator
from difflib import get_close_matches

from cronograph.jobs.core.nodes import NodeChoice

from ...jobs.registry import Registry
from .settings import Settings


def choice_of(settings: Settings) -> NodeChoice:
    """What the settings let the node take."""
    return NodeChoice(settings.groups, settings.only_jobs, settings.tags, settings.without_tags)


def choice_faults(settings: Settings, registry: Registry) -> Iterator[str]:
    """What cannot be taken because there is no such job, one sentence each."""
    for name in settings.only_jobs:
        if registry.get(name) is None:
            near = get_close_matches(name, registry.names(), 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(registry.names())}"
            yield f"only_jobs: must be jobs of this node, got '{name}'; {hint}"


def choice_warnings(settings: Settings, registry: Registry) -> Iterator[str]:
    """What leaves this node with nothing, or means nothing, one sentence each."""
    carried = {tag for job in registry for tag in job.tags}
    for setting in ("tags", "without_tags"):
        for tag in getattr(settings, setting):
            if tag not in carried:
                yield f"{setting}: no job of this node carries the tag '{tag}'"
    choice = choice_of(settings)
    if not any(choice.takes_job(job.name, job.tags) for job in registry):
        yield f"this node {choice.words}, and so takes no run of any job that it knows"
