"""What natural documents cost: one nesting of lists fits without any `first`, and a refusal says which `first` fits."""

import re

import pytest

from tests.graphql_api.api import Api

LINES = "logLines { lastLine cut ended lines { line at level message fields } }"

FITTING = {
    "log of a run": f'{{ run(id: "1") {{ executions {{ nodes {{ {LINES} }} }} }} }}',
    "log of executions": f"{{ executions {{ edges {{ cursor node {{ id {LINES} }} }} }} }}",
    "executions of tasks": "{ tasks { nodes { name executions { nodes { id startedAt outcome success } } } } }",
    "executions of runs": "{ runs { nodes { id executions { nodes { id startedAt outcome errorMessage } } } } }",
    "runs of tasks": "{ tasks { nodes { name runs { totalCount nodes { id state scheduledFor attempt } } } } }",
    "times of tasks": "{ tasks { nodes { name schedule { nextExecutions } explain { sentence details } } } }",
    "skipped of tasks": "{ tasks { nodes { name skippedOccurrences { nodes { reason count node } } } } }",
}
DEEP = {
    "logs of executions of tasks": f"{{ tasks {{ nodes {{ executions {{ nodes {{ {LINES} }} }} }} }} }}",
    "executions of runs of tasks": "{ tasks { nodes { runs { nodes { executions { nodes { id outcome } } } } } } }",
}


@pytest.mark.parametrize("document", FITTING.values(), ids=FITTING)
async def test_lists_in_a_list_fit_without_any_size(api: Api, document: str) -> None:
    assert await api.ask(document)


@pytest.mark.parametrize("document", DEEP.values(), ids=DEEP)
async def test_lists_three_deep_are_refused_with_a_size_that_fits(api: Api, document: str) -> None:
    code, message = await api.refused(document)
    assert code == "LIMIT_COST"
    advised = re.search(r"With `first: (\d+)` for (.+) it fits\.$", message)
    assert advised is not None, message
    size, sized = advised[1], document
    for field in re.findall(r"`\w+\.(\w+)`", advised[2]):
        sized = re.sub(rf"\b{field}\b", f"{field}(first: {size})", sized, count=1)
    assert sized.count("first:") == 3
    assert await api.ask(sized)


async def test_a_refusal_names_the_largest_pages_that_a_document_asks_for(api: Api) -> None:
    document = "{ tasks(first: 150) { nodes { runs(first: 200) { nodes { id } } } } }"
    code, message = await api.refused(document)
    assert code == "LIMIT_COST"
    assert message.endswith("got 30,302. Ask for fewer rows of `Task.runs` and `Query.tasks`.")


async def test_a_page_of_a_log_has_fifty_lines_unless_said(api: Api) -> None:
    field = await api.ask('{ __type(name: "JobExecution") { fields { name args { name defaultValue } } } }')
    args = next(one["args"] for one in field["__type"]["fields"] if one["name"] == "logLines")
    assert {"name": "first", "defaultValue": "50"} in args
