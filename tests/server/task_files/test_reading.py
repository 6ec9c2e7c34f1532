"""Files of tasks are read with everything that is wrong, and what is written is read back."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cronograph.graphql.base.scalars import camel
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import WantedGroup, WantedSet, WantedTask, definition_of
from cronograph.server.task_files.model import (
    AlarmOfFile,
    FileModel,
    GroupOfFile,
    HookOfFile,
    ScheduleOfFile,
    TaskOfFile,
    WebhookOfFile,
    schema,
)
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
    resources: {gpus: 2, memory: 1099511627776, options: {qos: high}}
    timeout: 90
    retries: null
    start_at: 2030-01-01T00:00:00Z
  often:
    schedule: {interval: 90s}
  zoned:
    schedule: {cron: "0 0 9 * * *", timezone: Europe/Berlin}
"""


ARGS = "set: x\ntasks:\n  a:\n    args: {{{}}}\n"
LAUGHS = "a0: &a0 [1, 1]" + "".join(
    f", a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)
)  # fmt: skip
"""A few lines that stand for thousands of millions of values."""


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
        "resources": {"gpus": 2, "memory": 2**40, "options": {"qos": "high"}},
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


def test_a_file_may_have_the_values_of_thousands_of_tasks(file: Path) -> None:
    tasks = "".join(f"  t{number}: {{schedule: '@daily', args: *args}}\n" for number in range(3000))
    values = ", ".join(map(str, range(40)))
    file.write_text(f"set: x\ntasks:\n  first: {{schedule: '@daily', args: &args {{v: [{values}]}}}}\n{tasks}")
    assert len(read_files(file, {}).sets[0].tasks) == 3001


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set: x\ntasks: {a: {jobb: y}}\n", "line 2: tasks.a.jobb: is unknown; did you mean 'job'?"),
        ("tasks: {}\n", "must have set and tasks together, and has no set"),
        (
            "set: x\ntasks: {a: {resources: {gpu: 1}}}\n",
            "line 2: tasks.a.resources.gpu: is unknown; did you mean 'gpus'?",
        ),
        (
            "set: x\ntasks: {a: {resources: {memory: 8GiB}}}\n",
            "line 2: tasks.a.resources.memory: must be a whole number, got",
        ),
        ("set: x\ntasks: {a: {retries: many}}\n", "tasks.a.retries: must be a whole number, got 'many'"),
        ("set: x\ntasks: {a: {schedule: {cron: x, interval: 5s}}}\n", "must have one of cron, calendar, interval, at"),
        ("set: x\ntasks: {a: {overlap: maybe}}\n", "tasks.a.overlap: must be 'skip', 'queue'"),
        (
            "set: x\ntasks: {a: {start_at: 2030-01-01 00:00:00}}\n",
            "tasks.a.start_at: must be a time with a zone, e.g. 2030",
        ),
        ("set: x\ntasks: {a: {description: '${NOPE}'}}\n", "tasks.a.description: variable NOPE is not set"),
        ("set: x\ntasks: {a: {description: '${NO-PE}'}}\n", "tasks.a.description: must be ${NAME} or ${NAME:-text}"),
        ("set: x\ntasks: {a: {retries: yes}}\n", "tasks.a.retries: must be no true or false"),
        ("set: x\ntasks: {a: {timeout: on}}\n", "tasks.a.timeout: must be no true or false"),
        ("set: x\ntasks: {a: {rate: {limit: yes}}}\n", "tasks.a.rate.limit: must be no true or false"),
        ("groups: {mail: {max_running: on}}\n", "groups.mail.max_running: must be no true or false"),
        ("set: x\ntasks: {}\nalarms: {a: {task: t, late: yes}}\n", "alarms.a.late: must be no true or false"),
        ("set: x\ntasks: {a: {timeout: '1e400'}}\n", "tasks.a.timeout: must be a finite number, got '1e400'"),
        ("set: x\ntasks: {a: {timeout: 1e400}}\n", "line 2, column 22: must be a finite number, got 1e400"),
        ("set: x\ntasks: {a: {retry_delay: nan}}\n", "tasks.a.retry_delay: must be a finite number"),
        ("groups: {mail: {rate: {limit: 1, per: inf}}}\n", "groups.mail.rate.per: must be a finite number"),
        ("set: x\ntasks: {a: {start_at: 1893456000}}\n", "tasks.a.start_at: must be a time with a zone, e.g. 2030"),
        ("set: x\ntasks: {a: {end_at: '1893456000.5'}}\n", "tasks.a.end_at: must be a time with a zone, e.g. 2030"),
        ("set: x\nset: y\ntasks: {}\n", "line 2, column 1: 'set' is there twice"),
        ("set: [\n", "is no YAML: line 2, column 1: expected the node content, but found '<stream end>'"),
        (
            "set: x\ntasks:\n\ta: {}\n",
            "is no YAML: line 3, column 1: found character '\\t' that cannot start any token",
        ),
        ("set: x\ntasks: \a\n", "is no YAML: line 2, column 8: the character U+0007 is not allowed"),
        (ARGS.format("limit: .inf"), "line 4, column 19: must be a finite number, got .inf"),
        (ARGS.format("limit: -.Inf"), "line 4, column 19: must be a finite number, got -.Inf"),
        (ARGS.format("limit: .nan"), "line 4, column 19: must be a finite number, got .nan"),
        (ARGS.format("limit: 1.0e+999"), "line 4, column 19: must be a finite number, got 1.0e+999"),
        (ARGS.format("limit: " + "9" * 5000), "line 4, column 19: must be a finite number, got 9999"),
        (ARGS.format("limit: !!int many"), "line 4, column 19: must be a finite number, got many"),
        (ARGS.format("limit: !!float many"), "line 4, column 19: must be a finite number, got many"),
        (ARGS.format("limit: !!bool maybe"), "line 4, column 19: must be true or false, got maybe"),
        (
            ARGS.format("at: 12:30:15"),
            "line 4, column 16: 12:30:15 is a number of base 60 to YAML: write '12:30:15' in",
        ),
        (ARGS.format("at: 12:30.5"), "line 4, column 16: 12:30.5 is a number of base 60 to YAML"),
        (ARGS.format("zip: 01234"), "line 4, column 17: 01234 is a number of base 8 to YAML: write '01234' in quotes"),
        (ARGS.format("1: a"), "line 4, column 12: a key must be text, got 1: write '1' in quotes"),
        (ARGS.format("on: a"), "line 4, column 12: a key must be text, got on: write 'on' in quotes"),
        (ARGS.format("~: a"), "line 4, column 12: a key must be text, got ~"),
        (ARGS.format("[1, 2]: a"), "line 4, column 12: a key must be text"),
        (ARGS.format("a: !!set {b}"), "line 4, column 15: !!set has no place here: write a list or a table"),
        (ARGS.format("a: !!binary aGk="), "line 4, column 15: !!binary has no place here: write text"),
        (ARGS.format("a: !!omap [b: 1]"), "line 4, column 15: !!omap has no place here"),
        (
            ARGS.format("a: !!python/object/apply:os.getcwd []"),
            "line 4, column 15: !!python/object/apply:os.getcwd has no",
        ),
        (ARGS.format("a: !env HOME"), "line 4, column 15: !env has no place here: write text"),
        (ARGS.format("a: &a [*a]"), "line 4, column 19: the alias '*a' stands within what it stands for"),
        (ARGS.format("a: &a {b: {c: *a}}"), "line 4, column 26: the alias '*a' stands within what it stands for"),
        (ARGS.format("a: &a {<<: *a}"), "line 4, column 23: the alias '*a' stands within what it stands for"),
        (ARGS.format("a: *b"), "is no YAML: line 4, column 15: found undefined alias 'b'"),
        (ARGS.format("<<: [1]"), "is no YAML: line 4, column 17: expected a mapping for merging, but found scalar"),
        (ARGS.format("a: " + "[" * 5000), "must be nested at most 40 deep"),
        (ARGS.format('a: "\\0"'), "line 4, column 15: a text must have no NUL"),
        (ARGS.format('a: "\\ud800"'), "line 4, column 15: a text must have no NUL and no half of a surrogate pair"),
        (ARGS.format(LAUGHS), "must have at most 500,000 values, aliases counted"),
        ("set: x\n", "must have set and tasks together, and has no tasks"),
        ("{}\n", "must have set and tasks, or groups, or all three"),
        ("groups: {mail: {paused: true}}\n", "groups.mail.paused: is unknown"),
        ("groups: {mail: {rate: {per: 60}}}\n", "groups.mail.rate.limit: is missing"),
        (
            "groups: {mail: {cap: {limit: 5, when_full: explode}}}\n",
            "groups.mail.cap.when_full: must be 'refuse', 'drop_oldest'",
        ),
        ("groups: {mail: {keep: -1}}\n", "groups.mail.keep: must be at least 0"),
        ("", "is empty; it must have set and tasks, or groups, or all three"),
        ("[]", "must be a table, got a list"),
        ("set: x\ntasks: {a: 5}\n", "tasks.a: must be a table, got 5"),
        (
            "set: x\ntasks: {a: {timeout: soon}}\n",
            "tasks.a.timeout: must be seconds, or a text such as 90s, 5m or PT5M",
        ),
        ("set: x\ntasks: {a: {timeout: -5}}\n", "tasks.a.timeout: must be at least 0, got -5"),
        ("set: x\ntasks: {a: {schedule: {interval: on}}}\n", "tasks.a.schedule.interval: must be no true or false"),
        ("set: x\ntasks: {a: {schedule: [a]}}\n", "tasks.a.schedule: must be text or a table, got a list"),
        ("set: x\ntasks: {a: {schedule: {cron: {b: c}}}}\n", "tasks.a.schedule.cron: must be text, got a table"),
        ("set: x\ntasks: {schedule: 5}\n", "tasks.schedule: must be a table, got 5"),
        ("set: x\ntasks: {schedule: {job: {a: b}}}\n", "tasks.schedule.job: must be text, got a table"),
        ("set: x\ntasks: {'str': {job: 5}}\n", "tasks.str.job: must be text, got 5"),
        ("set: x\ntasks: {'a[b]': {job: 5}}\n", "tasks.a[b].job: must be text, got 5"),
        ("set: x\nalarms: {o: {task: a, slow: []}}\n", "alarms.o.slow: must be a number, or a text, got a list"),
        ("set: x\ntasks: {a: {job: no}}\n", "tasks.a.job: must be text, got False; write it in quotes"),
        ("set: x\ntasks: {a: {enabled: maybe}}\n", "tasks.a.enabled: must be true or false, got 'maybe'"),
        ("set: x\ntask: {}\n", "line 2: task: is unknown; did you mean 'tasks'?"),
        ("set: x\ntasks: &t\n  a: {job: x}\n  b:\n    job: x\n    retires: 3\n", "line 6: tasks.b.retires: is unknown"),
        (
            "set: x\ntasks:\n  a: &a\n    retries: no\n  b:\n    <<: *a\n    retries: 5\n",
            "line 4: tasks.a.retries: must be",
        ),
        (
            "---\nset: x\ntasks: {}\n---\nset: y\ntasks:\n  a: {}\n  b: 5\n",
            "line 8: tasks.b: must be a table, got 5",
        ),
        ("set: x\ntasks:\n  a:\n    description: ${NOPE}\n", "line 4: tasks.a.description: variable NOPE is not set"),
        (ARGS.format("mode: 0o644"), "0o644 is a number of base 8 to YAML: write '0o644' in quotes"),
        (ARGS.format("zip: 0890"), "0890 is a number of base 8 to YAML: write '0890' in quotes"),
        ("set: x\ntasks: {}\nchannels: {o: {kind: slack}}\n", "channels.o.kind: must be one of chat, webhook, alertm"),
        ("set: x\ntasks: {}\nchannels: {o: {url: x}}\n", "mail, apprise, got nothing"),
        ("set: x\ntasks: {}\nchannels: {o: x}\n", "channels.o: must be a table, got 'x'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    found = faults(file)
    assert len(found) == 1
    assert found[0].startswith(f"{file}: ")
    assert said in found[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1e400", "tasks.a.args.v: must be a finite number, got inf"),
        ("NaN", "is no JSON: NaN is no number of JSON"),
        ("2026-01-01", "is no JSON: Expecting ',' delimiter: line 1 column 42"),
        ('1, "v": 2', "is no JSON: 'v' is there twice"),
        ('"\\u0000"', "tasks.a.args.v: a text must have no NUL and no half of a surrogate pair"),
        ('"\\ud800"', "tasks.a.args.v: a text must have no NUL and no half of a surrogate pair"),
        ("9" * 5000, "is no JSON: Exceeds the limit"),
        ("[" * 60 + "]" * 60, "tasks: must be nested at most 40 deep"),
        ("[" * 50_000 + "]" * 50_000, "is no JSON: "),
    ],
)
def test_json_is_read_as_json_and_not_as_yaml(tmp_path: Path, value: str, said: str) -> None:
    file = tmp_path / "tasks.json"
    document = '{"set":"x","tasks":{"a":{"args":{"v":%s}}}}'
    file.write_text(document % '[1e3, "${TO}", null]')
    assert read_files(file, {"TO": "ada"}).sets[0].tasks[0].settings == {"args": {"v": [1000.0, "ada", None]}}
    file.write_text(document % value)
    (found,) = faults(file)
    assert said in found


