"""``@job``: which parameters a handler may have, and what it gets for its arguments."""

import enum
import sys
import typing
from typing import Annotated, Any

import pytest
from pydantic import Field

from cronograph.jobs.base.context import JobContext
from cronograph.jobs.core.arguments.judging import check_args
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput
from cronograph.jobs.registry import define


def test_a_context_that_may_be_left_out_by_other_callers_is_injected_all_the_same() -> None:
    def handler(ctx: JobContext | None = None, count: int = 1) -> None:
        """Can be called in a test without a context."""

    definition = define("lenient", handler)
    assert definition.context_parameter == "ctx"
    assert list(definition.args_schema["properties"]) == ["count"]


def test_a_parameter_may_have_a_name_that_models_use_themselves() -> None:
    def handler(schema: int, copy: str = "c", model_config: int = 2, _private: int = 3, json: int = 4) -> None:
        """The names of its parameters are nobody else's matter."""

    definition = define("freely_named", handler)
    schema: dict[str, Any] = definition.args_schema
    assert list(schema["properties"]) == ["schema", "copy", "model_config", "_private", "json"]
    assert schema["required"] == ["schema"]
    given = {"schema": 1, "_private": 9}
    check_args("freely_named", schema, given)
    bound = {"schema": 1, "copy": "c", "model_config": 2, "_private": 9, "json": 4}
    assert definition.bind(given, None) == bound
    with pytest.raises(InvalidInput, match="argument 'schema' of job 'freely_named'"):
        definition.bind({"schema": "x"}, None)
    with pytest.raises(InvalidInput, match="renamed__0"):
        definition.bind({"schema": 1, "renamed__0": 2}, None)


@pytest.mark.parametrize(
    ("annotation", "said"),
    [("NoSuchType", "an annotation cannot be read: name 'NoSuchType'"), (object(), "cannot be written as JSON")],
)
def test_a_parameter_of_a_type_that_nobody_could_give_in_json_is_refused(annotation: object, said: str) -> None:
    def handler(count: int) -> None:
        """Its annotation is replaced."""

    handler.__annotations__["count"] = annotation
    with pytest.raises(ConfigurationError, match=said):
        define("strange", handler)


class Opaque(enum.Enum):
    """Its values are nothing that JSON has."""

    FIRST = object()


class Raw(enum.Enum):
    """The same: they are no text."""

    FIRST = b"\xff"


@pytest.mark.parametrize(
    "annotation", [Opaque, Raw, list[Opaque], Opaque | None, dict[Opaque, int], typing.Literal[Opaque.FIRST]]
)
def test_an_enum_with_values_that_are_no_json_is_refused_with_the_name_of_the_parameter(annotation: object) -> None:
    def handler(count: int, kind: Opaque) -> None: ...

    handler.__annotations__["kind"] = annotation
    with pytest.raises(ConfigurationError, match=r"parameter 'kind': .* cannot be written as JSON"):
        define("strange", handler)


class PlainTyped(typing.TypedDict):
    """Pydantic takes it from Python 3.12 on."""

    count: int


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it there")
def test_the_reason_of_pydantic_is_named() -> None:
    def handler(wanted: PlainTyped) -> None: ...

    said = "parameter 'wanted': its annotation cannot be used: Please use `typing_extensions.TypedDict` instead"
    with pytest.raises(ConfigurationError, match=said):
        define("typed", handler)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="a lambda has no name of its own"):
        define(None, lambda: None)
    assert define("nothing", lambda: None).name == "nothing"


def test_an_isolation_that_does_not_exist_is_refused_with_those_that_do() -> None:
    def handler() -> None:
        """Does nothing."""

    with pytest.raises(ConfigurationError, match=r"isolation must be .*'process' or the name .*, got 'Fork'"):
        define("strange", handler, isolation="Fork")
    for near in ("proces", "proc"):
        with pytest.raises(ConfigurationError, match=f"got '{near}'; did you mean 'process'"):
            define("strange", handler, isolation=near)


def test_an_argument_may_have_another_name_outside_than_its_parameter() -> None:
    def handler(operation_name: Annotated[str | None, Field(alias="operationName")] = None) -> None:
        """Its argument is written as the API writes it."""

    definition = define("aliased", handler)
    assert list(definition.args_schema["properties"]) == ["operationName"]
    assert definition.bind({"operationName": "A"}, None) == {"operation_name": "A"}


def test_a_context_without_its_annotation_is_refused_with_the_line_to_write() -> None:
    def handler(ctx, source: str) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001

    with pytest.raises(ConfigurationError, match="parameter 'ctx': has no annotation; write ctx: JobContext"):
        define(None, handler)
