"""Every command through a real process: its good way, and what it says when it cannot; one server for all."""

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from cronograph.server.cli import application
from tests.generation.cli_answers import published
from tests.server.cli.answers import fault
from tests.support.forking import Nursery
from tests.support.ports import free_port
from tests.support.processes import COMMAND, CronographProcess, ProcessStarter
from tests.support.sources import ROOT
from tests.support.waiting import wait_until
from tests.support.web import open_client

pytestmark = pytest.mark.timeout(180)

Answers = Iterator[tuple[str, int, str]]
AT_ONCE = 4
"""Processes at once."""
JOBS = """
import asyncio

from cronograph.jobs import JobContext, PermanentFailure, Rate, Result, job

@job("greet")
async def greet(ctx: JobContext, name: str = "you") -> Result:
    ctx.log.info("hello")
    return Result(value=f"hello {name}")

@job("broken", retries=0)
async def broken() -> None:
    raise PermanentFailure("no luck")

@job("patient")
async def patient(ctx: JobContext) -> None:
    await ctx.wait_for("go")

@job("paced", rate=Rate(5))
async def paced() -> None:
    pass

@job("long")
async def long(ctx: JobContext) -> None:
    while not ctx.should_stop:
        await asyncio.sleep(0.05)
"""
TASKS = 'set: billing\ntasks:\n  nightly: {job: greet, schedule: "0 0 3 * * *"}\n'
FLOW = """mutation { enqueueFlow(input: { name: "orders", runs: [
  { key: "a", jobName: "greet" }, { key: "b", jobName: "broken", after: ["a"] }
] }) { flow { id } errors { message } } }"""


@dataclass(frozen=True)
class Row:
    """A command.

    Attributes:
        good: Words after its name with which it does what it should; `{…}` stands for what was made before.
        unknown: Words with something that is not there.
        status: What the command ends with then: refused by the server, or wrong usage.
        stdin: What it reads.
        changes: Whether a viewer may not do it.
    """

    good: str
    unknown: str
    status: int = 1
    stdin: str | None = None
    changes: bool = True


def reads(good: str, unknown: str, status: int = 1) -> Row:
    return Row(good, unknown, status, changes=False)