def test_a_time_in_seconds_may_be_text_with_units_wherever_one_is(file: Path) -> None:
    file.write_text(
        "set: x\n"
        "tasks: {a: {timeout: 5m, jitter: '90', retry_delay: 1e3, rate: {limit: 6, per: 1h}, schedule: {interval: 90}}}"
        "\n"
        "groups: {mail: {keep: P7D, max_wait_low: 0s}}\n"
    )
    wanted = read_files(file, {})
    assert wanted.sets[0].tasks[0].settings == {
        "timeout": 300,
        "jitter": 90,
        "retry_delay": 1000,
        "rate": Rate.of(6, 3600, None),
        "schedule": ScheduleSpec(Syntax.INTERVAL, "90"),
    }
    assert wanted.groups == [WantedGroup("mail", {"keep": 604_800, "max_wait_low": 0})]


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("set: x\nwebhooks: {r: {url: 'https://x.example/?token=${PW}', document: runs}}\n", "got a table"),
        ("set: x\ntasks: [{job: report, args: {password: '${PW}'}}]\n", "got a list"),
        ("set: x\ntasks: {a: {job: report, args: '${PW}'}}\n", "got '${PW}'"),
        ("set: x\ntasks: {a: {args: [1, '${PW}']}}\n", "got a list"),
    ],
)
def test_what_a_variable_holds_is_in_no_message(file: Path, text: str, got: str) -> None:
    file.write_text(text)
    (found,) = faults(file, PW="hunter2")
    assert "hunter2" not in found
    assert found.endswith(got)


