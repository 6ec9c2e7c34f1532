"""`plan`, `apply`, `export` and `serve --tasks` through real processes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from cronograph.jobs.accounts.actions.accounts import add_account
from cronograph.jobs.core.actor import Role
from cronograph.jobs.core.task_sets import DefinitionKind
from cronograph.jobs.store.db.database import Database
from cronograph.jobs.store.schema.tables import delivery, periodic_task
from cronograph.jobs.store.schema.tables import run as run_table
from cronograph.server.cli.remote.sets import in_words
from cronograph.server.task_files.reading import read_files
from tests.server.auth.serving import hashed
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

FILE = """
set: billing
tasks:
  nightly: {job: cleanup_expired_sessions, schedule: "0 0 3 * * *", description: "${WHAT:-old}"}
  hourly: {job: cleanup_expired_challenges, schedule: "0 0 * * * *"}
"""


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CronographProcess]:
    starter = ProcessStarter(tmp_path_factory.mktemp("files"), nursery)
    yield starter.serve(f"sqlite:///{tmp_path_factory.mktemp('db')}/x.db")
    starter.end_all()


ASKS = """
set: billing
tasks:
  hourly: {job: graphql_request, schedule: "* * * * * *", args: {query: "{ accounts { nodes { name } } }"}}
webhooks:
  runs: {url: "https://feed.invalid/", document: runs}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.yaml"
    path.write_text(FILE)
    return path


class Commands:
    """Commands that speak to the server of this module."""

    def __init__(self, processes: ProcessStarter, server: CronographProcess) -> None:
        self.processes = processes
        self.url = server.url

    def __call__(self, *words: str, **env: str) -> tuple[int, str]:
        return self.processes.run(*words, "--url", self.url, env=env)

    def json(self, *words: str, status: int = 0, **env: str) -> dict[str, Any]:
        found, said = self(*words, "--json", **env)
        assert found == status, said
        answer: dict[str, Any] = json.loads(said)
        return answer


@pytest.fixture
def run(processes: ProcessStarter, server: CronographProcess) -> Commands:
    return Commands(processes, server)


