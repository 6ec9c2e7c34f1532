"""Turn a step's result into JSON and back, by the annotation of its function."""

import functools
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from ..core.base.errors import ConfigurationError, InvalidInput, StepMismatch
from ..core.base.lazy import LazyModule
from ..core.base.read_back import changed
from ..core.model import Json

if TYPE_CHECKING:
    import pydantic
else:
    pydantic = LazyModule("pydantic")

_SHOWN: Final = 200
"""Characters of a value that an error shows."""
_ITSELF: Final = (bool, int, str, type(None))
"""Types whose values are JSON as they are."""


class Shape:
    """Describe the result of a function, or the payload of a signal.

    Args:
        annotation: Of its result; ``Any`` = any JSON.
        of_signal: It is the model of a signal's payload.
    """

    def __init__(self, annotation: Any, *, of_signal: bool = False) -> None:  # noqa: ANN401 - all an annotation can be
        self.annotation = annotation
        self._of_signal = of_signal
        self._adapter: pydantic.TypeAdapter[Any] | None = None
        if annotation is not Any:
            self._adapter = pydantic.TypeAdapter(annotation)

    def __str__(self) -> str:
        return getattr(self.annotation, "__name__", None) or str(self.annotation)

    @property
    def json_schema(self) -> dict[str, Any] | None:
        """Return the JSON Schema of its values; None = anything."""
        return None if self._adapter is None else self._adapter.json_schema()

    def dump(self, label: str, returned: object) -> Json:
        """Return the JSON of the function's result.

        Raises:
            ValueError: it cannot be written as JSON.
        """
        if self._adapter is None or type(returned) in _ITSELF:
            document: Json = returned
            return document
        try:
            document = self._adapter.dump_python(returned, mode="json", warnings=False)
            if self._has_aliases and not self._reads_back(document):
                document = self._adapter.dump_python(returned, mode="json", warnings=False, by_alias=True)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"step '{label}' must return {self}, as its function says, and that as JSON; got {_shown(returned)}: "
                f"{error}"
            ) from error
        return document

    @functools.cached_property
    def _has_aliases(self) -> bool:
        """Return whether a part of its values is written under another name if asked; most types have none."""
        assert self._adapter is not None, "it was asked for"
        waiting: list[object] = [self._adapter.core_schema]
        while waiting:
            one = waiting.pop()
            if isinstance(one, Mapping):
                part = cast("Mapping[str, object]", one)
                if part.get("serialization_alias") or (part.get("type") == "computed-field" and part.get("alias")):
                    return True
                waiting += part.values()
            elif isinstance(one, list | tuple):
                waiting += cast("Sequence[object]", one)
        return False

    def _reads_back(self, document: Json) -> bool:
        """Return whether the value made of this JSON is written as the same again."""
        assert self._adapter is not None, "it was asked for"
        try:
            value = self._adapter.validate_json(json.dumps(document))
        except ValueError:
            return False
        return bool(self._adapter.dump_python(value, mode="json", warnings=False) == document)

    def check(self, label: str, returned: object, value: object) -> None:
        """Check that a value read back equals the returned one, or its conversion by the annotation.

        Args:
            label: The step.
            returned: The function's result.
            value: The value that was read back from its JSON.

        Raises:
            ValueError: it changes on its way, as a ``SecretStr`` does.
        """
        if self._adapter is None or type(returned) in _ITSELF:
            return
        adapter = self._adapter

        def same_json() -> bool:
            return bool(adapter.dump_json(returned, warnings=False) == adapter.dump_json(value, warnings=False))

        found = changed(returned, value, same_json)
        if found is None or self._is_made(returned, value, same_json):
            return
        place = f", at {'.'.join(found.place)}," if found.place else ""
        raise ValueError(f"the value of step '{label}'{place} {found.why}")

    def _is_made(self, returned: object, value: object, same_json: Callable[[], bool]) -> bool:
        """Return whether the annotation makes a value out of something else that the function returned, a dict, say."""
        assert self._adapter is not None, "it was asked for"
        try:
            made = self._adapter.validate_python(returned)
        except ValueError:
            return False
        return changed(made, value, same_json) is None

    def load(self, label: str, value: Json, attempt: int | None) -> Any:  # noqa: ANN401 - what the function returns
        """Return the value that is behind the JSON.

        Args:
            label: The step.
            value: As it is stored.
            attempt: Which attempt stored it; None: this one is about to.

        Raises:
            StepMismatch: it is no such value, and an earlier attempt stored it.
            ValueError: it is no such value, and this attempt has made it.
        """
        if self._adapter is None or type(value) is self.annotation:
            return value
        try:
            return self._adapter.validate_json(json.dumps(value))
        except pydantic.ValidationError as error:
            why = error.errors(include_url=False, include_input=False, include_context=False)[0]["msg"]
            if attempt is None:
                raise ValueError(
                    f"step '{label}': its function says that it returns {self}, and it returned {_shown(value)}: {why}"
                ) from error
            stored, takes, remedy = (
                (
                    f"signal '{label}': it brought {_shown(value)}",
                    "its wait takes",
                    "signal, so that another is awaited",
                )
                if self._of_signal
                else (
                    f"step '{label}': attempt {attempt} stored {_shown(value)}",
                    "its function returns",
                    "step, so that it is done again",
                )
            )
            raise StepMismatch(f"{stored}, and {takes} {self} now: {why}; rename the {remedy}") from error


def _shown(value: object) -> str:
    text = repr(value)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"{type(value).__name__} {shown}"


_ANYTHING: Final = Shape(Any)


def shape_of(function: Callable[..., object]) -> Shape:
    """Return the declared result of a function; a function without an annotation returns any JSON.

    Raises:
        ConfigurationError: its annotation cannot be read.
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return _ANYTHING if getattr(function, "__name__", "") == "<lambda>" else _shape_of(function)


def shape_of_model(model: Any) -> Shape:  # noqa: ANN401 - all that an annotation can be
    """Return the shape of a signal's payload.

    Raises:
        InvalidInput: the model is none.
    """
    try:
        return Shape(model, of_signal=True)
    except (TypeError, pydantic.errors.PydanticUserError):
        raise InvalidInput(
            f"model: must be a pydantic model, a dataclass or another type with a form in JSON, got {model!r:.60}",
            path=("model",),
        ) from None


@lru_cache(maxsize=1024)
def _shape_of(function: Callable[..., object]) -> Shape:
    try:
        annotation = typing.get_type_hints(function, include_extras=True).get("return", Any)
        return _ANYTHING if annotation is Any else Shape(annotation)
    except (NameError, TypeError, pydantic.errors.PydanticUserError) as error:
        name = getattr(function, "__qualname__", repr(function))
        raise ConfigurationError(
            f"step function {name}: what it returns cannot be read from its annotation: {error}; annotate it with "
            "something that can be written as JSON and is there when the job runs, or leave the annotation out"
        ) from error