def test_usual_yaml_is_what_it_looks_like(tmp_path: Path, file: Path) -> None:
    usual = """
set: x
tasks:
  a: &a
    job: report
    args: {since: 2026-01-01, at: 2026-01-01T10:00:00Z, no_day: 2026-02-30, op: =, half: 0.5, many: 1_000, mask: 0x1F}
    start_at: 2030-01-01T00:00:00Z
  b:
    <<: *a
    args: {days: &one [1, <<], again: *one}
"""
    file.write_bytes(b"\xef\xbb\xbf" + usual.replace("\n", "\r\n").encode())
    ((a, b),) = (one.tasks for one in read_files(file, {}).sets)
    dates = {"since": "2026-01-01", "at": "2026-01-01T10:00:00Z", "no_day": "2026-02-30"}
    assert a.settings["args"] == dates | {"op": "=", "half": 0.5, "many": 1000, "mask": 31}
    assert a.settings["start_at"] == b.settings["start_at"] == datetime(2030, 1, 1, tzinfo=UTC)
    assert b.settings["args"] == {"days": [1, "<<"], "again": [1, "<<"]}
    toml = tmp_path / "tasks.toml"
    toml.write_text(
        'set = "x"\n[tasks.a]\nstart_at = 2030-01-01T00:00:00Z\nargs = {since = 2026-01-01, at = 10:00:00}\n'
    )
    ((a,),) = (one.tasks for one in read_files(toml, {}).sets)
    assert a.settings == {"args": {"since": "2026-01-01", "at": "10:00:00"}, "start_at": b.settings["start_at"]}


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
    assert "must hold files that end in .json, .toml, .yaml, .yml" in faults(tmp_path)[0]
    file.write_bytes("set: x\n".encode("utf-16"))
    assert faults(file) == [f"{file}: cannot be read: line 1, column 1: must be UTF-8, got byte 0xFF; save it as UTF-8"]
    file.write_bytes("set: x\ntasks: {a: {description: größer}}\n".encode("latin-1"))
    assert "line 2, column 28: must be UTF-8, got byte 0xF6" in faults(file)[0]
    file.write_bytes(b"#" * (MAX_BYTES + 1))
    assert "must have at most" in faults(file)[0]
    toml = tmp_path / "x.toml"
    toml.write_text("set =")
    assert "is no TOML: Invalid value (at end of document)" in faults(toml)[0]
    for text in ("a = " + "[" * 5000, "a = " + "9" * 5000):
        toml.write_text(text)
        assert "is no TOML" in faults(toml)[0]
    toml.write_text('set = "x"\n[tasks.a.args]\nlimit = inf\n')
    assert faults(toml) == [f"{toml}: tasks.a.args.limit: must be a finite number, got inf"]