LISTED = reads("--limit 3", "--filter colour=red", 2)
# In the order in which they are run.
REMOTE: dict[str, Row] = {
    "enqueue": Row("greet name=ada --wait", "nope"),
    "trigger": Row("greet --wait", "nope"),
    "runs list": LISTED,
    "runs show": reads("{done}", "999999"),
    "runs explain": reads("{done}", "999999"),
    "runs retry": Row("{done}", "999999"),
    "runs priority": Row("high {later}", "middle 1", 2),
    "runs cancel": Row("{later}", "--filter colour=red", 2),
    "signal": Row("go --run {patient}", "go --run 999999"),
    "logs": reads("{done}", "999999"),
    "log": LISTED,
    "events": reads("--after {cursor}", "--after nonsense"),
    "flows list": LISTED,
    "flows show": reads("{flow}", "999999"),
    "flows retry": Row("{flow}", "999999"),
    "flows cancel": Row("{flow}", "999999"),
    "groups list": LISTED,
    "groups limit": Row("slow 3", "slow many", 2),
    "groups ageing": Row("slow 10m", "slow long", 2),
    "groups keep": Row("slow 7d", "slow long", 2),
    "groups cap": Row("slow 50", "slow many", 2),
    "groups rate": Row("slow 100/1m", "slow many", 2),
    "groups pause": Row("slow --resume-at 2h", "slow --resume-at later", 2),
    "groups resume": Row("slow", "slow --colour red", 2),
    "jobs list": LISTED,
    "jobs rate": Row("paced 100/1m", "greet 100/1m"),
    "nodes list": LISTED,
    "nodes drain": Row("n1", "nope"),
    "nodes resume": Row("n1", "nope"),
    "top": reads("", "--colour red", 2),
    "stats": reads("", "--colour red", 2),
    "whoami": reads("", "--colour red", 2),
    "logout": reads("", "--colour red", 2),
    "plan": Row("tasks.yaml", "nope.yaml", 2),
    "apply": Row("tasks.yaml", "nope.yaml", 2),
    "export": reads("", "--set nope"),
    "tasks create": Row("made greet '0 0 4 * * *'", "made nope '0 0 4 * * *'"),
    "tasks list": LISTED,
    "tasks show": reads("nightly", "nope"),
    "tasks explain": reads("nightly", "nope"),
    "tasks next": reads("nightly", "nope"),
    "tasks update": Row("nightly retries=2 timeout=5m startAt=1h", "nope retries=2"),
    "tasks pause": Row("nightly --resume-at 2h", "nope --resume-at 2h"),
    "tasks resume": Row("nightly", "nope"),
    "tasks delete": Row("made", "nope"),
    "channels set": Row("am kind=alertmanager url=https://alerts.example.com", "any kind=apprise url_secret=nope"),
    "channels list": LISTED,
    "channels deliveries": LISTED,
    "channels delete": Row("am", "nope"),
    "addresses create": Row("calendar", "ping --task nope"),
    "addresses list": LISTED,
    "addresses delete": Row("1", "999999"),
    "hooks create": Row("push greet --kind github --secret hook", "push nope --secret hook"),
    "hooks list": LISTED,
    "hooks update": Row("push --disable", "nope --disable"),
    "hooks delete": Row("push", "nope"),
    "webhooks create": Row(
        "feed https://example.com/hook --secret hook --ordered", "feed https://example.com/hook --secret nope"
    ),
    "webhooks list": LISTED,
    "webhooks deliveries": reads("feed --limit 3", "nope"),
    "webhooks redeliver": Row("feed --after 1.0", "nope --after 1.0"),
    "webhooks resume": Row("feed", "nope"),
    "webhooks update": Row("feed --document runs --disable", "nope --disable"),
    "webhooks delete": Row("feed", "nope"),
    "failures list": reads("--since 1h --state open", "--job nope"),
    "failures silence": Row("{failure} 1h --reason quiet", "0123456789abcdef 1h"),
    "failures solve": Row("{failure}", "0123456789abcdef"),
    "failures reopen": Row("{failure}", "0123456789abcdef"),
    "alarms create": Row("failing job=greet failing=3", "late task=nope late=5m"),
    "alarms list": LISTED,
    "alarms firings": LISTED,
    "alarms disable": Row("failing", "nope"),
    "alarms enable": Row("failing", "nope"),
    "alarms silence": Row("failing 1h --reason quiet", "nope 1h"),
    "alarms acknowledge": Row("--all", "999999"),
    "alarms delete": Row("failing", "nope"),
}
LOCAL: dict[str, Row] = {
    "user add": Row("bob --role viewer", "bob --role king", 2),
    "user list": Row("", "--colour red", 2),
    "user role": Row("bob operator", "nobody operator"),
    "user password": Row("bob --password-stdin", "nobody --password-stdin", 2, stdin="correct horse battery staple\n"),
    "user disable": Row("bob", "nobody"),
    "user enable": Row("bob", "nobody"),
    "user link": Row("bob", "nobody"),
    "token create": Row("--user bob --days 3", "--user nobody"),
    "token list": Row("", "--user nobody"),
    "token revoke": Row("{token}", "999999"),
    "secret set": Row("mail", "mail", 1, stdin="geheim\n"),
    "secret list": Row("", "--colour red", 2),
    "secret rotate-key": Row("", "--colour red", 2),
    "secret delete": Row("mail", "nope"),
    "audit verify": Row("", "--expect nope"),
    "audit export": Row("", "--colour red", 2),
    "backup": Row("{folder}/b.db", "{folder}/nowhere/b.db", 2),
    "doctor": Row("", "--colour red", 2),
    "migrate": Row("--database-url sqlite:///{folder}/new.db", "--colour red", 2),
    "check": Row("--no-auth --port 0", "--jobs nope --port 0", 2),
    "sql": Row("", "nope"),
}
ALONE: dict[str, Row] = {
    "executors": Row("", "--colour red", 2),
    "import": Row("crontab {folder}/crontab --timezone UTC", "at {folder}/crontab", 2),
    "schedule": Row("'0 0 3 * * *'", "'* * * * *'"),
    "schema": Row("", "--colour red", 2),
    "secret new-key": Row("", "--colour red", 2),
    "version": Row("", "--colour red", 2),
}
"""Those that need neither a server nor a database."""
ELSEWHERE = {
    "bench": "tests/server/test_trial.py",
    "exec": "tests/server/cli/test_exec.py, with commands",
    "login": "tests/server/auth lets a terminal in by a browser",
    "serve": "its line is read from the server of this module",
    "worker": "tests/server/test_worker.py",
    "demo": "answers as `serve` does",
    "nodes wait-idle": "tests/server/cli/test_remote.py, with a job that goes on",
    "alarms deliveries": "tests/server/test_alarms.py, of a firing",
    "channels test": "tests/server/test_alarms.py, with a receiver",
    "channels redeliver": "tests/server/test_alarms.py, after a delivery",
}


