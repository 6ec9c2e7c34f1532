"""Share between the built-in jobs."""

from ..base.context import JobContext
from ..base.services import Services
from ..core.base.errors import ConfigurationError


def services_of(context: JobContext) -> Services:
    """Return the services of the process.

    Raises:
        ConfigurationError: there are none, as in a child process.
    """
    if context.services is None:
        raise ConfigurationError(
            f"job '{context.info.job_name}': must run within a node, which gives it the database and the API; "
            "it got neither. Built-in jobs cannot run with isolation 'process'"
        )
    return context.services
