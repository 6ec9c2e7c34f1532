"""Files of tasks are read with everything that is wrong, and what is written is read back."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cronograph.jobs.core.admission.caps import Cap, WhenFull
from cronograph.jobs.core.base.rates import Rate
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import WantedSet, WantedTask, definition_of
from cronograph.jobs.core.wanted_groups import WantedGroup
from cronograph.server.task_files.model import schema
from cronograph.server.task_files.reading import MAX_BYTES, TaskFilesError, read_files
from cronograph.server.task_files.writing import files_of

DOCS = Path(__file__).parents[3] / "docs"
WHOLE = """
set: billing
tasks:
  nightly:
    job: report
    schedule: "0 0 3 * * *"
    args: {days: 7, to: "${TO}", costs: "5 $$"}
    overlap: replace
    misfire: all
    priority: high
    enabled: false
    rate: {limit: 10, per: 60, burst: 2}
    timeout: 90
    retries: null
    start_at: 2030-01-01T00:00:00Z
  often:
    schedule: {interval: 90s}
  zoned:
    schedule: {cron: "0 0 9 * * *", timezone: Europe/Berlin}
"""


def faults(path: Path, **environment: str) -> list[str]:
    with pytest.raises(TaskFilesError) as refused:
        read_files(path, environment)
    return refused.value.faults


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.yaml"


def test_what_is_written_is_wanted_and_nothing_else(file: Path) -> None:
    file.write_text(WHOLE)
    (billing,) = read_files(file, {"TO": "ada"}).sets
    nightly, often, zoned = billing.tasks
    assert billing.name == "billing"
    assert nightly.settings == {
        "job_name": "report",
        "schedule": ScheduleSpec(Syntax.CRON, "0 0 3 * * *"),
        "args": {"days": 7, "to": "ada", "costs": "5 $"},
        "overlap": OverlapPolicy.REPLACE,
        "misfire": MisfirePolicy.ALL,
        "priority": Priority.HIGH,
        "enabled": False,
        "rate": Rate(10, 60.0, 2),
        "timeout": 90,
        "retries": None,
        "start_at": datetime(2030, 1, 1, tzinfo=UTC),
    }
    assert often == WantedTask("often", {"schedule": ScheduleSpec(Syntax.INTERVAL, "90s")})
    assert zoned.settings["schedule"] == ScheduleSpec(Syntax.CRON, "0 0 9 * * *", "Europe/Berlin")


def test_toml_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text('set = "billing"\n[tasks.nightly]\njob = "report"\nschedule = "${WHEN:-0 0 3 * * *}"\n')
    settings = {"job_name": "report", "schedule": ScheduleSpec(Syntax.CRON, "0 0 3 * * *")}
    assert read_files(file, {}).sets == [WantedSet("billing", (WantedTask("nightly", settings),))]


def test_a_folder_is_all_its_files_and_sets_are_put_together(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text("set: billing\ntasks: {b: {job: x}}\n---\nset: mail\ntasks: {m: {job: x}}\n")
    (tmp_path / "a.yaml").write_text("set: billing\ntasks: {a: {job: x}}\n")
    (tmp_path / "notes.txt").write_text("nothing")
    found = {one.name: [task.name for task in one.tasks] for one in read_files(tmp_path, {}).sets}
    assert found == {"billing": ["a", "b"], "mail": ["m"]}
    (tmp_path / "c.yaml").write_text("set: billing\ntasks: {a: {job: y}}\n")
    assert faults(tmp_path) == [f"{tmp_path}/c.yaml: tasks.a: is in {tmp_path}/a.yaml already"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set: x\ntasks: {a: {jobb: y}}\n", "tasks.a.jobb: is unknown"),
        ("tasks: {}\n", "must have set and tasks together, and has no set"),
        ("set: x\ntasks: {a: {retries: many}}\n", "tasks.a.retries: Input should be a valid integer"),
        ("set: x\ntasks: {a: {schedule: {cron: x, interval: 5s}}}\n", "must have one of cron, calendar, interval, at"),
        ("set: x\ntasks: {a: {overlap: maybe}}\n", "tasks.a.overlap: Input should be 'skip', 'queue'"),
        ("set: x\ntasks: {a: {start_at: 2030-01-01 00:00:00}}\n", "tasks.a.start_at: Input should have timezone info"),
        ("set: x\ntasks: {a: {description: '${NOPE}'}}\n", "tasks.a.description: variable NOPE is not set"),
        ("set: x\nset: y\ntasks: {}\n", "is no YAML: 'set' is there twice"),
        ("set: [\n", "is no YAML"),
        ("set: x\n", "must have set and tasks together, and has no tasks"),
        ("{}\n", "must have set and tasks, or groups, or all three"),
        ("groups: {mail: {paused: true}}\n", "groups.mail.paused: is unknown"),
        ("groups: {mail: {rate: {per: 60}}}\n", "groups.mail.rate.limit: is missing"),
        ("groups: {mail: {cap: {limit: 5, when_full: explode}}}\n", "groups.mail.cap.when_full: Input should be"),
        ("groups: {mail: {keep: -1}}\n", "groups.mail.keep: Input should be greater than or equal to 0"),
        ("", "Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    found = faults(file)
    assert len(found) == 1
    assert found[0].startswith(f"{file}: ")
    assert said in found[0]


def test_limits_of_groups_are_read_and_what_is_exported_is_read_back(tmp_path: Path, file: Path) -> None:
    file.write_text("groups:\n  mail: {max_running: 3, keep: null, rate: {limit: 100, per: 60}, cap: {limit: 9}}\n")
    wanted = read_files(file, {})
    limits = {"max_running": 3, "keep": None, "rate": Rate(100, 60.0, 5), "cap": Cap(9)}
    assert (wanted.sets, wanted.groups) == ([], [WantedGroup("mail", limits)])
    shown = {
        "name": "mail",
        "maxRunning": 3,
        "rate": {"limit": 100, "per": 60.0, "burst": 5},
        "cap": {"limit": 9, "whenFull": "DROP_OLDEST"},
        "maxWaitLow": 600.0,
        "keep": None,
    }
    bare = {**dict.fromkeys(shown), "name": "bare"}
    file.write_text(files_of([], groups=[shown, bare]))
    said = {**limits, "max_wait_low": 600.0, "cap": Cap(9, WhenFull.DROP_OLDEST)}
    del said["keep"]
    assert read_files(file, {}).groups == [WantedGroup("mail", said)]
    (tmp_path / "again.yaml").write_text("groups: {mail: {}}\n")
    assert faults(tmp_path) == [f"{file}: groups.mail: is in {tmp_path}/again.yaml already"]


def test_files_that_cannot_be_read_are_named(tmp_path: Path, file: Path) -> None:
    assert faults(file) == [f"{file}: there is no such file or folder"]
    assert "must hold files that end in .toml, .yaml, .yml" in faults(tmp_path)[0]
    file.write_bytes(b"\xff\xfe")
    assert "cannot be read" in faults(file)[0]
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    assert "must have at most" in faults(file)[0]
    toml = tmp_path / "x.toml"
    toml.write_text("set =")
    assert "is no TOML" in faults(toml)[0]


def test_the_published_schema_is_that_of_the_files() -> None:
    published: dict[str, Any] = json.loads((DOCS / "tasks.schema.json").read_text())
    assert published == schema()
    jsonschema.Draft202012Validator.check_schema(published)
    valid = jsonschema.Draft202012Validator(published)
    document = yaml.safe_load(WHOLE.replace("2030-01-01T00:00:00Z", "'2030-01-01T00:00:00Z'"))
    assert not list(valid.iter_errors(document))
    assert list(valid.iter_errors({"set": "x", "tasks": {"a": {"jobb": "y"}}}))
    assert not list(valid.iter_errors({"groups": {"mail": {"max_running": 3}}}))
    assert not list(valid.iter_errors({**document, "groups": {"mail": {"cap": {"limit": 3}}}}))
    documents: list[dict[str, object]] = [{}, {"set": "x"}, {"tasks": {}}, {"groups": {"mail": {"paused": True}}}]
    for wrong in documents:
        assert list(valid.iter_errors(wrong)), wrong


def test_what_is_exported_is_read_back_as_it_was(tmp_path: Path) -> None:
    spec = TaskSpec(
        "nightly",
        "report",
        ScheduleSpec(Syntax.CALENDAR, "Mon..Fri 09:00", "Europe/Berlin"),
        args={"text": "costs $5 and ${NOT_A_VARIABLE}"},
        overlap=OverlapPolicy.QUEUE,
        misfire_grace=5.0,
        start_at=datetime(2030, 1, 1, tzinfo=UTC),
        rate=Rate(10, 60.0, 2),
        inherits=frozenset({"retries", "retry_delay", "timeout", "misfire", "priority", "group", "max_duration"}),
    )
    camel = {"job_name": "jobName", "misfire_grace": "misfireGrace", "start_at": "startAt"}
    definition = {camel.get(name, name): value for name, value in definition_of(spec).items()}
    task = {"name": "nightly", "source": "FILE", "setName": "billing", "definition": definition}
    coded = {"name": "coded", "source": "CODE", "setName": None, "definition": definition}
    unset = {**task, "name": "by hand", "setName": None}
    file = tmp_path / "tasks.yaml"
    file.write_text(files_of([task, coded, unset], "others"))
    sets = {one.name: one.tasks for one in read_files(file, {}).sets}
    assert {name: [task.name for task in tasks] for name, tasks in sets.items()} == {
        "billing": ["nightly"],
        "others": ["by hand"],
    }
    read = sets["billing"][0].settings
    assert read == {name: getattr(spec, name) for name in read}
    assert set(read) == {"job_name", "schedule", "args", "overlap", "misfire_grace", "start_at", "rate"}
