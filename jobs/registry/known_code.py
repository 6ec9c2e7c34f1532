"""Arguments judged by the code of the jobs that this process has, before their runs are stored."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from ..core.arguments.judging import Judge
from ..core.arguments.secrets import references
from ..core.base.errors import ErrorCode, InvalidInput
from ..core.model import Json
from .definition import JobDefinition, Registry, read


class CodeOfRegistry:
    """The jobs of a registry as judges of their arguments: custom validators, decimals and patterns included.

    Args:
        registry: Whose jobs; those that come later count, too.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __call__(self, name: str, signature: str) -> Judge | None:
        """Return the judge of a job, if this is the version with that signature."""
        definition = self._registry.get(name)
        if definition is None:
            return None
        return _judge(definition) if definition.signature == signature else None


def _judge(definition: JobDefinition) -> Judge:
    def judge(args: Mapping[str, Json]) -> Sequence[InvalidInput]:
        # What stands in the place of a secret is known only when the run starts.
        return () if references(args) else _faults(definition, args)

    return judge


def _faults(definition: JobDefinition, args: Mapping[str, Json]) -> Sequence[InvalidInput]:
    try:
        read(definition.args_model, args)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        return [_fault(definition.name, tuple(map(str, one["loc"])), one["msg"]) for one in faults]
    except Exception as error:  # noqa: BLE001 - a validator is foreign code: its run would fail by this, too
        return [_fault(definition.name, (), f"the job's own check failed: {type(error).__name__}: {error}"[:300])]
    return ()


def _fault(job_name: str, place: Sequence[str], problem: str) -> InvalidInput:
    named = f"argument '{'.'.join(place)}'" if place else "arguments"
    message = f"{named} of job '{job_name}': {problem}"
    return InvalidInput(message, path=("args", *place), code=ErrorCode.INVALID_ARGS)
