"""A dry run of any mutation answers what the change answers, and leaves every row as it was."""

from typing import Any

import pytest

from tests.generation.cli_answers import committed_schema
from tests.graphql_api.api import Api
from tests.graphql_api.world import DAILY, World

CREATE = "mutation($input: CreateTaskInput!) { createTask(input: $input) { errors { message } } }"
TASK = {"name": "nightly", "jobName": "work", "schedule": DAILY}


@pytest.mark.costly
async def test_every_dry_run_changes_nothing_and_answers_what_the_change_answers(api: Api) -> None:
    world = await World.of(api)
    requests = world.requests()
    root = committed_schema().mutation_type
    assert root is not None
    assert set(requests) == set(root.fields), "put a request of each mutation into World.requests"
    before, tried = world.rows(), dict[str, dict[str, Any]]()
    for mutation, request in requests.items():
        fields = f"{request.fields} {request.real} {request.tried}"
        tried[mutation] = await world.answer(mutation, {**request.input, "dryRun": True}, fields)
    after = world.rows()
    assert {name: (rows, after[name]) for name, rows in before.items() if rows != after[name]} == {}
    for mutation, request in requests.items():
        would, done = tried[mutation], await world.answer(mutation, request.input, f"{request.fields} {request.real}")
        for name, value in done.items():
            if name == request.real.partition(" ")[0]:
                assert value, mutation
                assert not would[name], f"the dry run of {mutation} shows what only the change itself has"
            else:
                assert would[name] == value, mutation
        if request.tried:
            assert would[request.tried.partition(" ")[0]] is not None, mutation
    assert world.rows() != before


async def test_a_stale_version_is_refused_by_every_change_of_a_task(api: Api) -> None:
    await api.ask(CREATE, input=TASK)
    for mutation in ("pauseTask", "resumeTask", "updateTask", "deleteTask"):
        kind = f"{mutation[0].upper()}{mutation[1:]}Input"
        document = f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ errors {{ code path }} }} }}"
        answer = (await api.ask(document, input={"name": "nightly", "expectedVersion": 7}))[mutation]
        assert answer["errors"] == [{"code": "VERSION_CONFLICT", "path": ["expectedVersion"]}], mutation


async def test_a_repeated_deletion_answers_with_what_was_deleted(api: Api) -> None:
    save = (
        'mutation { saveView(input: { page: "/runs", name: "all", search: "", idempotencyKey: "s" }) { view { id } } }'
    )
    view = (await api.ask(save))["saveView"]["view"]
    assert (await api.ask(save))["saveView"]["view"] == view
    delete = (
        f'mutation {{ deleteView(input: {{ id: "{view["id"]}", idempotencyKey: "d" }}) '
        "{ view { id name createdAt } errors { code } } }"
    )
    first = await api.ask(delete)
    assert first["deleteView"]["view"]["id"] == view["id"]
    assert await api.ask(delete) == first
