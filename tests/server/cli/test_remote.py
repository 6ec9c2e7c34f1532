"""The commands that speak to a server, through real processes and one server for all."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.forking import Nursery
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import post

JOBS = """
from cronograph.jobs import JobContext, PermanentFailure, Result, job
from pydantic import BaseModel

class Approval(BaseModel):
    by: str

@job("greet")
async def greet(ctx: JobContext, name: str = "you") -> Result:
    ctx.log.info(f"hello {name}", language="English", words=2)
    ctx.progress(1, 2, "half")
    return Result(value=f"hello {name}")

@job("broken", retries=0)
async def broken() -> None:
    raise PermanentFailure("no luck")

@job("ship")
async def ship(ctx: JobContext) -> Result:
    return Result(value=(await ctx.wait_for("approved", Approval)).by)

@job("hourly", schedule="0 0 * * * *")
async def hourly() -> None: ...
"""


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CronographProcess]:
    folder = tmp_path_factory.mktemp("remote")
    (folder / "remote_jobs.py").write_text(JOBS)
    starter = ProcessStarter(folder, nursery)
    yield starter.serve(f"sqlite:///{folder}/x.db", "--jobs", "remote_jobs", "--node-name", "n1")
    starter.end_all()


class Commands:
    """Commands that speak to the server of this module."""

    def __init__(self, processes: ProcessStarter, url: str) -> None:
        self.processes = processes
        self.url = url

    def __call__(self, *words: str) -> tuple[int, str]:
        status, said = self.processes.run(*words, "--url", self.url)
        assert "Traceback" not in said
        return status, said

    def json(self, *words: str, status: int = 0) -> dict[str, Any]:
        found, said = self(*words, "--json")
        assert found == status, said
        answer: dict[str, Any] = json.loads(said)
        assert answer["ok"] is (status == 0)
        return answer


@pytest.fixture
def run(processes: ProcessStarter, server: CronographProcess) -> Commands:
    return Commands(processes, server.url)


@pytest.mark.costly
def test_a_run_is_enqueued_waited_for_and_looked_at(run: Commands) -> None:
    ended = run.json("enqueue", "greet", "name=ada", "--wait")["run"]
    assert (ended["state"], ended["result"], ended["args"]) == ("SUCCESS", "hello ada", {"name": "ada"})
    key = ended["id"]
    assert "hello ada  language=English  words=2" in run("logs", key, "-f")[1]
    (line,) = run("logs", key, "--json")[1].splitlines()
    assert json.loads(line)["message"] == "hello ada"
    assert "1 line found among" in run("logs", key, "--search", "HELLO")[1]
    found = run("logs", "--job", "greet", "--search", "o ada", "--since", "1h", "--json")[1].splitlines()
    match, end = json.loads(found[0]), json.loads(found[-1])
    assert (match["message"], match["line"], end["hasMore"]) == ("hello ada", 1, False)
    assert "execution" in end["sentence"]
    assert run.json("runs", "show", key)["run"]["id"] == key
    assert run.json("runs", "explain", key)["explain"]["code"] == "SUCCESS"
    status, said = run("runs", "list", "--filter", "job_name=greet", "--columns", "id,state,group", "--sort", "-id")
    assert (status, said.splitlines()[0].split(), said.splitlines()[1].split()) == (
        0,
        ["ID", "STATE", "GROUP"],
        [key, "SUCCESS", "default"],
    )
    executions = run.json("log", "--filter", f"run_id={key}")["executions"]
    assert [(one["jobName"], one["outcome"]) for one in executions] == [("greet", "SUCCESS")]
    again = run.json("runs", "retry", key, "--args", '{"name": "bob"}', "--wait")["run"]
    assert again["result"] == "hello bob"


@pytest.mark.costly
def test_a_trigger_of_a_job_says_that_there_is_a_task_of_that_name(run: Commands) -> None:
    status, said = run("trigger", "hourly")
    assert (status, "Job hourly triggered" in said, "trigger --task hourly" in said) == (0, True, True), said
    assert "trigger --task" not in run("trigger", "broken")[1]


@pytest.mark.costly
def test_a_run_that_fails_ends_the_wait_with_status_1(run: Commands) -> None:
    status, said = run("trigger", "broken", "--wait")
    assert (status, "ended: failed: no luck" in said) == (1, True), said
    failed = run.json("log", "--failed")["executions"]
    assert {one["errorMessage"] for one in failed} == {"no luck"}


def test_many_runs_are_chosen_by_filter_and_counted_first(run: Commands) -> None:
    for _ in range(2):
        assert run("enqueue", "greet", "--at", "2090-01-01T00:00:00Z", "--group", "later", "--priority", "high")[0] == 0
    status, said = run("runs", "priority", "low", "--filter", "group=later")
    assert (status, "2 runs match" in said, "2 runs now of priority LOW" in said) == (0, True, True), said
    assert run.json("runs", "cancel", "--filter", "group=later", "--filter", "state=waiting")["count"] == 2
    assert run.json("runs", "list", "--filter", "group=later")["runs"][0]["state"] == "CANCELLED"


@pytest.mark.parametrize(
    "words",
    [
        ("enqueue", "greet", "--at", "5m"),
        ("enqueue", "greet", "--expires-at", "5m"),
        ("groups", "pause", "g", "--resume-at", "5m"),
        ("tasks", "pause", "hourly", "--resume-at", "5m"),
        ("tasks", "update", "hourly", "endAt=5m"),
        ("tasks", "create", "t", "greet", "@daily", "start_at=5m"),
        ("alarms", "silence", "a", "5m"),
        ("failures", "silence", "f", "5m"),
    ],
)
def test_a_request_that_may_be_repeated_has_times_that_stay_the_same(run: Commands, words: tuple[str, ...]) -> None:
    status, said = run(*words, "--idempotency-key", "k")
    assert (status, "a repetition would be another request" in said) == (2, True), said
    at = [word.replace("5m", "2090-01-01T00:00:00Z") for word in words]
    assert "another request" not in run(*at, "--idempotency-key", f"at {words}")[1]


@pytest.mark.costly
def test_what_is_enqueued_may_expire_and_its_key_may_hold(run: Commands) -> None:
    expiring = run.json("enqueue", "greet", "--ttl", "10m", "--group", "paused", "--at", "2090-01-01T00:00:00Z")["run"]
    assert run.json("runs", "show", expiring["id"])["run"]["expiresAt"] == "2090-01-01T00:10:00Z"
    debounced = [
        run.json("enqueue", "greet", f"name={name}", "--key", "d", "--debounce", "1h/2h")["run"] for name in ("a", "b")
    ]
    assert [one["isDeduplicated"] for one in debounced] == [False, True]
    assert run.json("runs", "show", debounced[0]["id"])["run"]["args"] == {"name": "b"}
    for options in (("--unique-for", "1h"), ("--throttle", "1h"), ("--unique-for", "1h", "--unique-until-start")):
        words = ("enqueue", "greet", "--key", "-".join(options), *options)
        assert run.json(*words)["run"]["id"] == run.json(*words)["run"]["id"]
    last = ("enqueue", "greet", "--key", "last", "--throttle", "1h", "--throttle-last", "--wait")
    assert run.json(*last)["run"]["state"] == "SUCCESS"
    assert "--expires-at" in run("enqueue", "--help")[1]


@pytest.mark.costly
def test_a_dry_run_says_what_would_become_of_it_and_does_nothing(run: Commands) -> None:
    assert run("groups", "cap", "tried", "1")[0] == 0
    enqueue = ("enqueue", "greet", "--group", "tried", "--at", "2090-01-01T00:00:00Z")
    status, said = run(*enqueue, "--dry-run")
    assert (status, said.splitlines()[0]) == (0, "1 run would be enqueued."), said
    assert "It was enqueued for 2090-01-01" in said
    assert run.json("runs", "list", "--filter", "group=tried")["runs"] == []
    waiting = run.json(*enqueue, "--key", "tried")["run"]["id"]
    (full,) = run.json(*enqueue, "--dry-run")["preview"]["runs"]
    assert (full["outcome"], "group 'tried' may have 1 run waiting" in full["sentence"]) == ("REFUSED", True)
    (held,) = run.json("trigger", "greet", "--unique-key", "tried", "--dry-run")["preview"]["runs"]
    assert (held["outcome"], held["standsForId"]) == ("DEDUPLICATED", waiting)
    made = ("tasks", "create", "tried", "greet", "0 0 3 * * *", "group=tried", "--dry-run")
    assert run.json(*made)["preview"]["runs"][0]["outcome"] == "REFUSED"
    assert run("tasks", "show", "tried")[0] == 1
    assert run.json("runs", "cancel", waiting)["count"] == 1
    assert run.json("runs", "retry", waiting, "--dry-run")["preview"]["sentence"] == "1 run would be enqueued."
    assert run("runs", "retry", waiting, "--dry-run", "--wait")[0] == 2


@pytest.mark.costly
def test_a_change_can_be_tried_repeated_and_bound_to_a_version(run: Commands) -> None:
    status, said = run("groups", "pause", "bound", "--dry-run")
    assert (status, said.strip()) == (0, "Nothing was changed; it would be: Group bound paused")
    assert run.json("groups", "list", "--filter", "name=bound")["groups"] == []
    made = run.json("tasks", "create", "bound", "greet", "0 0 3 * * *", "--idempotency-key", "bound")["task"]
    again = run.json("tasks", "create", "bound", "greet", "0 0 3 * * *", "--idempotency-key", "bound")["task"]
    assert (again["id"], again["version"]) == (made["id"], 1)
    status, said = run("tasks", "pause", "bound", "--expected-version", "7")
    assert (status, "VERSION_CONFLICT" in said) == (1, True)
    assert run.json("tasks", "pause", "bound", "--expected-version", "1")["task"]["version"] == 2
    waiting = run.json("enqueue", "greet", "--group", "bound", "--at", "2090-01-01T00:00:00Z")["run"]["id"]
    assert run.json("runs", "cancel", "--filter", "group=bound", "--dry-run")["count"] == 1
    assert run.json("runs", "show", waiting)["run"]["state"] == "WAITING"


def test_tasks_have_labels_that_are_edited_and_found(run: Commands) -> None:
    made = run.json("tasks", "create", "labelled", "greet", "0 0 3 * * *", 'labels={"team":"a"}')
    assert made["task"]["name"] == "labelled"
    assert run.json("tasks", "update", "labelled", 'labels={"team":"b"}')["task"]["name"] == "labelled"
    listed = [run.json("tasks", "list", "--filter", f"labels.team={team}")["tasks"] for team in "ab"]
    assert [[one["name"] for one in each] for each in listed] == [[], ["labelled"]]
    assert run("tasks", "delete", "labelled")[0] == 0


FLOW = """mutation { enqueueFlow(input: { name: "orders", runs: [
  { key: "a", jobName: "greet" }, { key: "b", jobName: "broken", after: ["a"] },
  { key: "c", jobName: "greet", after: ["b"] }
] }) { flow { id } errors { message } } }"""


@pytest.mark.costly
def test_a_flow_is_listed_shown_retried_and_cancelled(run: Commands) -> None:
    key = post(f"{run.url}/graphql", {"query": FLOW}).json()["data"]["enqueueFlow"]["flow"]["id"]

    def state() -> str:
        found: str = run.json("flows", "show", key)["flow"]["state"]
        return found

    wait_until(lambda: state() == "FAILED", 20, "the flow to end")
    listed = run.json("flows", "list", "--filter", "state=failed", "--sort", "-id")["flows"]
    assert [(one["id"], one["name"], one["progress"]["skipped"]) for one in listed] == [(key, "orders", 1)]
    status, said = run("flows", "show", key)
    assert (status, "b: FAILED" in said, "c: SKIPPED" in said, "after b" in said) == (0, True, True, True), said
    assert run.json("flows", "retry", key)["flow"]["state"] == "RUNNING"
    wait_until(lambda: state() == "FAILED", 20, "the flow to end again")
    first = run.json("flows", "show", key)["flow"]["runs"][0]["id"]
    assert "name it by --from-run" in run.json("flows", "retry", key, "--args", "{}", status=2)["errors"][0]
    again = run.json("flows", "retry", key, "--from-run", first, "--args", "{}")["flow"]
    assert (again["state"], again["progress"]["done"]) == ("RUNNING", 0)
    wait_until(lambda: state() == "FAILED", 20, "the flow to end once more")
    assert "it is FAILED" in run("flows", "cancel", key, "--reason", "enough")[1]
    for command in ("show", "cancel", "retry"):
        assert "999999" in run.json("flows", command, "999999", status=1)["errors"][0]


@pytest.mark.costly
def test_a_signal_is_sent_to_a_run_that_waits_for_it(run: Commands) -> None:
    key = run.json("enqueue", "ship", "--key", "order-7")["run"]["id"]
    wait_until(lambda: run.json("runs", "show", key)["run"]["state"] == "SUSPENDED", 20, "the run to wait")
    signal = ("signal", "approved", "--run", key)
    assert "'by' is a required property" in run.json(*signal, "--payload", "{}", status=1)["errors"][0]
    answered = run.json("signal", "approved", "--unique-key", "order-7", "--payload", '{"by": "ada"}')
    assert answered["run"]["id"] == int(key)
    wait_until(lambda: run.json("runs", "show", key)["run"]["result"] == "ada", 20, "the run to go on")
    assert "nobody would take the signal" in run.json(*signal, status=1)["errors"][0]
    unknown = run.json("runs", "retry", key, "--from-step", "aproved", status=1)["errors"][0]
    assert "did you mean 'approved'?" in unknown
    again = run.json("runs", "retry", key, "--from-step", "approved")["run"]["id"]
    wait_until(lambda: run.json("runs", "show", again)["run"]["state"] == "SUSPENDED", 20, "the new run to wait")


@pytest.mark.costly
def test_tasks_groups_nodes_and_figures(run: Commands) -> None:
    assert run.json("tasks", "pause", "hourly", "--reason", "later")["task"]["pauseReason"] == "later"
    assert run.json("tasks", "explain", "hourly")["explain"]["code"] == "PAUSED"
    assert run.json("tasks", "resume", "hourly")["task"]["isEnabled"] is True
    assert len(run.json("tasks", "next", "hourly", "--count", "3")["nextExecutions"]) == 3
    assert "hourly" in run("tasks", "show", "hourly")[1]
    names = [one["name"] for one in run.json("tasks", "list", "--filter", "source=code", "--sort", "name")["tasks"]]
    assert "hourly" in names
    assert names == sorted(names)
    assert run.json("tasks", "delete", "hourly", status=1)["errors"][0].endswith("(CODE_TASK)")

    assert run.json("groups", "limit", "slow", "3")["group"]["maxRunning"] == 3
    assert run.json("groups", "ageing", "slow", "10m")["group"]["maxWaitLow"] == 600.0
    assert "Group slow: low priority waits 1 min at most" in run("groups", "ageing", "slow", "60")[1]
    assert run.json("groups", "ageing", "slow", "none")["group"]["maxWaitLow"] is None
    assert run.json("groups", "keep", "slow", "7d")["group"]["keep"] == 7 * 86400.0
    assert run.json("groups", "keep", "slow", "none")["group"]["keep"] is None
    rated = run.json("groups", "rate", "slow", "100/1m", "--burst", "7")["group"]
    assert rated["rate"] == {"limit": 100, "per": 60.0, "burst": 7}
    assert run.json("groups", "rate", "slow", "5/s")["group"]["rate"] == {"limit": 5, "per": 1.0, "burst": 1}
    assert run.json("groups", "rate", "slow", "none")["group"]["rate"] is None
    capped = run.json("groups", "cap", "slow", "500", "--when-full", "drop-oldest")["group"]
    assert capped["cap"] == {"limit": 500, "whenFull": "DROP_OLDEST"}
    assert run.json("groups", "cap", "slow", "none")["group"]["cap"] is None
    assert run.json("groups", "pause", "slow")["group"]["isPaused"] is True
    assert run.json("groups", "resume", "slow")["group"]["isPaused"] is False
    assert "slow" in run("groups", "list")[1]
    assert [one["name"] for one in run.json("nodes", "list")["nodes"]] == ["n1"]
    assert run.json("stats")["overview"]["liveNodes"] == 1


def test_events_are_read_from_a_cursor_on(run: Commands) -> None:
    cursor = post(f"{run.url}/graphql", {"query": "{ asOf }"}).json()["data"]["asOf"]
    assert run("enqueue", "greet")[0] == 0
    first = json.loads(run("events", "--after", cursor, "--limit", "1", "--json")[1])
    rest = run("events", "--after", first["cursor"], "--limit", "3", "--json")[1].splitlines()
    assert len({json.loads(one)["cursor"] for one in rest} | {first["cursor"]}) == 4


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "show", "999999"), "run 999999 does not exist"),
        (("tasks", "show", "nope"), "task 'nope' does not exist"),
        (("logs", "999999"), "run 999999 does not exist"),
        (("logs", "--execution", "999999"), "execution 999999 does not exist"),
        (("logs", "--job", "greet", "--search", ""), "text: must have 1 to 200 characters, got 0"),
        (("enqueue", "nope"), "Unknown job: nope"),
        (("trigger", "nope"), "Unknown job: nope"),
        (("nodes", "drain", "nope"), "NOT_FOUND"),
        (("nodes", "resume", "nope"), "NOT_FOUND"),
        (("groups", "resume", ""), "(INVALID_INPUT)"),
        (("enqueue", "greet", "--debounce", "5s", "--throttle", "5s"), "debounce: contradicts throttle"),
        (("signal", "approved", "--run", "999999"), "999999"),
        (("signal", "approved", "--unique-key", "nope"), "nope"),
        (("signal", "a#2", "--run", "999999"), "name must not contain '#'"),
        (("signal", "approved", "--run", "999999", "--payload", '"\\u0000"'), "payload: must not contain U+0000"),
        (("tasks", "pause", "nope", "--resume-at", "1h"), "task 'nope' does not exist"),
        (("tasks", "pause", "nope", "--resume-at", "2030-01-01"), "resumeAt: must be an RFC 3339 time with a zone"),
        (("webhooks", "deliveries", "nope"), "webhook 'nope' does not exist; `cronograph webhooks list` shows"),
        (("export", "--set", "nope"), "set 'nope' does not exist"),
        (("failures", "list", "--job", "nope"), "job 'nope' does not exist; `cronograph jobs list` shows"),
        (("logs", "--job", "nope", "--search", "x"), "job 'nope' does not exist; `cronograph jobs list` shows"),
        (("logs", "--task", "nope", "--search", "x"), "task 'nope' does not exist; `cronograph tasks list` shows"),
        (("groups", "cap", "slow", "0"), "cap.limit: must be a whole number of waiting runs from 1 to 100,000, got 0"),
    ],
)
def test_what_the_server_does_not_know_is_refused(run: Commands, words: tuple[str, ...], said: str) -> None:
    assert said in run.json(*words, status=1)["errors"][0]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "list", "--filter", "color=red"), "there is no field 'color'"),
        (("runs", "list", "--filter", "nonsense"), "write field=value"),
        (("runs", "list", "--filter", "attempt=many"), "attempt must be a number"),
        (("runs", "list", "--columns", "color"), "there is no column 'color'"),
        (("runs", "list", "--sort", "color"), "cannot sort by 'color'"),
        (("runs", "cancel"), "name the runs by their ids"),
        (("runs", "retry", "1", "2", "--wait"), "are for one run"),
        (("runs", "retry", "1", "2", "--from-step", "a"), "are for one run"),
        (("runs", "priority", "middle", "1"), "must be high or low"),
        (("enqueue", "greet", "ada"), "write name=value, e.g. days=7"),
        (("enqueue", "greet", "--args", "[1]"), "must be a JSON object"),
        (("enqueue", "greet", "--args", "{"), "must be a JSON object"),
        (("enqueue", "greet", "name=NaN"), "args.name: must be a finite number, got nan"),
        (("enqueue", "greet", "--args", '{"name": "\\ud800"}'), "args.name: must be a text that UTF-8 can write"),
        (("enqueue", "greet", "--ttl", "soon"), "--ttl: must be a duration such as 90s"),
        (("enqueue", "greet", "--debounce", "5s/"), "--debounce: must be a duration"),
        (("enqueue", "greet", "--throttle-last"), "--throttle-last: is for --throttle"),
        (("tasks", "list", "--filter", "labels=a"), "say which, e.g. labels.customer=42"),
        (("groups", "limit", "slow", "many"), "must be a whole number"),
        (("groups", "limit", "slow", "9" * 5000), "must be a whole number"),
        (("groups", "ageing", "slow", "long"), "the time must be written e.g. `90s` or `10m`"),
        (("groups", "keep", "slow", "long"), "the time must be written e.g. `7d` or `12h`"),
        (("signal", "approved"), "name the run by one of the two"),
        (("signal", "approved", "--run", "1", "--payload", "{"), "--payload"),
        (("signal", "approved", "--run", "1", "--payload", "NaN"), "--payload"),
        (("groups", "cap", "slow", "many"), "the cap must be a whole number or `none`, got 'many'"),
        (("groups", "cap", "slow", "5", "--when-full", "x"), "--when-full must be one of refuse, drop_oldest"),
        (("groups", "rate", "slow", "many"), "must be written as a number of runs and a time, e.g. `100/1m`"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(run: Commands, words: tuple[str, ...], said: str) -> None:
    assert said in run.json(*words, status=2)["errors"][0]


WAITS = """
import time
from pathlib import Path
from cronograph.jobs import job

