"""Jobs by name: what a function that was made a job takes, where it runs, and the policies that it carries."""

from .define import define
from .definition import Handler, JobDefinition, Registry, default_registry, registry_or_default
from .limits import Cap, Rate
from .options import JobOptions
from .policies import Backoff, JobPolicies, Reuse

__all__ = [
    "Backoff",
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