def test_what_is_no_file_is_named_and_not_read_for_ever(tmp_path: Path) -> None:
    assert faults(Path("/dev/zero")) == [f"/dev/zero: must have at most {MAX_BYTES} bytes, got more"]
    long = tmp_path / ("x" * 300)
    assert faults(long) == [f"{long}: cannot be read: File name too long"]
    inside = tmp_path / "x.yaml" / "tasks.yaml"
    inside.parent.write_text(WHOLE)
    assert faults(inside) == [f"{inside}: cannot be read: Not a directory"]


def test_a_link_that_leads_to_nothing_is_a_fault_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("set: x\ntasks: {}\n")
    (tmp_path / ".#a.yaml").symlink_to("ada@example.com.77")
    assert [one.name for one in read_files(tmp_path, {}).sets] == ["x"]
    (tmp_path / "b.yaml").symlink_to("gone.yaml")
    assert faults(tmp_path) == [f"{tmp_path}/b.yaml: cannot be read: No such file or directory"]


def test_a_name_that_is_twice_is_found_among_many(tmp_path: Path) -> None:
    names = ",".join(f'"{number}": 0' for number in range(MAX_BYTES // 16))
    file = tmp_path / "x.json"
    file.write_text(f'{{{names}, "z": 1, "z": 2}}')
    assert faults(file) == [f"{file}: is no JSON: 'z' is there twice"]


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
    documents: list[dict[str, Any]] = [{}, {"set": "x"}, {"tasks": {}}, {"groups": {"mail": {"paused": True}}}]
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
        resources={"cpus": 0.5, "image": "shop:$TAG"},
        rate=Rate(10, 60.0, 2),
        inherits=frozenset({"retries", "retry_delay", "timeout", "misfire", "priority", "group", "max_duration"}),
    )
    definition = {camel(name): value for name, value in definition_of(spec).items()}
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
    assert set(read) == {"job_name", "schedule", "args", "overlap", "misfire_grace", "start_at", "resources", "rate"}


def test_every_setting_of_an_export_is_read_back(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "description": "d",
        "owner": "channel:42",
        "tolerance": 1.0,
        "jitter": 2.0,
        "catch_up_limit": 7,
        "start_at": datetime(2030, 1, 1, tzinfo=UTC),
        "end_at": datetime(2031, 1, 1, tzinfo=UTC),
        "labels": {"team": "x"},
        "misfire_grace": 5.0,
        "args": {"a": 1},
        "resources": {"cpus": 1.0},
        "rate": Rate(10, 60.0, 2),
        "max_duration": 99.0,
    }
    spec = TaskSpec("nightly", "report", ScheduleSpec(Syntax.INTERVAL, "1h"), **settings)
    definition = {camel(name): value for name, value in definition_of(spec).items()}
    file = tmp_path / "tasks.yaml"
    file.write_text(files_of([{"name": "nightly", "source": "API", "setName": None, "definition": definition}]))
    ((read,),) = (one.tasks for one in read_files(file, {}).sets)
    assert {name: getattr(spec, name) for name in read.settings} == read.settings
    assert {one.name for one in fields(TaskSpec)} - set(read.settings) == {"name", "inherits", "enabled"}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    [
        "NO",
        "2026-01-01",
        "12:30",
        "=",
        "<<",
        "~",
        "0o17",
        "1e3",
        "a\x85",
        "\u2028",
        "x\u2029 y",
        "\ufeff",
        "- a",
        "$$",
        "${A}",
    ]
)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
ARGUMENTS = st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))


