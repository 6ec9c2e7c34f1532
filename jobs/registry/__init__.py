"""Jobs by name: the arguments of a job's function, the place where it runs, and its policies."""

from .define import define
from .definition import Handler, JobDefinition, Registry, default_registry, registry_or_default
from .limits import Cap, Rate
from .options import JobOptions
from .policies import Backoff, Batch, JobPolicies, Reuse

__all__ = [
    "Backoff",
    "Batch",
    "Cap",
    "Handler",
    "JobDefinition",
    "JobOptions",
    "JobPolicies",
    "Rate",
    "Registry",
    "Reuse",
    "default_registry",
    "define",
    "registry_or_default",
]
