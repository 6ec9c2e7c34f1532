"""The Python client against a real server: what it reads and changes."""

from collections.abc import Callable, Iterator
from contextlib import aclosing, closing
from datetime import UTC, datetime, timedelta

import pytest

from cronograph.graphql.client import (
    AsyncClient,
    Client,
    EventFilter,
    EventKind,
    ExecutionEvent,
    NewRun,
    OperationError,
    Outcome,
    OverlapPolicy,
    Priority,
    RefusedError,
    RunEvent,
    RunState,
    ScheduleSyntax,
    TaskEvent,
    TaskSource,
    Trigger,
    calendar,
    cron,
    interval,
    once,
    queries,
)
from tests.support.processes import CronographProcess

NEVER_SOON = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture
def client(server: CronographProcess) -> Iterator[Client]:
    with Client(server.url) as opened:
        yield opened


@pytest.mark.costly
def test_a_task_lives_through_its_whole_life(client: Client) -> None:
    made = client.create_task(
        "life", "nap", cron("0 0 3 * * *", "Europe/Berlin"), args={"seconds": 0}, overlap=OverlapPolicy.ALLOW
    )
    assert (made.source, made.version, made.schedule.timezone) == (TaskSource.API, 1, "Europe/Berlin")
    changed = client.update_task("life", expected_version=1, overlap=None, schedule=interval("1h"), retries=7)
    assert (changed.retries, changed.schedule.syntax) == (7, ScheduleSyntax.INTERVAL)
    with pytest.raises(RefusedError) as caught:
        client.update_task("life", expected_version=1, retries=8)
    assert caught.value.codes == {"VERSION_CONFLICT"}
    assert client.pause_task("life", reason="tea").pause_reason == "tea"
    explained = client.explain_task("life")
    assert explained is not None
    assert (explained.code, "tea" in explained.sentence) == ("PAUSED", True)
    assert client.resume_task("life").is_enabled
    run = client.trigger_task("life")
    *_, last = client.run_updates(run.id)
    assert (last.state, last.task_name, last.trigger) == (RunState.SUCCESS, "life", Trigger.MANUAL)
    found = client.executions(task_name="life", outcomes=[Outcome.SUCCESS]).items
    assert [(execution.records_processed, execution.attempt) for execution in found] == [(7, 1)]
    status = client.tasks(filter={"name": {"eq": "life"}}).items[0].last_status
    assert status is not None
    assert status.id == found[0].id
    assert client.delete_task("life") == "life"
    assert client.task("life") is None


def test_runs_are_enqueued_changed_cancelled_and_retried(client: Client) -> None:
    later = NewRun(job_name="nap", args={"seconds": 0}, group="later", run_at=NEVER_SOON, unique_key="only-one")
    first, again = client.enqueue_runs([later, later])
    assert (first.id, first.is_deduplicated, again.is_deduplicated) == (again.id, False, True)
    assert first.available_at == NEVER_SOON
    explained = client.explain_run(first.id)
    assert explained is not None
    assert explained.changes_at == NEVER_SOON
    high = client.set_run_priorities(Priority.HIGH, ids=[first.id])
    assert (high.count, high.runs[0].priority) == (1, Priority.HIGH)
    would = client.cancel_runs(filter={"group": {"eq": "later"}}, dry_run=True)
    assert (would.count, would.runs[0].state) == (1, RunState.CANCELLED)
    assert client.cancel_run(first.id, reason="no").state is RunState.CANCELLED
    retried = client.retry_run(first.id, args={"seconds": 0.0})
    *_, last = client.run_updates(retried.id)
    assert (last.state, last.trigger) == (RunState.SUCCESS, Trigger.RETRY)
    assert {run.id for run in client.runs(states=[RunState.CANCELLED], group="later")} == {first.id}


def test_a_run_is_waited_for_until_it_has_ended(client: Client) -> None:
    run = client.trigger_job("nap", {"seconds": 0}).run
    assert run is not None
    assert client.wait(run, timeout=60).state is RunState.SUCCESS
    (later,) = client.enqueue_runs([NewRun(job_name="nap", args={"seconds": 0}, run_at=NEVER_SOON)])
    with pytest.raises(TimeoutError, match=rf"run {later.id} has not ended within 0.1 s"):
        client.wait(later.id, timeout=0.1)
    with pytest.raises(LookupError, match="run 987654321 does not exist"):
        client.wait(987654321)
    client.cancel_run(later.id)


def test_a_repetition_with_the_same_key_changes_nothing(client: Client) -> None:
    first = client.trigger_job("nap", {"seconds": 0}, idempotency_key="once-only")
    again = client.trigger_job("nap", {"seconds": 0}, idempotency_key="once-only")
    assert first.run is not None
    assert again.run is not None
    assert first.run.id == again.run.id


def test_groups_and_nodes_are_read_and_steered(client: Client) -> None:
    assert client.pause_group("quiet", reason="exams").pause_reason == "exams"
    assert client.limit_group("quiet", 3).max_running == 3
    assert client.age_group("quiet", 600).max_wait_low == 600
    assert client.keep_group("quiet", 86400).keep == 86400
    capped = client.cap_group("quiet", 5).cap
    assert capped is not None
    assert (capped.limit, capped.when_full) == (5, "REFUSE")
    assert client.cap_group("quiet", None).cap is None
    rate = client.rate_group("quiet", 100, 60, 7).rate
    assert rate is not None
    assert (rate.limit, rate.per, rate.burst) == (100, 60.0, 7)
    assert not client.resume_group("quiet").is_paused
    assert [group.max_running for group in client.groups(filter={"name": {"eq": "quiet"}}).items] == [3]
    assert "nap" in client.nodes(first=1).items[0].jobs
    job = client.job("nap")
    assert job is not None
    assert job.args_schema["properties"]["seconds"]["type"] == "number"
    assert client.job("nope") is None
    assert job in client.available_jobs()


