"""Trusted documents: our own, the file that lists others, and a server that runs no others."""

import json
import re
from pathlib import Path

import pytest

from cronograph.graphql.client import Client, OperationError, RunState
from cronograph.graphql.transport.body import sha256_of
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.server.configuration.reading import InvalidSettingsError, load, own_documents, read_documents
from tests.support.processes import ProcessStarter
from tests.support.web import post

TASKS = "query { tasks { nodes { name } } }"
GROUPS = "query { groups { nodes { name } } }"
LISTED = {sha256_of(TASKS): TASKS}


def written(folder: Path, data: object) -> Path:
    """A file with these data as JSON; a text is written as it is."""
    path = folder / "allowed.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


@pytest.mark.parametrize(
    "data",
    [
        LISTED,
        {
            "format": "apollo-persisted-query-manifest",
            "version": 1,
            "operations": [{"id": sha256_of(TASKS), "name": "Tasks", "type": "query", "body": TASKS}],
        },
    ],
)
def test_both_usual_forms_are_read(data: object, tmp_path: Path) -> None:
    assert read_documents(written(tmp_path, data)) == LISTED


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("{", "must be a readable JSON file"),
        ("[" * 100_000, "must be a readable JSON file"),
        ([TASKS], "must hold an object of SHA-256 and document"),
        ({sha256_of(TASKS): 7}, "must hold an object"),
        ({"format": "apollo-persisted-query-manifest"}, "must hold an object"),
        ({"format": "apollo-persisted-query-manifest", "operations": [{"id": "x"}]}, "must hold an object"),
        ({"abc": TASKS}, f"'abc' must be the SHA-256 of its document, which is {sha256_of(TASKS)}"),
        ({f"x{number}": TASKS for number in range(7)}, "and 2 more"),
    ],
)
def test_a_file_that_is_no_list_is_refused(data: object, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        read_documents(written(tmp_path, data))


def test_what_is_wrong_with_the_file_is_reported_with_the_other_settings(tmp_path: Path) -> None:
    path = written(tmp_path, {"abc": TASKS})
    with pytest.raises(InvalidSettingsError) as caught:
        load({"allowed_documents": str(path), "slots": 0})
    assert len(caught.value.faults) == 2
    assert caught.value.faults[1].startswith(f"--allowed-documents: '{path}' 'abc' must be the SHA-256")
    with pytest.raises(InvalidSettingsError, match=r"must be a readable JSON file: .*No such file"):
        load({"allowed_documents": str(tmp_path / "none.json")})


def test_the_command_line_and_the_client_are_trusted_without_a_built_dashboard(tmp_path: Path) -> None:
    operations = {re.split(r"\W+", text)[1] for text in own_documents(tmp_path).values()}
    assert {"TriggerJob", "TriggerTask", "ApplyTasks", "DrainNode", "EnqueueRuns", "ExecutionLog"} <= operations
    assert "Overview" not in operations


def test_only_listed_documents_and_its_own_commands_run(processes: ProcessStarter) -> None:
    path = written(processes.folder, LISTED)
    server = processes.serve(f"sqlite:///{path.parent / 'x.db'}", env={"CRONOGRAPH_ALLOWED_DOCUMENTS": str(path)})

    def answered(query: str) -> str:
        return post(f"{server.url}/graphql", {"query": query}).text

    assert "errors" not in answered(TASKS)
    assert "This server runs trusted documents only" in answered(GROUPS)
    status, output = processes.run("trigger", "cleanup_expired_sessions", "--url", server.url)
    assert (status, "triggered successfully" in output) == (0, True), output
    assert "only trusted documents run: the 1 of" in server.output()


@pytest.mark.costly
def test_without_a_file_the_clients_work_on_a_server_that_trusts_its_own_documents_only(
    processes: ProcessStarter,
) -> None:
    url = f"sqlite:///{processes.folder / 'x.db'}"
    server = processes.serve(url, env={"CRONOGRAPH_TRUSTED_DOCUMENTS": "only"})
    with Client(server.url) as client:
        run = client.trigger_job("cleanup_expired_sessions").run
        assert run is not None
        assert client.wait(run).state is RunState.SUCCESS
        (execution, *_) = client.executions(run_id=run.id)
        assert [part.has_ended for part in client.execution_log(execution.id)][-1]
        with pytest.raises(OperationError) as refused:
            client.execute("{ asOf }")
        assert refused.value.codes == {"DOCUMENT_NOT_ALLOWED"}
    status, output = processes.run("runs", "list", "--url", server.url)
    assert (status, "cleanup_expired_sessions" in output) == (0, True), output
