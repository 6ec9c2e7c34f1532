"""Whatever a file may say is read back from an export as it was."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from cronograph.graphql.base.scalars import camel
from cronograph.jobs.core.admission.caps import Cap, Rate, WhenFull
from cronograph.jobs.core.alarms import SUBJECTS, UNNAMED, AlarmSpec, Condition, Settings, Severity, definition_of
from cronograph.jobs.core.defaults import TASK_POLICIES
from cronograph.jobs.core.model import MisfirePolicy, OverlapPolicy, Priority, ScheduleSpec, TaskSpec
from cronograph.jobs.core.schedule import Syntax
from cronograph.jobs.core.task_sets import DefinitionKind, WantedGroup, WantedSet, shown
from cronograph.jobs.core.task_sets import definition_of as definition_of_task
from cronograph.jobs.delivery.hooks import new_hook
from cronograph.jobs.delivery.inbound import HookKind
from cronograph.jobs.delivery.webhooks import new_webhook
from cronograph.server.task_files.model import TaskOfFile
from cronograph.server.task_files.reading import Wanted, read_files
from cronograph.server.task_files.writing import files_of

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=200)
NAMES |= st.sampled_from(["$", "${A}", "$$", "NO", "1", "any", "warning", "<<", "=", "2026-01-01", "~", "12:30", "#"])
TEXTS = NAMES | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
NAMES |= st.sampled_from(["1e3", "0o17", "0890"])
SECONDS = st.floats(1, 86_400) | st.sampled_from([90.0, 0.001 + 1, 86_400.0])
COUNTS = st.integers(1, 1000)
RATES = st.builds(Rate, COUNTS, SECONDS, COUNTS)
INSTANTS = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - of the library
WORDS = st.dictionaries(TEXTS, TEXTS, max_size=3)
TASKS: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "args": st.dictionaries(TEXTS, TEXTS | st.integers() | SECONDS | st.none() | st.booleans(), max_size=3),
    "description": TEXTS,
    "enabled": st.booleans(),
    "group": NAMES,
    "priority": st.sampled_from(Priority),
    "owner": NAMES,
    "overlap": st.sampled_from(OverlapPolicy),
    "misfire": st.sampled_from(MisfirePolicy),
    "misfire_grace": SECONDS,
    "catch_up_limit": COUNTS,
    "tolerance": SECONDS,
    "timeout": SECONDS,
    "max_duration": SECONDS,
    "retries": st.integers(0, 100),
    "retry_delay": SECONDS,
    "jitter": SECONDS,
    "labels": WORDS,
    "resources": st.builds(lambda cpus, image: {"cpus": cpus, "image": image}, SECONDS, TEXTS),
    "rate": RATES,
    "start_at": INSTANTS,
    "end_at": INSTANTS,
}
SCHEDULES = st.builds(
    ScheduleSpec, st.sampled_from(Syntax), TEXTS, st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"])
)
LIMITS = {
    "max_running": COUNTS,
    "rate": RATES,
    "cap": st.builds(Cap, COUNTS, st.sampled_from(WhenFull)),
    "max_wait_low": SECONDS,
    "keep": SECONDS,
}
CONDITIONS: Final[Mapping[Condition, st.SearchStrategy[Settings]]] = {
    Condition.LATE: st.builds(Settings, grace=SECONDS | st.just(0.0)),
    Condition.OVERDUE: st.builds(Settings, due_by=st.just("06:00")) | st.builds(Settings, after=SECONDS),
    Condition.SLOW: st.builds(Settings, times_p95=st.floats(1, 1000) | st.just(1000.0))
    | st.builds(Settings, after=SECONDS),
    Condition.FAILING: st.builds(Settings, failed_runs=COUNTS)
    | st.builds(Settings, failed_share=st.floats(0.01, 1), of_runs=st.integers(2, 1000)),
    Condition.EMPTY: st.builds(Settings, least_records=st.integers(1, 2**53)),
    Condition.BACKLOG: st.builds(Settings, older_than=SECONDS)
    | st.builds(Settings, older_than=SECONDS, deeper_than=COUNTS),
    Condition.NODE: st.just(Settings()),
    Condition.NEW_ERROR: st.builds(Settings, quiet=SECONDS),
    Condition.SKEW: st.builds(Settings, most_skew=SECONDS),
    Condition.DATABASE: st.builds(Settings, larger_than=st.integers(1, 2**53))
    | st.builds(Settings, least_free=COUNTS, transaction=SECONDS, lag=SECONDS),
    Condition.IDLE: st.builds(Settings, after=SECONDS),
    Condition.WEBHOOK: st.just(Settings()),
}


def read_back(text: str) -> Wanted:
    with TemporaryDirectory() as folder:
        file = Path(folder, "tasks.yaml")
        file.write_text(text, encoding="utf-8")
        return read_files(file, {})


@st.composite
def task_settings(draw: st.DrawFn) -> dict[str, Any]:
    return {name: draw(TASKS[name]) for name in draw(st.sets(st.sampled_from(sorted(TASKS))))}


def made(name: str, job: str, schedule: ScheduleSpec, chosen: Mapping[str, Any]) -> TaskSpec:
    """Return a task with settings, as a file or the API makes it."""
    inherits = frozenset(TASK_POLICIES).difference(chosen)
    return replace(TaskSpec(name, job, schedule, inherits=inherits), **chosen)


def task_text(spec: TaskSpec, set_name: str) -> str:
    definition = {camel(name): value for name, value in definition_of_task(spec).items()}
    return files_of([{"name": spec.name, "source": "API", "setName": set_name, "definition": definition}])


@settings(max_examples=300)
@given(NAMES, NAMES, NAMES, SCHEDULES, task_settings())
def test_a_task_is_read_back_as_it_was(
    set_name: str, name: str, job: str, schedule: ScheduleSpec, chosen: dict[str, Any]
) -> None:
    spec = made(name, job, schedule, chosen)
    text = task_text(spec, set_name)
    (read,) = read_back(text).sets
    (task,) = read.tasks
    rest = dict(task.settings)
    again = made(task.name, rest.pop("job_name"), rest.pop("schedule"), rest)
    assert (read.name, again) == (set_name, spec)
    assert task_text(again, read.name) == text


def test_no_setting_of_a_task_is_forgotten_here() -> None:
    assert TASKS.keys() | {"job", "schedule"} == TaskOfFile.model_fields.keys()


@given(NAMES, st.fixed_dictionaries({}, optional=LIMITS))
def test_limits_of_a_group_are_read_back_as_they_were(name: str, limits: dict[str, Any]) -> None:
    shown_limits = {camel(limit): shown(limits.get(limit)) for limit in LIMITS}
    read = read_back(files_of([], groups=[{"name": name, **shown_limits}, {"name": "x/y", **shown_limits, "keep": 1}]))
    expected = [WantedGroup(name, limits)] if limits else []
    assert [one for one in read.groups if one.name != "x/y"] == expected


@st.composite
def alarms(draw: st.DrawFn) -> AlarmSpec:
    condition = draw(st.sampled_from(Condition))
    kind = draw(st.sampled_from(sorted(SUBJECTS[condition])))
    subject = None if kind in UNNAMED else draw(NAMES)
    chosen = draw(CONDITIONS[condition])
    channels = tuple(draw(st.lists(NAMES, max_size=2)))
    severity, description = draw(st.sampled_from(Severity)), draw(TEXTS)
    return AlarmSpec(draw(NAMES), condition, kind, subject, chosen, channels, severity, description)


def of_set(kind: DefinitionKind, set_name: str, name: str, definition: Mapping[str, Any]) -> Callable[[], WantedSet]:
    """Return the set that an export with nothing but this is read as."""
    text = files_of([], definitions={f"{kind}s": [{"name": name, "setName": set_name, "definition": definition}]})
    return lambda: read_back(text).sets[0]


@settings(max_examples=300)
@given(NAMES, alarms())
def test_an_alarm_is_read_back_as_it_was(set_name: str, alarm: AlarmSpec) -> None:
    found = of_set(DefinitionKind.ALARM, set_name, alarm.name, definition_of(alarm))()
    assert found == WantedSet(set_name, (), {DefinitionKind.ALARM: [alarm]})


@given(NAMES, NAMES, NAMES, TEXTS, st.dictionaries(TEXTS, TEXTS), st.lists(NAMES, max_size=3), TEXTS, st.booleans())
def test_a_webhook_is_read_back_as_it_was(
    set_name: str,
    name: str,
    url: str,
    document: str,
    variables: dict[str, Any],
    secrets: list[str],
    description: str,
    ordered: bool,
) -> None:
    webhook = new_webhook(name, url, document or "{ x }", variables, secrets, description=description, ordered=ordered)
    found = of_set(DefinitionKind.WEBHOOK, set_name, name, webhook.definition)()
    assert found.definitions == {DefinitionKind.WEBHOOK: [webhook]}


@given(NAMES, NAMES, NAMES, st.sampled_from(HookKind), st.lists(NAMES, min_size=1, max_size=3), NAMES, TEXTS)
def test_a_hook_is_read_back_as_it_was(
    set_name: str, name: str, job: str, kind: HookKind, secrets: list[str], argument: str, description: str
) -> None:
    chosen: dict[str, Any] = {"secrets": tuple(secrets), "argument": argument, "description": description}
    hook = new_hook(name, job, kind, enabled=True, **chosen)
    found = of_set(DefinitionKind.HOOK, set_name, name, hook.definition)()
    assert found.definitions == {DefinitionKind.HOOK: [hook]}