@job("until_there")
def until_there(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)
"""


@pytest.mark.costly
def test_a_node_is_waited_for_until_it_executes_nothing(processes: ProcessStarter, sqlite_url: str) -> None:
    (processes.folder / "waiting_jobs.py").write_text(WAITS)
    server = processes.serve(sqlite_url, "--node-name", "busy", "--jobs", "waiting_jobs")
    run = Commands(processes, server.url)
    run("trigger", "until_there", "--args", json.dumps({"path": str(processes.folder / "there")}))
    wait_until(lambda: run.json("nodes", "list")["nodes"][0]["running"] == 1, message="the run to begin")
    status, said = run("nodes", "wait-idle", "busy", "--timeout", "0")
    assert (status, said.strip()) == (1, "Node busy still executes 1 run")
    (processes.folder / "there").touch()
    assert run.json("nodes", "wait-idle", "busy")["node"]["running"] == 0
    status, said = run("nodes", "wait-idle", "nope")
    assert status == 1
    assert "there is no node 'nope'; `cronograph nodes list` has them" in said


def test_a_drained_node_ends(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url, "--node-name", "old")
    assert Commands(processes, server.url).json("nodes", "drain", "old")["node"]["name"] == "old"
    wait_until(lambda: not server.running)
    assert server.wait() == 0


def test_a_schedule_is_said_in_words_without_a_server(processes: ProcessStarter) -> None:
    status, said = processes.run("schedule", "0 0 3 * * *", "--count", "2")
    assert (status, len(said.splitlines())) == (0, 3)
    assert json.loads(processes.run("schedule", "90s", "--syntax", "interval", "--json")[1])["ok"] is True
    status, said = processes.run("schedule", "* * * * *")
    assert (status, "error: " in said) == (1, True)
    assert processes.run("schedule", "x", "--syntax", "nope")[0] == 2


@pytest.mark.costly
def test_a_task_is_made_and_changed(run: Commands) -> None:
    made = run.json(
        "tasks", "create", "t1", "greet", "0 0 3 * * *", "retries=5", "priority=high", "--args", '{"name": "a"}'
    )
    task = made["task"]
    assert (task["jobName"], task["priority"], task["args"]) == ("greet", "HIGH", {"name": "a"})
    assert task["schedule"]["value"] == "0 0 3 * * *"

    words = ("misfire-grace=9", "description=Says hello", "--schedule", "Mon..Fri 09:00", "--syntax", "calendar")
    changed = run.json("tasks", "update", "t1", *words, "--timezone", "Europe/Berlin")["task"]
    assert (changed["description"], changed["version"], changed["priority"]) == ("Says hello", 2, "HIGH")
    assert changed["schedule"]["timezone"] == "Europe/Berlin"
    assert run.json("tasks", "update", "t1", "priority=null")["task"]["priority"] == "LOW"
    rated = run.json("tasks", "update", "t1", "rate=100/1m")["task"]
    assert rated["rate"] == {"limit": 100, "per": 60.0, "burst": 5}
    assert run.json("tasks", "update", "t1", "rate=null")["task"]["rate"] is None
    assert "rate: must be at least one a day, got 1 in 172,800 s" in run("tasks", "update", "t1", "rate=1/2d")[1]
    assert "Task t1 changed; next: 20" in run("tasks", "update", "t1", "retries=1")[1]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("create", "t2", "greet", "nonsense"), 1, "it must have six"),
        (("create", "t2", "gret", "0 0 3 * * *"), 1, "did you mean 'greet'"),
        (("create", "t2", "greet", "0 0 3 * * *", "retires=5"), 1, "retires"),
        (("create", "t2", "greet", "0 0 3 * * *", "--syntax", "quartz"), 1, "QUARTZ"),
        (("create", "t2", "greet", "0 0 3 * * *", "retries"), 2, "write name=value, e.g. retries=3"),
        (("create", "t2", "greet", "0 0 3 * * *", "retries=1", "retries=2"), 2, "given twice"),
        (("update", "hourly"), 2, "nothing to change"),
        (("update", "hourly", "--timezone", "UTC"), 2, "give it too"),
        (("update", "nobody", "retries=1"), 1, "does not exist"),
    ],
)
def test_a_task_that_cannot_be_made_or_changed(run: Commands, words: tuple[str, ...], status: int, says: str) -> None:
    found, said = run("tasks", *words)
    assert (found, says in said) == (status, True), said
    assert run("tasks", "show", "t2")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "logs: give one of RUN, --job and --task"),
        (("1", "--job", "greet", "--search", "x"), "logs: give one of RUN, --job and --task"),
        (("--job", "greet"), "--job, --task and --since need --search TEXT"),
        (("1", "-f", "--search", "x"), "it does not go with --follow"),
        (("1e9", "--execution"), "the id of an execution must be a number, got '1e9'"),
        (("--job", "greet", "--search", "x", "--since", "ages"), "--since: must be a time such as"),
    ],
)
def test_logs_say_what_does_not_go_together(run: Commands, words: tuple[str, ...], said: str) -> None:
    status, answer = run("logs", *words)
    assert status == 2
    assert said in answer
