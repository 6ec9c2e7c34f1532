"""What natural documents cost: one nesting of lists fits without any `first`, and a refusal says which `first` fits."""

import re

import pytest

from tests.graphql_api.api import Api

LINES = "logLines { lastLine cut hasEnded lines { line at level message fields } }"

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


@pytest.mark.costly
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


def named(field: str, names: int) -> str:
    """A field asked for under so many names."""
    return " ".join(f"n{number}: {field}" for number in range(names))


COSTLY = {
    "times of many tasks": "{ tasks(first: 200) { nodes { schedule { nextExecutions(count: 100) } } } }",
    "times under many names": (
        f"{{ tasks(first: 50) {{ nodes {{ schedule {{ {named('nextExecutions(count: 100)', 48)} }} }} }} }}"
    ),
    "statistics under many names": f"{{ {named('statistics { p50 }', 20)} }}",
    "plans under many names": f"{{ {named('upcoming { totalCount }', 3)} }}",
    "pages of a thousand lines": "{ executions(first: 50) { nodes { logLines(first: 1000) { lines { line } } } } }",
}


@pytest.mark.parametrize("document", COSTLY.values(), ids=COSTLY)
async def test_what_computes_or_reads_much_counts_as_such(api: Api, document: str) -> None:
    code, _ = await api.refused(document)
    assert code == "LIMIT_COST"


FILTERED = "query ($filter: TaskFilter) { tasks(filter: $filter) { nodes { name } } }"


async def test_a_filter_of_many_objects_is_refused_before_they_are_made(api: Api) -> None:
    code, _ = await api.refused(FILTERED, filter={"or": [{}] * 100_000})
    assert code == "LIMIT_COST"
    assert await api.ask(FILTERED, filter={"or": [{"name": {"eq": "a"}}] * 10})


async def test_a_document_that_was_cheap_with_small_variables_is_measured_again_with_large_ones(api: Api) -> None:
    assert await api.ask(FILTERED, filter={"name": {"eq": "a"}})
    code, _ = await api.refused(FILTERED, filter={"and": [{"or": [{}] * 1_000}] * 20})
    assert code == "LIMIT_COST"


async def test_large_variables_count_wherever_they_are_used(api: Api) -> None:
    names = " ".join(f"t{number}: tasks(first: 1, filter: $filter) {{ nodes {{ name }} }}" for number in range(20))
    document = f"query ($filter: TaskFilter) {{ {names} }}"
    many = {"or": [{"name": {"eq": "x"}}] * 50}
    assert await api.ask(FILTERED, filter=many)
    code, _ = await api.refused(document, filter=many)
    assert code == "LIMIT_COST"


async def test_what_lies_in_a_json_value_weighs_nothing(api: Api) -> None:
    document = 'mutation ($args: JSON) { triggerJob(jobName: "nope", args: $args) { success } }'
    assert await api.ask(document, args={"many": [[number] for number in range(30_000)]})


ENQUEUE = "mutation ($runs: [EnqueueRunInput!]!) { enqueueRuns(input: {runs: $runs}) { runs { %s } errors { code } } }"


async def test_the_answer_of_a_bulk_mutation_counts_a_row_for_each_run(api: Api) -> None:
    runs = [{"jobName": "nope"}] * 9_000
    code, message = await api.refused(ENQUEUE % "id state jobName", runs=runs)
    assert code == "LIMIT_COST"
    assert "got 27,00" in message
    assert (await api.ask(ENQUEUE % "id", runs=runs))["enqueueRuns"]["errors"]
    whole = "mutation ($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { runs { id state jobName } } }"
    assert (await api.refused(whole, input={"runs": runs}))[0] == "LIMIT_COST"


async def test_a_bulk_list_longer_than_declared_is_refused_before_it_is_read(api: Api) -> None:
    document = "mutation ($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { code } } }"
    code, _ = await api.refused(document, input={"runs": [{"jobName": "nope"}] * 10_001})
    assert code == "LIMIT_COST"


APPLY = "mutation ($input: ApplyTasksInput!) { applyTasks(input: $input) { errors { code } } }"
APPLY_SETS = "mutation ($sets: [TaskSetInput!]!) { applyTasks(input: { sets: $sets }) { errors { code } } }"


def sets_of(count: int, tasks: int) -> list[dict[str, object]]:
    return [{"name": f"set-{number}", "tasks": [{"name": "a"}] * tasks} for number in range(count)]


async def test_lists_within_a_list_weigh_nothing_up_to_the_declared_size_together(api: Api) -> None:
    """Each is short enough by itself."""
    (only,) = sets_of(1, 10_001)
    for sets in (sets_of(200, 60), sets_of(2, 5_001), [only], only):
        assert (await api.refused(APPLY, input={"sets": sets}))[0] == "LIMIT_COST"
        assert (await api.refused(APPLY_SETS, sets=sets))[0] == "LIMIT_COST"
    for sets in (sets_of(200, 50), sets_of(1, 10_000)):
        assert (await api.ask(APPLY, input={"sets": sets}))["applyTasks"]["errors"]
        assert (await api.ask(APPLY_SETS, sets=sets))["applyTasks"]["errors"]


async def test_more_values_than_a_filter_may_compare_with_are_refused_before_they_are_read(api: Api) -> None:
    document = "query ($filter: RunFilter) { runs(first: 1, filter: $filter) { nodes { id } } }"
    for operator in ("in", "notIn"):
        ids = [str(number) for number in range(18_000)]
        assert (await api.refused(document, filter={"id": {operator: ids}}))[0] == "LIMIT_COST"
        assert await api.ask(document, filter={"id": {operator: ids[:1_000]}})


async def test_as_many_ids_as_a_mutation_takes_are_let_pass(api: Api) -> None:
    document = "mutation ($input: CancelRunsInput!) { cancelRuns(input: $input) { errors { code } } }"
    ids = [str(number) for number in range(10_000)]
    assert "cancelRuns" in await api.ask(document, input={"runs": {"ids": ids}})


async def test_the_lines_of_many_executions_count_as_what_it_takes_to_read_them(api: Api) -> None:
    document = "query ($first: Int) { executions(first: $first) { nodes { logLines(first: 200) { lines { line } } } } }"
    assert (await api.refused(document, first=100))[0] == "LIMIT_COST"
    assert await api.ask(document, first=25)