@given(st.dictionaries(TEXTS, ARGUMENTS, max_size=4))
def test_any_arguments_of_an_export_are_read_back_as_they_were(args: dict[str, Any]) -> None:
    definition = {
        "jobName": "report",
        "schedule": {"syntax": "CRON", "value": "@daily", "timezone": "UTC"},
        "args": args,
    }
    task = {"name": "nightly", "source": "FILE", "setName": "billing", "definition": definition}
    with TemporaryDirectory() as folder:
        file = Path(folder, "tasks.yaml")
        file.write_text(files_of([task]), encoding="utf-8")
        ((read,),) = (one.tasks for one in read_files(file, {}).sets)
    assert read.settings["args"] == args


def test_each_of_many_faults_has_its_line(tmp_path: Path) -> None:
    # Seconds of a processor for each thousand, if each fault looked through the whole file.
    tasks = (f"  t{number}:\n    jobb: x\n" for number in range(2_000))
    (tmp_path / "many.yaml").write_text("set: x\ntasks:\n" + "".join(tasks))
    with pytest.raises(TaskFilesError) as refused:
        read_files(tmp_path / "many.yaml")
    unknown = [fault.partition(".yaml: ")[2] for fault in refused.value.faults if "jobb" in fault]
    assert unknown == [
        f"line {4 + 2 * number}: tasks.t{number}.jobb: is unknown; did you mean 'job'?" for number in range(2_000)
    ]