def names_of_commands() -> Iterator[str]:
    group: Any = typer.main.get_command(application())
    for name, command in group.commands.items():
        below = getattr(command, "commands", None)
        yield from [name] if below is None else (f"{name} {one}" for one in below)


@dataclass
class Stage:
    """The server, and how commands are run.

    Attributes:
        processes: Starts them.
        server: With sign-in; its node is `n1`.
        database: Its address.
        tokens: By role.
        made: What was made before, by the name in the table.
    """

    processes: ProcessStarter
    server: CronographProcess
    database: str
    tokens: dict[str, str]
    made: dict[str, str]

    def words(self, command: str, words: str) -> list[str]:
        filled = words.format(**self.made) if "{" in words else words
        return [*command.split(), *shlex.split(filled), "--json"]

    def ask(self, document: str) -> Any:
        with open_client(self.server.url, headers={"Authorization": f"Bearer {self.tokens['admin']}"}) as client:
            return client.post("/graphql", json={"query": document}).json()["data"]

    def run_all(self, commands: Mapping[str, list[str]], env: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """Each command with its exit status and what it said; some at once."""
        left = list(commands.items())
        while left:
            now, left = left[:AT_ONCE], left[AT_ONCE:]
            started = [(name, self.processes.start(*words, env=env)) for name, words in now]
            for name, process in started:
                yield name, process.wait(60), process.output()


@pytest.fixture(scope="module")
def stage(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("every")
    (folder / "every_jobs.py").write_text(JOBS)
    (folder / "tasks.yaml").write_text(TASKS)
    (folder / "crontab").write_text("0 4 * * 1 backup\n0 4 31 2 * never\n")
    database = f"sqlite:///{folder}/x.db"
    tokens: dict[str, str] = {}
    for role in ("admin", "viewer"):
        where = ["--database-url", database]
        assert local("user", "add", role, "--role", role, *where, "--create")
        tokens[role] = local("token", "create", "--user", role, *where).strip()
    starter = ProcessStarter(folder, nursery)
    server = starter.serve(database, "--jobs", "every_jobs", "--node-name", "n1", "--json", auth=True)
    stage = Stage(starter, server, database, tokens, {"folder": str(folder)})
    prepare(stage)
    yield stage
    starter.end_all()


def local(*words: str) -> str:
    done = CliRunner().invoke(application((words[0],)), list(words))
    assert done.exit_code == 0, done.output
    return done.output


def prepare(stage: Stage) -> None:
    """Make what the commands are about."""
    document = """mutation { enqueueRuns(input: { runs: [{ jobName: "greet" }, { jobName: "patient" },
        { jobName: "greet", runAt: "2090-01-01T00:00:00Z" }, { jobName: "long" }] })
        { runs { id } errors { message } } }"""
    ids = [one["id"] for one in stage.ask(document)["enqueueRuns"]["runs"]]
    stage.made |= dict(zip(("done", "patient", "later", "long"), ids, strict=True))
    stage.made["flow"] = stage.ask(FLOW)["enqueueFlow"]["flow"]["id"]
    stage.made["cursor"] = stage.ask("{ asOf }")["asOf"]
    value = f"whsec_{'A' * 32}"
    secret = f'mutation {{ setSecret(input: {{ name: "hook", value: "{value}" }}) {{ errors {{ message }} }} }}'
    assert stage.ask(secret)["setSecret"]["errors"] == []
    stage.made["token"] = "3"  # that of the first account which a command makes

    def there() -> bool:
        found = stage.ask(f'{{ a: run(id: "{ids[0]}") {{ state }} b: flow(id: "{stage.made["flow"]}") {{ state }} }}')
        return (found["a"]["state"], found["b"]["state"]) == ("SUCCESS", "FAILED")

    wait_until(there, message="the first runs to end")
    stage.made["failure"] = stage.ask("{ failureGroups { fingerprint } }")["failureGroups"][0]["fingerprint"]
    # What `events` tells has happened after the cursor.
    stage.ask('mutation { triggerJob(jobName: "greet") { success } }')


def test_the_table_has_every_command_and_the_published_schema_too() -> None:
    every = set(names_of_commands())
    assert every == {*REMOTE, *LOCAL, *ALONE, *ELSEWHERE}
    shapes = published()
    assert every - set(shapes["$defs"]) == set()
    assert json.loads((ROOT / "docs" / "cli-answers.schema.json").read_text()) == shapes, "run `make schema`"
    Draft202012Validator.check_schema(shapes)


def test_each_command_that_changes_something_at_a_server_takes_a_key_a_trial_and_a_version() -> None:
    for name in (name for name, row in REMOTE.items() if row.changes and name != "plan"):
        words = name.split()
        command: Any = typer.main.get_command(application((words[0],)))
        for word in words:
            command = command.commands[word]
        taken = {flag for one in command.params for flag in one.opts}
        assert "--idempotency-key" in taken, name
        assert "--dry-run" in taken or name == "apply", f"{name}: plan is the dry run of apply alone"
        versioned = words[0] in {"tasks", "alarms", "hooks", "webhooks"} and words[1] not in {"create", "acknowledge"}
        versioned |= name in {"channels set", "channels delete"}
        assert ("--expected-version" in taken) is versioned, name


@pytest.mark.costly
def test_each_command_does_what_it_should_and_answers_in_its_form(stage: Stage) -> None:
    wrong: dict[str, object] = {}
    env = {"CRONOGRAPH_TOKEN": stage.tokens["admin"], "CRONOGRAPH_URL": stage.server.url}
    for command, row in {**REMOTE, **LOCAL, **ALONE}.items():
        words = stage.words(command, row.good)
        if command in LOCAL and "--database-url" not in words:
            words += ["--database-url", stage.database]
        if row.stdin is None:
            status, said = stage.processes.run(*words, env=env)
        else:
            done = subprocess.run([COMMAND, *words], input=row.stdin, capture_output=True, text=True, check=False)
            status, said = done.returncode, done.stdout
        found = fault(command, said)
        if status != 0 or found is not None:
            wrong[command] = (status, found or said[:300])
    assert wrong == {}
    ready = next(line for line in stage.server.output().splitlines() if '"ready"' in line)
    assert fault("serve", ready) is None


def judged(
    answers: Iterator[tuple[str, int, str]], expected: Callable[[str], int], says: str = ""
) -> dict[str, object]:
    """The commands that did not end with the status they should, in the form of errors."""
    wrong: dict[str, object] = {}
    for command, status, said in answers:
        found = fault(command, said)
        if status != expected(command) or found is not None or '"ok": false' not in said or says not in said:
            wrong[command] = (status, found or said[:300])
    return wrong


@pytest.mark.costly
def test_a_server_that_is_unavailable(stage: Stage) -> None:
    env = {"CRONOGRAPH_URL": f"http://127.0.0.1:{free_port()}"}
    commands = {name: stage.words(name, row.good) for name, row in REMOTE.items() if name != "logout"}
    commands["login"] = ["login", "--json"]
    assert judged(stage.run_all(commands, env), lambda _: 3, "no server answers") == {}


@pytest.mark.costly
def test_what_is_not_permitted(stage: Stage) -> None:
    viewer = {"CRONOGRAPH_URL": stage.server.url, "CRONOGRAPH_TOKEN": stage.tokens["viewer"]}
    changing = {name: stage.words(name, row.good) for name, row in REMOTE.items() if row.changes}
    assert judged(stage.run_all(changing, viewer), lambda _: 1, "needs the role") == {}
    nobody = {"CRONOGRAPH_URL": stage.server.url}
    reading = {
        name: stage.words(name, row.good) for name, row in REMOTE.items() if not row.changes and name != "logout"
    }
    assert judged(stage.run_all(reading, nobody), lambda _: 1, "cronograph login") == {}


@pytest.mark.costly
def test_what_is_unknown(stage: Stage) -> None:
    env = {"CRONOGRAPH_URL": stage.server.url, "CRONOGRAPH_TOKEN": stage.tokens["admin"]}
    every = {**REMOTE, **LOCAL, **ALONE}
    commands = {name: stage.words(name, row.unknown) for name, row in every.items() if row.stdin is None}
    for name in LOCAL.keys() & commands.keys():
        commands[name] += ["--database-url", stage.database]
    assert judged(stage.run_all(commands, env), lambda name: every[name].status) == {}


@pytest.mark.costly
def test_a_database_that_is_unavailable(stage: Stage) -> None:
    away = f"postgresql://nobody@127.0.0.1:{free_port()}/x"
    commands = {
        name: [*stage.words(name, row.good), "--database-url", away] for name, row in LOCAL.items() if row.stdin is None
    }
    assert judged(stage.run_all(commands, {}), lambda name: 2 if name == "check" else 3, "cannot be used") == {}
