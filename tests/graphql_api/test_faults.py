"""Everything that is wrong with an input is answered at once, each fault with its place in the input's own words."""

from typing import Any

from cronograph.jobs import job
from cronograph.jobs.actions.nodes import NewNode, join
from cronograph.jobs.builtin.prune import prune_history
from cronograph.jobs.core.defaults import JobInfo
from cronograph.jobs.registry import Registry
from tests.graphql_api.api import Api

CREATE = "mutation($input: CreateTaskInput!) { it: createTask(input: $input) { errors { code message path } } }"
ENQUEUE = "mutation($input: EnqueueRunsInput!) { it: enqueueRuns(input: $input) { errors { code message path } } }"
TRIGGER = (
    'mutation($args: JSON) { it: triggerJob(jobName: "work", args: $args) { success errors { code message path } } }'
)


async def faults(api: Api, document: str, **variables: Any) -> list[tuple[str, list[str]]]:
    """Code and path of each fault."""
    return [(error["code"], error["path"]) for error in (await api.ask(document, **variables))["it"]["errors"]]


async def test_all_faults_of_a_task_are_answered(api: Api) -> None:
    wrong = {
        "name": "a/b", "jobName": "wrok", "schedule": {"syntax": "CRON", "value": "* * * * *"}, "owner": "",
        "misfire": "NONE", "misfireGrace": 0, "retries": -1, "jitter": -1, "timeout": 0, "tolerance": 1,
        "startAt": "2030-01-02T00:00:00Z", "endAt": "2030-01-01T00:00:00Z",
    }  # fmt: skip
    assert await faults(api, CREATE, input=wrong) == [
        ("INVALID_INPUT", ["name"]),
        ("INVALID_INPUT", ["owner"]),
        ("INVALID_INPUT", ["misfireGrace"]),
        ("INVALID_INPUT", ["tolerance"]),
        ("INVALID_INPUT", ["retries"]),
        ("INVALID_INPUT", ["timeout"]),
        ("INVALID_INPUT", ["jitter"]),
        ("INVALID_INPUT", ["endAt"]),
        ("UNKNOWN_JOB", ["jobName"]),
        ("INVALID_SCHEDULE", ["schedule", "value"]),
    ]


async def test_what_cannot_be_stored_is_answered_beside_the_other_faults(api: Api) -> None:
    wrong = {
        "name": "a", "jobName": "work", "schedule": {"syntax": "CRON", "value": "\0"}, "group": "\0", "retries": -1,
        "args": {"a": ["b\0"], "c\0": 1, "d": {"e": "\ud800"}},
    }  # fmt: skip
    assert await faults(api, CREATE, input=wrong) == [
        ("INVALID_INPUT", ["args"]),
        ("INVALID_INPUT", ["args", "a", "0"]),
        ("INVALID_INPUT", ["args", "d", "e"]),
        ("INVALID_INPUT", ["group"]),
        ("INVALID_INPUT", ["schedule", "value"]),
        ("INVALID_INPUT", ["retries"]),
    ]


async def test_a_nul_in_arguments_is_data_as_any_other_fault(api: Api) -> None:
    answer = (await api.ask(TRIGGER, args={"x": "a\0"}))["it"]
    message = "args.x: must not contain U+0000 at position 2"
    assert answer == {
        "success": False,
        "errors": [{"code": "INVALID_INPUT", "message": message, "path": ["args", "x"]}],
    }


async def test_the_faults_of_every_run_are_answered(api: Api) -> None:
    runs = [
        {"jobName": "work"},
        {"jobName": "wrok", "retries": -1, "uniqueKey": ""},
        {"jobName": "work", "group": "a/b", "retryDelay": -1},
    ]
    assert await faults(api, ENQUEUE, input={"runs": runs}) == [
        ("INVALID_INPUT", ["runs", "1", "retries"]),
        ("INVALID_INPUT", ["runs", "1", "uniqueKey"]),
        ("UNKNOWN_JOB", ["runs", "1", "jobName"]),
        ("INVALID_INPUT", ["runs", "2", "group"]),
        ("INVALID_INPUT", ["runs", "2", "retryDelay"]),
    ]


async def test_many_faults_are_cut_off(api: Api) -> None:
    runs = [{"jobName": "work", "retries": -1, "timeout": 0} for _ in range(1_000)]
    assert len(await faults(api, ENQUEUE, input={"runs": runs})) == 50


async def test_what_to_prune_is_refused_by_the_names_of_its_input(api: Api) -> None:
    registry = Registry()
    job("prune_history", registry=registry)(prune_history)
    definition = registry.get("prune_history")
    assert definition is not None
    infos: tuple[JobInfo, ...] = (definition.info,)
    api.stored.do(join, NewNode("node-b", 1, "1", infos, 60.0), only_node=False)
    for dry_run in (False, True):
        document = (
            "mutation($dry: Boolean!) { it: pruneHistory(input: { maxAgeDays: -1, maxPerTask: 0, dryRun: $dry }) "
            "{ errors { code message path } } }"
        )
        assert await faults(api, document, dry=dry_run) == [
            ("INVALID_ARGS", ["maxAgeDays"]),
            ("INVALID_ARGS", ["maxPerTask"]),
        ]
