"""Judge jobs that are named by others: as the job that runs on a failure, an expiry or a cancellation."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ..core.admission.holding import Expired
from ..core.base.errors import ConfigurationError
from ..core.base.lazy import LazyModule
from ..core.model import Json
from ..core.outcome import Cancellation, Failure
from .hooks import Hook

if TYPE_CHECKING:
    import pydantic
else:
    pydantic = LazyModule("pydantic")


class _Role(NamedTuple):
    """An option that names a job, and the one argument that the job gets."""

    option: str
    argument: str
    meaning: str
    example: dict[str, Json]


_OF_FAILURES: Final = _Role(
    "on_failure",
    "failure",
    "the failure",
    Failure(run_id=1, job_name="mail", attempt=3, error="no reason given").document(),
)
_OF_EXPIRED: Final = _Role(
    "on_expired",
    "expired",
    "the run that expired",
    Expired(run_id=1, job_name="mail", expires_at="2030-01-01T00:00:00Z", waited=1.0).document(),
)


_OF_CANCELLED: Final = _Role(
    "on_cancel",
    "cancellation",
    "the run that was cancelled",
    Cancellation(run_id=1, job_name="mail", attempt=1, reason="no longer needed").document(),
)


class KnownJob(Protocol):
    """A job that may be named."""

    @property
    def args_model(self) -> "type[pydantic.BaseModel]":
        """Its arguments."""
        ...

    @property
    def where(self) -> str:
        """Its place."""
        ...


class KnownJobs(Protocol):
    """The jobs that may be named."""

    def get(self, name: str) -> KnownJob | None:
        """Return the job of this name, or None."""
        ...

    def names(self) -> Sequence[str]:
        """Return all names."""
        ...


def check_named(hooks: Iterable[Hook], known: Sequence[str]) -> None:
    """Check that the jobs that hooks name exist.

    Raises:
        ConfigurationError: names the hook and its place.
    """
    for hook in hooks:
        unknown = sorted((hook.jobs or frozenset()).difference(known))
        if unknown:
            raise ConfigurationError(f"hook {hook.where}: there is no job '{unknown[0]}'{_hint(unknown[0], known)}")


def check_failure_job(name: str, where: str, chosen: str | None, registry: KnownJobs) -> None:
    """Check that the job named by ``on_failure`` exists and takes the failure.

    Args:
        chosen: The named thing; None = nothing.

    Raises:
        ConfigurationError: there is no such job, or it takes something else.
    """
    _check_follower(name, where, chosen, registry, _OF_FAILURES)


def check_expiry_job(name: str, where: str, chosen: str | None, registry: KnownJobs) -> None:
    """Check that the job named by ``on_expired`` exists and takes the run that expired.

    Raises:
        ConfigurationError: there is no such job, or it takes something else.
    """
    _check_follower(name, where, chosen, registry, _OF_EXPIRED)


def check_cancel_job(name: str, where: str, chosen: str | None, registry: KnownJobs) -> None:
    """Check that the job named by ``on_cancel`` exists and takes the run that was cancelled.

    Raises:
        ConfigurationError: there is no such job, or it takes something else.
    """
    _check_follower(name, where, chosen, registry, _OF_CANCELLED)


def _check_follower(name: str, where: str, chosen: str | None, registry: KnownJobs, role: _Role) -> None:
    if chosen is None:
        return
    job = registry.get(chosen)
    if job is None:
        hint = _hint(chosen, registry.names())
        raise ConfigurationError(f"job '{name}' at {where}: {role.option}: there is no job '{chosen}'{hint}")
    try:
        job.args_model.model_validate({role.argument: role.example})
    except pydantic.ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise ConfigurationError(
            f"job '{name}' at {where}: {role.option}: job '{chosen}' ({job.where}) gets one argument, {role.meaning}, "
            f"and cannot take it ('{place}': {fault['msg']}); write 'def {chosen}({role.argument}: "
            f"{role.argument.capitalize()})'"
        ) from error


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(known) or 'none'}"