def test_views_are_saved_changed_and_deleted(client: Client) -> None:
    view = client.save_view("/runs", "stuck", "?state=STUCK")
    assert (view.page, view.search, view.is_shared) == ("/runs", "?state=STUCK", False)
    team = client.update_view(view.id, shared=True)
    assert (team.name, team.search, team.is_shared) == ("stuck", "?state=STUCK", True)
    assert client.update_view(view.id, name="all", search="").search == ""
    assert [one.name for one in client.saved_views("/runs")] == ["all"]
    assert client.saved_views("/log") == ()
    with pytest.raises(RefusedError, match="the team has a view"):
        client.save_view("/runs", "all", shared=True)
    assert client.delete_view(view.id).name == "all"
    assert client.saved_views() == ()


def test_schedules_of_every_syntax_are_judged(client: Client) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    for schedule in (cron("0 0 9 * * MON-FRI"), calendar("Mon *-*-* 09:30"), interval(90), once(soon)):
        answer = client.validate_schedule(schedule)
        assert answer.is_valid, answer.error
        assert answer.humanized
        assert answer.next_executions[0] > datetime.now(UTC)
    wrong = client.validate_schedule(cron("0 9 * * 1")).error
    assert wrong is not None
    assert wrong.suggestion


def test_lists_are_read_to_their_end(client: Client) -> None:
    names = [f"row-{number}" for number in range(5)]
    for name in names:
        client.create_task(name, "nap", once(NEVER_SOON), args={"seconds": 1})
    listing = queries.tasks(first=2, filter={"name": {"startsWith": "row-"}})
    assert [task.name for task in client.every(listing)] == names[::-1]
    assert len(client.run_operation(listing)) == 2
    by_name = client.tasks(filter={"name": {"startsWith": "row-"}}, order_by=[{"field": "NAME"}])
    assert [task.name for task in by_name] == names


def test_the_largest_pages_are_within_the_limits_of_the_server(client: Client) -> None:
    assert len(client.tasks(first=200)) >= 1
    client.runs(first=200)
    client.executions(first=200)
    client.skipped_occurrences(first=200)
    client.job_logs(limit=1000)


def test_refusals_are_errors_with_codes(client: Client) -> None:
    attempts: list[tuple[Callable[[], object], str]] = [
        (lambda: client.trigger_job("nope"), "UNKNOWN_JOB"),
        (lambda: client.trigger_job("nap", {"secs": 1}), "INVALID_ARGS"),
        (lambda: client.pause_task("nope"), "NOT_FOUND"),
        (lambda: client.create_task("x", "tick", cron("0 0 * * *")), "INVALID_SCHEDULE"),
        (lambda: client.delete_task("tick"), "CODE_TASK"),
    ]
    for attempt, code in attempts:
        with pytest.raises(RefusedError) as caught:
            attempt()
        assert caught.value.codes == {code}
    with pytest.raises(OperationError) as refused:
        client.tasks(first=10_000)
    assert refused.value.codes
    with pytest.raises(OperationError) as invalid:
        next(client.events(after="yesterday"))
    assert invalid.value.codes == {"INVALID_CURSOR"}
    with pytest.raises(OperationError) as missing:
        next(client.run_updates(987654321))
    assert missing.value.codes == {"NOT_FOUND"}


def test_events_come_with_the_changed_things(client: Client) -> None:
    place = client.as_of()
    run = client.trigger_job("nap", {"seconds": 0}).run
    assert run is not None
    kinds: list[EventKind] = []
    with closing(client.events(after=place, filter=EventFilter(run_id=run.id), detailed=True)) as events:
        for event in events:
            kinds.append(event.kind)
            assert isinstance(event, RunEvent | ExecutionEvent)
            assert event.run is not None
            if isinstance(event, ExecutionEvent) and event.kind is EventKind.EXECUTION_FINISHED:
                assert event.execution is not None
                assert event.execution.outcome is Outcome.SUCCESS
                break
    assert kinds[0] is EventKind.RUN_CREATED
    assert EventKind.EXECUTION_STARTED in kinds


async def test_the_asynchronous_client_does_the_same(server: CronographProcess) -> None:
    async with AsyncClient(server.url) as client:
        await client.create_task("async-life", "nap", once(NEVER_SOON), args={"seconds": 0})
        task = await client.task("async-life")
        assert task is not None
        run = await client.trigger_task("async-life")
        states = [update.state async for update in client.run_updates(run.id)]
        assert states[-1] is RunState.SUCCESS
        listing = queries.tasks(first=1, filter={"name": {"in": ["async-life", "tick"]}})
        assert [row.name async for row in client.every(listing)] == ["async-life", "tick"]
        data = await client.execute("query A { asOf } query B { viewer { name } }", operation_name="B")
        assert data["viewer"]["name"]
        async with aclosing(client.events(filter=EventFilter(task_name="tick"))) as events:
            event = await anext(events)
            assert isinstance(event, TaskEvent | RunEvent | ExecutionEvent)
            assert event.task_name == "tick"
        with pytest.raises(RefusedError):
            await client.delete_task("tick")