def test_the_file_in_the_documents_is_one(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
    (block,) = re.findall(r"```yaml run-by=[^\n]*\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "tasks.yaml"
    path.write_text(block)
    (found,) = read_files(path, {"REPORT_TO": "ada"}).sets
    assert [task.name for task in found.tasks] == ["nightly-report", "poll-orders"]
    named = {kind: [one.name for one in things] for kind, things in found.definitions.items()}
    assert [named[kind] for kind in DefinitionKind] == [["ops"], ["runs"], ["deploy"], ["nightly-report-late"]]


@pytest.mark.parametrize(
    ("page", "kind", "names"),
    [
        ("alarms.md", DefinitionKind.ALARM, ["orders-old", "nodes", "webhooks"]),
        ("alarms.md", DefinitionKind.CHANNEL, ["ops", "pager", "team", "prometheus", "telegram"]),
        ("webhooks.md", DefinitionKind.WEBHOOK, ["runs", "failures"]),
        ("hooks.md", DefinitionKind.HOOK, ["deploy", "push"]),
    ],
)
def test_the_files_on_the_pages_of_notices_are_some(
    page: str, kind: DefinitionKind, names: list[str], tmp_path: Path
) -> None:
    text = (Path(__file__).parents[3] / "docs" / page).read_text()
    blocks = re.findall(r"```yaml run-by=[^\n]*\n(.*?)```", text, re.DOTALL)
    (block,) = (one for one in blocks if f"\n{kind.value}s:\n" in one)
    path = tmp_path / "tasks.yaml"
    path.write_text(block)
    assert [one.name for one in read_files(path).sets[0].definitions[kind]] == names


def actions(answer: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["action"] for one in answer["tasks"]}


@pytest.mark.costly
def test_a_file_is_planned_applied_exported_and_pruned(run: Commands, file: Path, tmp_path: Path) -> None:
    status, said = run("plan", str(file), "--detailed-exitcode")
    assert (status, "+ nightly: create" in said, "Plan: 2 to create" in said) == (6, True, True)
    assert actions(run.json("apply", str(file))) == {"nightly": "CREATE", "hourly": "CREATE"}
    assert run("plan", str(file), "--detailed-exitcode")[0] == 0

    kept = tmp_path / "plan.json"
    status, said = run("plan", str(file), "--out", str(kept), WHAT="new")
    assert (status, 'description: "old" -> "new"' in said) == (0, True)
    assert kept.stat().st_mode & 0o777 == 0o600
    change = {"query": 'mutation { updateTask(input: {name: "hourly", retries: 7}) { errors { code } } }'}
    assert post(f"{run.url}/graphql", change).json()["data"]["updateTask"]["errors"] == []
    refused = run.json("apply", str(kept), status=1)
    assert "task 'hourly' has changed since the plan was made" in refused["errors"][0]
    kept.chmod(0o644)
    run("plan", str(file), "--out", str(kept), WHAT="new")
    assert kept.stat().st_mode & 0o777 == 0o600, "also one that was there"
    assert actions(run.json("apply", str(kept))) == {"nightly": "CHANGE", "hourly": "KEEP"}
    assert run("apply", str(kept), "--prune")[0] == 2

    exported = tmp_path / "exported.yaml"
    assert run("export", "--set", "billing", "--out", str(exported))[0] == 0
    assert "retries: 7" in exported.read_text()
    assert set(actions(run.json("plan", str(exported))).values()) == {"KEEP"}
    assert "set: billing" in run("export")[1]

    file.write_text("set: billing\ntasks: {nightly: {}}\n")
    assert actions(run.json("plan", str(file))) == {"nightly": "KEEP", "hourly": "LEFT_OVER"}
    assert actions(run.json("apply", str(file), "--prune")) == {"nightly": "KEEP", "hourly": "ARCHIVE"}
    file.write_text("set: billing\ntasks: {}\n")
    assert "--allow-delete 1" in run.json("apply", str(file), "--prune", status=1)["errors"][0]
    assert actions(run.json("apply", str(file), "--prune", "--allow-delete", "1")) == {"nightly": "ARCHIVE"}


ALARMS = """
alarms:
  nightly-late: {task: nightly, late: 5m, severity: critical}
  nodes: {node: any}
"""


@pytest.mark.costly
def test_alarms_are_planned_applied_exported_and_pruned(run: Commands, file: Path, tmp_path: Path) -> None:
    text = file.read_text()
    file.write_text(text + ALARMS)
    status, said = run("plan", str(file), "--detailed-exitcode")
    assert (status, "+ alarm nightly-late: create" in said, "2 alarms to change" in said) == (6, True, True)
    kept = tmp_path / "plan.json"
    run("plan", str(file), "--out", str(kept))
    answer = run.json("apply", str(kept))
    assert {one["name"]: one["action"] for one in answer["definitions"]} == {
        "nightly-late": "CREATE",
        "nodes": "CREATE",
    }
    again = {"query": 'mutation { updateAlarm(input: {name: "nodes", severity: INFO}) { errors { code } } }'}
    assert post(f"{run.url}/graphql", again).json()["data"]["updateAlarm"]["errors"] == []
    run("plan", str(file), "--out", str(kept))
    again["query"] = again["query"].replace("INFO", "CRITICAL")
    post(f"{run.url}/graphql", again)
    assert "alarm 'nodes' has changed since the plan was made" in run("apply", str(kept))[1]
    assert "~ alarm nodes: change" in run("apply", str(file))[1]
    assert run("plan", str(file), "--detailed-exitcode")[0] == 0
    exported = tmp_path / "exported.yaml"
    run("export", "--set", "billing", "--out", str(exported))
    assert "nightly-late:\n    task: nightly\n    late: 300" in exported.read_text()
    assert run("plan", str(exported), "--detailed-exitcode")[0] == 0
    file.write_text(text + "alarms: {nodes: {node: any}, other: {task: nope, late: 1m}}\n")
    assert "task 'nope'" in run("apply", str(file))[1]
    file.write_text(text + "alarms: {nodes: {node: any}}\n")
    assert "? alarm nightly-late: left over" in run("plan", str(file))[1]
    assert "1 alarm changed" in run("apply", str(file), "--prune")[1]


OTHERS = """
channels:
  chat: {kind: chat, url_secret: chat-url, form: teams, route: {severities: [critical], labels: {team: billing}}}
  team: {kind: mail, host: smtp.example.com, sender: cron@example.com, recipients: [ops@example.com]}
  prometheus: {kind: alertmanager, url: "https://alerts.example.com/?token=${TOKEN:-quiet}"}
webhooks:
  feed: {url: https://feed.example.com/, document: ended-executions}
  ours:
    url: https://ours.example.com/
    document: "subscription($kinds: [EventKind!]) { events(filter: {kinds: $kinds}) { kind } }"
    variables: {kinds: [RUN_CREATED]}
    secrets: [chat-url]
hooks:
  deploy: {job: cleanup_expired_sessions, secrets: [chat-url]}
"""


@pytest.mark.costly
def test_channels_webhooks_and_hooks_are_planned_applied_exported_and_pruned(
    run: Commands, file: Path, tmp_path: Path
) -> None:
    secret = {
        "query": 'mutation { setSecret(input: {name: "chat-url", value: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})'
    }
    secret["query"] += " { errors { message } } }"
    assert post(f"{run.url}/graphql", secret).json()["data"]["setSecret"]["errors"] == []
    text = file.read_text().replace("billing", "notices").replace("nightly", "nightly-2").replace("hourly", "hourly-2")
    file.write_text(text + OTHERS)
    kept = tmp_path / "plan.json"
    status, said = run("plan", str(file), "--out", str(kept), "--detailed-exitcode")
    assert (status, "+ channel chat: create" in said, "3 channels to change" in said) == (6, True, True), said
    assert "quiet" not in said
    answer = run.json("apply", str(kept))
    assert {one["name"]: (one["kind"], one["action"]) for one in answer["definitions"]} == {
        **dict.fromkeys(("chat", "team", "prometheus"), ("CHANNEL", "CREATE")),
        **dict.fromkeys(("feed", "ours"), ("WEBHOOK", "CREATE")),
        "deploy": ("HOOK", "CREATE"),
    }
    assert run("plan", str(file), "--detailed-exitcode")[0] == 0
    status, said = run("plan", str(file), "--out", str(kept), TOKEN="another")
    assert ("~ channel prometheus: change" in said, "another" in said) == (True, False)
    assert run("webhooks", "update", "ours", "--ordered")[0] == 0
    assert "webhook 'ours' has changed since the plan was made" in run("apply", str(kept), TOKEN="another")[1]
    assert "ordered: true -> null" in run("apply", str(file))[1]
    exported = tmp_path / "exported.yaml"
    status, said = run("export", "--set", "notices", "--out", str(exported))
    assert "and 3 channels and 2 webhooks and 1 hook written" in said
    assert run("plan", str(exported), "--detailed-exitcode")[0] == 0, exported.read_text()
    file.write_text(text + OTHERS.replace("{ kind }", "{ kindd }").replace("chat-url, form", "no-url, form"))
    faults = run.json("apply", str(file), status=1)["errors"]
    assert ["Cannot query field" in fault for fault in faults] == [True]
    file.write_text(text + OTHERS.replace("chat-url, form", "no-url, form"))
    assert "secret 'no-url' does not exist" in run.json("apply", str(file), status=1)["errors"][0]
    file.write_text(text + OTHERS.replace("kind: chat", "kind: chatt"))
    assert "channels.chat.kind: " in run.json("apply", str(file), status=2)["errors"][0]
    file.write_text(text + "channels: {}\nwebhooks: {}\nhooks: {}\n")
    assert "1 hook changed, 2 webhooks changed, 3 channels changed" in run("apply", str(file), "--prune")[1]
    assert run.json("channels", "list")["channels"] == []


GROUPS = """
groups:
  mail: {max_running: ${MOST:-3}, rate: {limit: 100, per: 60}, cap: {limit: 50}, keep: 86400}
"""


@pytest.mark.costly
def test_limits_of_groups_are_planned_applied_and_exported(run: Commands, file: Path, tmp_path: Path) -> None:
    file.write_text(GROUPS.replace("${", '"${').replace("3}", '3}"'))
    status, said = run("plan", str(file), "--detailed-exitcode")
    assert status == 6
    for line in (
        "~ mail: change",
        "maxRunning: null -> 3",
        "rate: null -> 100 a minute, 5 at once",
        "cap: null -> 50 waiting, then refuse",
        "keep: null -> 86400.0",
        "Plan: 4 limits of groups to set",
    ):
        assert line in said, said
    assert "Done: 4 limits of groups set" in run("apply", str(file))[1]
    assert run("plan", str(file), "--detailed-exitcode") == (0, "Groups\n  = 1 unchanged\nPlan: nothing to do\n")

    exported = tmp_path / "exported.yaml"
    assert "and the limits of 1 group" in run("export", "--out", str(exported))[1]
    assert run("plan", str(exported), "--detailed-exitcode")[0] == 0
    assert run("export")[1] == exported.read_text()
    alone = tmp_path / "alone.yaml"
    alone.write_text("set: alone\ntasks: {alone: {job: cleanup_expired_sessions, schedule: '0 0 3 * * *'}}\n")
    assert run("apply", str(alone))[0] == 0
    assert run.json("export", "--set", "alone")["groups"] == []
    alone.write_text("set: alone\ntasks: {}\n")
    assert run("apply", str(alone), "--prune", "--allow-delete", "1")[0] == 0

    kept = tmp_path / "plan.json"
    assert "maxRunning: 3 -> 4" in run("plan", str(file), "--out", str(kept), MOST="4")[1]
    assert run("groups", "limit", "mail", "9")[0] == 0
    assert "have changed since the plan was made" in run.json("apply", str(kept), status=1)["errors"][0]
    run("plan", str(file), "--out", str(kept), MOST="4")
    (changed,) = run.json("apply", str(kept))["groups"]
    assert changed["changes"] == [{"field": "maxRunning", "before": 9, "after": 4}]
    file.write_text("groups: {mail: {keep: 0.5}}\n")
    assert "keep" in run.json("plan", str(file), status=1)["errors"][0]
    file.write_text("groups: {mail: {max_running: null, rate: null, cap: null, keep: null}}\n")
    assert len(run.json("apply", str(file))["groups"][0]["changes"]) == 4


def test_limits_and_schedules_of_tasks_are_in_words_and_arguments_are_shown_as_they_are() -> None:
    changes = [
        {"field": "schedule", "before": None, "after": {"syntax": "CRON", "value": "0 0 3 * * *", "timezone": "UTC"}},
        {"field": "rate", "before": {"limit": 10, "per": 60.0, "burst": 2}, "after": None},
        {"field": "args", "before": {"burst": 1}, "after": {"syntax": "x", "whenFull": 2}},
    ]
    task = {"name": "a", "setName": "s", "action": "CHANGE", "version": 1, "changes": changes}
    said = in_words({"planned": [task], "groups": [], "definitions": []}, done=False)
    for line in (
        "schedule: null -> CRON '0 0 3 * * *'",
        "rate: 10 a minute, 2 at once -> null",
        'args: {"burst": 1} -> {"syntax": "x", "whenFull": 2}',
    ):
        assert line in said


@pytest.mark.costly
def test_what_is_wrong_is_reported_and_nothing_is_done(run: Commands, file: Path, tmp_path: Path) -> None:
    file.write_text("set: x\ntasks: {a: {job: nope, schedule: '* * *'}, b: {job: cleanup_expired_sessions}}\n")
    answer = run.json("plan", str(file), status=1)
    assert len(answer["errors"]) == 3
    assert any("Unknown job: nope" in one for one in answer["errors"])
    file.write_text("set: x\ntasks: {a: {jobb: nope}}\n")
    assert run.json("plan", str(file), status=2)["errors"] == [
        f"{file}: line 2: tasks.a.jobb: is unknown; did you mean 'job'?"
    ]
    status, said = run("apply", str(tmp_path / "nothing.yaml"))
    assert (status, "there is no such file" in said, "Traceback" in said) == (2, True, False)
    for text in ("{}", "[" * 100_000):
        (tmp_path / "no-plan.json").write_text(text)
        assert "must be a plan" in run("apply", str(tmp_path / "no-plan.json"))[1]
    file.write_text(FILE)
    assert "cannot write" in run("plan", str(file), "--out", str(tmp_path / "no" / "plan.json"))[1]
    assert "cannot write" in run("export", "--out", str(tmp_path / "no" / "tasks.yaml"))[1]
    assert run.processes.run("plan", str(file), "--url", f"http://127.0.0.1:{free_port()}")[0] == 3


def token_of_ada(processes: ProcessStarter, url: str, role: Role) -> str:
    """Set up a database with the account ``ada``, and return a token of it."""
    assert processes.run("migrate", "--database-url", url)[0] == 0
    database = Database(url)
    database.write_sync(add_account, "ada", role, hashed())
    database.close_sync()
    return processes.run("token", "create", "--user", "ada", "--database-url", url)[1].strip()


@pytest.mark.costly
def test_a_viewer_may_not_apply_nor_signal_nor_change_flows(
    sqlite_url: str, processes: ProcessStarter, file: Path
) -> None:
    token = token_of_ada(processes, sqlite_url, Role.VIEWER)
    server = processes.serve(sqlite_url, auth=True)
    commands = (("apply", str(file)), ("signal", "go", "--run", "1"), ("flows", "cancel", "1"), ("flows", "retry", "1"))
    for env, said in (({"CRONOGRAPH_TOKEN": token}, "OPERATOR"), ({}, "cronograph login")):
        for command in commands:
            status, output = processes.run(*command, "--url", server.url, env=env)
            assert (status, said in output) == (1, True), output


def test_tasks_of_the_server_s_own_files_ask_its_api_as_job_code_does(
    sqlite_url: str, processes: ProcessStarter, file: Path
) -> None:
    server = processes.serve(sqlite_url, "--tasks", str(file), auth=True)
    database = Database(sqlite_url)
    ada = database.write_sync(add_account, "ada", Role.VIEWER, hashed())
    of_ada = {"submitter": "ada", "submitter_id": ada.id}
    database.write_sync(lambda tx: tx.conn.execute(update(periodic_task).values(of_ada)))
    file.write_text(ASKS)
    server.hang_up()

    def asked() -> list[tuple[str | None, str]]:
        # A full hour may have come before the file changed: that run is of another job, and ada's.
        ends = select(run_table.c.submitter, run_table.c.state).where(run_table.c.job_name == "graphql_request")
        return [(row.submitter, row.state) for row in database.write_sync(lambda tx: tx.conn.execute(ends).all())]

    wait_until(lambda: (None, "success") in asked(), message="a task of the file to ask as an administrator")
    assert {submitter for submitter, _ in asked()} == {None}

    def recorded() -> list[str]:
        return database.write_sync(lambda tx: list(tx.conn.execute(select(delivery.c.channel)).scalars()))

    wait_until(lambda: "runs" in recorded(), message="a message of a webhook of the file")
    file.write_text(ASKS.replace("document: runs", "document: '{ tasks { nodes { name } } }'"))
    server.hang_up()
    wait_until(lambda: "webhook 'runs': document: must be a subscription" in server.output(), message="the refusal")
    database.close_sync()


@pytest.mark.costly
def test_who_is_no_administrator_exports_without_channels_and_reads_so(
    sqlite_url: str, processes: ProcessStarter, file: Path
) -> None:
    token = token_of_ada(processes, sqlite_url, Role.OPERATOR)
    file.write_text(FILE + "channels: {prometheus: {kind: alertmanager, url: https://alerts.example.com}}\n")
    server = processes.serve(sqlite_url, "--tasks", str(file), auth=True)
    env = {"CRONOGRAPH_TOKEN": token}
    status, said = processes.run("export", "--url", server.url, env=env)
    assert (status, "channels are left out: only an administrator sees" in said, "alerts.example" in said) == (
        0,
        True,
        False,
    )
    assert processes.run("apply", str(file), "--url", server.url, env=env)[0] == 0
    file.write_text(file.read_text().replace("alerts.", "other."))
    status, said = processes.run("apply", str(file), "--url", server.url, env=env)
    assert (status, "channels: need the role ADMIN" in said) == (1, True)


@pytest.mark.costly
def test_a_server_applies_its_file_at_the_start_and_again_at_sighup(
    database_url: str, processes: ProcessStarter, file: Path
) -> None:
    server = processes.serve(database_url, "--tasks", str(file))
    asked = {"query": '{ tasks(filter: {name: {in: ["nightly", "hourly"]}}) { nodes { name description setName } } }'}

    def tasks() -> dict[str, str]:
        nodes = post(f"{server.url}/graphql", asked).json()["data"]["tasks"]["nodes"]
        assert {one["setName"] for one in nodes} == {"billing"}
        return {one["name"]: one["description"] for one in nodes}

    assert tasks() == {"nightly": "old", "hourly": ""}
    file.write_text(FILE.replace("old", "new"))
    server.hang_up()
    wait_until(lambda: tasks()["nightly"] == "new")
    revised = {"query": '{ revisions(filter: {name: {eq: "nightly"}}) { nodes { actor changes { field after } } } }'}
    changed, made = post(f"{server.url}/graphql", revised).json()["data"]["revisions"]["nodes"]
    assert (changed["actor"], changed["changes"]) == ("file", [{"field": "description", "after": "new"}])
    assert made["actor"] == "file"
    file.write_text(FILE.replace("old", "new") + "groups: {mail: {max_running: 3}}\n")
    server.hang_up()
    limit = {"query": '{ groups(filter: {name: {eq: "mail"}}) { nodes { maxRunning } } }'}
    wait_until(lambda: '"maxRunning":3' in post(f"{server.url}/graphql", limit).text, message="the limit of the group")
    assert "group mail: change (max_running)" in server.output()
    for wrong in ("set: [", "groups: {mail: {keep: 0.5}}", FILE.replace("cleanup_expired_challenges", "nope")):
        file.write_text(wrong)
        before = server.output().count("tasks were not applied")
        server.hang_up()
        wait_until(lambda before=before: server.output().count("tasks were not applied") > before)  # type: ignore[misc]
    assert tasks() == {"nightly": "new", "hourly": ""}
    assert "group 'mail': keep" in server.output()
    assert server.stop() == 0
    status, said = processes.run(
        "serve", "--port", "0", "--no-auth", "--database-url", database_url, "--tasks", str(file)
    )
    assert (status, "task 'hourly': " in said, "Unknown job: nope" in said) == (2, True, True), said
