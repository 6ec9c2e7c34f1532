"""The job `graphql_request`: an operation of the server's own API, failed by any error in its answer."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from cronograph.jobs.base.outcomes import Result
from cronograph.jobs.base.services import Also, Services
from cronograph.jobs.builtin import builtin_jobs
from cronograph.jobs.builtin.graphql_request import MAX_VALUE, ApiError, graphql_request
from cronograph.jobs.core.actor import Submitter
from cronograph.jobs.core.base.errors import ConfigurationError, InvalidInput
from cronograph.jobs.store.db.database import Database
from tests.builtin.hosts import KeepingHost, context_of

ADA = Submitter("ada", 7)
DEFINITION = next(each for each in builtin_jobs() if each.name == "graphql_request")


@dataclass
class Api:
    """An API with one answer; keeps what it was asked."""

    answer: dict[str, Any]
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def call(
        self,
        query: str,
        *,
        variables: Mapping[str, Any] | None = None,
        operation_name: str | None = None,
        submitter: Submitter | None = None,
        run_id: int | None = None,
        also: Also | None = None,
    ) -> dict[str, Any]:
        assert (run_id, also) == (1, None)
        asked = {"query": query, "variables": variables, "operation_name": operation_name, "submitter": submitter}
        self.asked.append(asked)
        return self.answer


@pytest.fixture
async def database(empty_sqlite_url: str) -> AsyncIterator[Database]:
    database = Database(empty_sqlite_url)
    yield database
    await database.close()


async def run(database: Database, api: Api | None, host: KeepingHost | None = None, **args: object) -> Result:
    """Run the job, submitted by `ada`, with arguments as they are stored."""
    context = context_of(graphql_request, Services(database, api), host, submitter=ADA)
    return await graphql_request(**DEFINITION.bind(args, context))


async def test_the_operation_is_called_in_the_name_of_the_submitter(database: Database) -> None:
    api = Api({"data": {"overview": {"running": 3}}})
    query = "query A { overview { running } } query B { viewer { name } }"
    result = await run(database, api, query=query, variables={"x": 1}, operationName="A")
    assert result == Result(value={"overview": {"running": 3}})
    assert api.asked == [{"query": query, "variables": {"x": 1}, "operation_name": "A", "submitter": ADA}]


async def test_variables_and_name_may_be_left_out(database: Database) -> None:
    api = Api({"data": {}})
    await run(database, api, query="{ viewer { name } }")
    assert api.asked == [{"query": "{ viewer { name } }", "variables": None, "operation_name": None, "submitter": ADA}]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"errors": [{"message": "no such field"}]}, "the API answered with an error: no such field"),
        (
            {"data": None, "errors": [{"message": word} for word in "abcde"]},
            "the API answered with 5 errors: a; b; c; and 2 more",
        ),
        (
            {"data": {"pauseTask": {"task": None, "errors": [{"code": "NOT_FOUND", "message": "no task 'x'"}]}}},
            "the API answered with an error: no task 'x'",
        ),
        (
            {
                "data": {"a": {"errors": [{"message": "second"}]}, "b": {"errors": []}, "c": None, "d": [1]},
                "errors": [{"message": "first"}],
            },
            "the API answered with 2 errors: first; second",
        ),
        ({"errors": ["odd"]}, "the API answered with an error: odd"),
        ({"errors": [{"code": 7}]}, "the API answered with an error: {'code': 7}"),
        ({"errors": [{"message": "m" * 1000}]}, "the API answered with an error: " + "m" * 300),
    ],
)
async def test_an_answer_with_errors_is_a_failed_attempt(
    database: Database, answer: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as caught:
        await run(database, Api(answer), query="{ a }")
    assert str(caught.value) == message


async def test_an_answer_too_large_to_keep_is_a_success_without_a_value(database: Database) -> None:
    host = KeepingHost()
    result = await run(database, Api({"data": {"a": "x" * MAX_VALUE}}), host, query="{ a }")
    assert result == Result()
    [(level, message, fields)] = host.lines
    assert (level, message) == ("WARNING", "the answer is too large to be kept as the result")
    assert fields is not None
    assert fields["limit"] == MAX_VALUE


async def test_a_node_without_an_api_is_named(database: Database) -> None:
    with pytest.raises(ConfigurationError, match="must run on a node with an API"):
        await run(database, None, query="{ a }")


@pytest.mark.parametrize("args", [{}, {"query": ""}, {"query": "{ a }", "variables": [1]}, {"query": "{ a }", "x": 1}])
def test_arguments_that_cannot_work_are_refused(args: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        DEFINITION.bind(args, context_of(graphql_request, None))


def test_the_operation_is_named_as_in_any_graphql_request() -> None:
    assert list(DEFINITION.args_schema["properties"]) == ["query", "variables", "operationName"]