ODD = (
    "{}", "[]", "{a: b}", "[a]", "[{}]", "{cron: {a: b}}", "5", "-1", "1.5", "x", "''", "null", "yes", "off", "1e400",
    ".inf", "0o17", "12:30", "2026-01-02", "!!set {a}", "!!binary aGk=", "!custom x", "<<", "=", "|\n      x",
)  # fmt: skip
NEEDED = {
    "tasks": {"job": "report", "schedule": "'@daily'"},
    "groups": {"max_running": "1"},
    "alarms": {"task": "nightly", "late": "5m"},
    "webhooks": {"url": "https://example.org", "document": "run_events"},
    "hooks": {"job": "report"},
}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "model"),
    [("tasks", TaskOfFile), ("groups", GroupOfFile), ("alarms", AlarmOfFile), ("webhooks", WebhookOfFile),
     ("hooks", HookOfFile)],
)  # fmt: skip
def test_a_thing_with_an_odd_value_is_read_or_refused_and_never_left_out(
    kind: str, model: type[FileModel], tmp_path: Path
) -> None:
    file = tmp_path / "odd.yaml"
    of_schedules = [f"schedule.{name}" for name in ScheduleOfFile.model_fields] if kind == "tasks" else []
    for field in [*model.model_fields, *of_schedules]:
        for odd in ODD:
            outer, _, inner = field.partition(".")
            values = NEEDED[kind] | {outer: f"{{{inner}: {odd}}}" if inner else odd}
            lines = "".join(f"    {name}: {value}\n" for name, value in values.items())
            file.write_text(f"set: x\n{kind}:\n  one:\n{lines}")
            names, faults = _outcome(file)
            assert names == ["one"] or faults, (field, odd)
            assert not any("OfFile" in fault for fault in faults), (field, odd)


def _outcome(file: Path) -> tuple[list[str], list[str]]:
    """The names of all things of a file, or its faults."""
    try:
        read = read_files(file, {})
    except TaskFilesError as refused:
        return [], refused.faults
    names = [group.name for group in read.groups]
    for one in read.sets:
        names += [task.name for task in one.tasks]
        names += [thing.name for some in one.definitions.values() for thing in some]
    return names, []
