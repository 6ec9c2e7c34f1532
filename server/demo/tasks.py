"""The example tasks of ``cronograph demo``: all four syntaxes, several groups and policies, lively within seconds."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ...jobs.actions.runs import enqueue_runs
from ...jobs.actions.tasks import create_task, pause_task
from ...jobs.core.model import (
    MisfirePolicy,
    NewRun,
    OverlapPolicy,
    Priority,
    ScheduleSpec,
    TaskSource,
    TaskSpec,
    Trigger,
)
from ...jobs.core.schedule import Syntax
from ...jobs.store.db.database import Database
from ...jobs.store.db.transaction import Tx
from ...jobs.store.statements import tasks

JOBS_MODULES = ("cronograph.server.demo.jobs",)
"""The module whose jobs these tasks run."""

DATABASE_URL = "sqlite:///cronograph-demo.db"
"""A file of its own, so that trying out never meets real data."""

SUBMITTER = "demo"
PAUSED = "photo-archive"
PAUSE_REASON = "the archive's disk is full; ask in #storage"

FREQUENT: Sequence[TaskSpec] = (
    TaskSpec(
        "front-page",
        "check_website",
        ScheduleSpec(Syntax.CRON, "*/5 * * * * *"),
        description="Every five seconds: is the shop's front page well?",
        group="monitoring",
        priority=Priority.HIGH,
    ),
    TaskSpec(
        "orders-from-the-web",
        "import_orders",
        ScheduleSpec(Syntax.CRON, "10/20 * * * * *"),
        args={"source": "web"},
        description="Three times a minute; a failure is tried again after ten seconds",
        group="shop",
        retry_delay=10,
    ),
    TaskSpec(
        "orders-from-the-market",
        "import_orders",
        ScheduleSpec(Syntax.INTERVAL, "45s"),
        args={"source": "market"},
        description="Every 45 seconds on a fixed grid; overdue occurrences queue up",
        group="shop",
        owner="channel:42",
        retry_delay=5,
    ),
    TaskSpec(
        "parcel-news",
        "call_webhook",
        ScheduleSpec(Syntax.CALENDAR, "*-*-* *:*:00/15"),
        description="A calendar event every quarter of a minute; half of the calls fail and are retried",
        group="partners",
        retry_delay=4,
    ),
    TaskSpec(
        "warehouse-count",
        "sync_inventory",
        ScheduleSpec(Syntax.INTERVAL, "30s"),
        description="Snoozes while the warehouse is busy",
        group="shop",
        jitter=3,
    ),
    TaskSpec(
        "new-orders",
        "new_orders",
        ScheduleSpec(Syntax.INTERVAL, "40s"),
        description="Enqueues a run for each order, and a mail to its customer, of which 12 a minute are allowed",
        group="orders",
    ),
    TaskSpec(
        "spring-album",
        "resize_photos",
        ScheduleSpec(Syntax.CRON, "5/30 * * * * *"),
        args={"album": "spring"},
        description="Runs in a thread; the next one is skipped while it still works",
        group="media",
        timeout=20,
    ),
)
"""Tasks that are due several times a minute."""

RARE: Sequence[TaskSpec] = (
    TaskSpec(
        "closing-the-books",
        "close_books",
        ScheduleSpec(Syntax.CRON, "50 * * * * *"),
        description="Waits for the runs of five shops without holding a slot: a flow",
        group="reports",
    ),
    TaskSpec(
        "large-order",
        "approve_order",
        ScheduleSpec(Syntax.CRON, "25 */4 * * * *"),
        args={"order": 4711, "customer": "grace"},
        description="Waits until somebody approves it in the inbox",
        group="orders",
        overlap=OverlapPolicy.ALLOW,
    ),
    TaskSpec(
        "newsletter",
        "send_newsletter",
        ScheduleSpec(Syntax.CRON, "0 * * * * *"),
        args={"subject": "Spring is here"},
        description="At every full minute; eight seconds with a progress bar",
        group="marketing",
        overlap=OverlapPolicy.SKIP,
    ),
    TaskSpec(
        "sales-report",
        "monthly_report",
        ScheduleSpec(Syntax.INTERVAL, "1m30s"),
        description="Continues from its last checkpoint",
        group="reports",
    ),
    TaskSpec(
        "demand-forecast",
        "forecast_demand",
        ScheduleSpec(Syntax.CRON, "20 * * * * *"),
        description="Once a minute in a child process",
        group="reports",
    ),
    TaskSpec(
        "lost-partner",
        "call_webhook",
        ScheduleSpec(Syntax.CRON, "30 * * * * *"),
        args={"partner": "closed-down"},
        description="Fails for good at every attempt: an error that should be noticed",
        group="partners",
    ),
    TaskSpec(
        "failure-digest",
        "graphql_request",
        ScheduleSpec(Syntax.CRON, "45 * * * * *"),
        args={"query": "{ jobLogs(limit: 5, onlyFailures: true) { id jobName errorMessage } }"},
        description="Asks this server's own API for the newest failures: a task is an API request",
        group="monitoring",
    ),
    TaskSpec(
        "weekly-accounts",
        "monthly_report",
        ScheduleSpec(Syntax.CALENDAR, "Mon *-*-* 08:00:00", "Europe/Berlin"),
        description="Mondays at eight, Berlin time",
        group="reports",
    ),
    TaskSpec(
        PAUSED,
        "resize_photos",
        ScheduleSpec(Syntax.CRON, "0 */2 * * * *"),
        args={"album": "archive"},
        description="Paused: its occurrences are recorded as skipped",
        group="media",
    ),
)
"""Tasks that are due once a minute or less often."""

MISSED = TaskSpec(
    "night-audit",
    "check_website",
    ScheduleSpec(Syntax.CRON, "0 0 * * * *"),
    description="Was due while no server ran: recorded as missed, and not made up for (misfire NONE)",
    group="monitoring",
    misfire=MisfirePolicy.NONE,
)
"""A task that is made as of some hours ago."""
MISSED_FOR = timedelta(hours=3)


async def prepare_demo(database: Database) -> None:
    """Make the example tasks, and some runs to look at right away; tasks of an earlier demo stay as they are."""
    await database.write(_prepare)


def _prepare(tx: Tx) -> None:
    for spec in demo_tasks(tx.now):
        # What exists is from an earlier demo in this folder, and its visitor may have changed it.
        if tasks.by_name(tx.conn, spec.name) is None:
            create_task(tx, spec, source=TaskSource.API, submitter=SUBMITTER)
            if spec.name == PAUSED:
                pause_task(tx, PAUSED, reason=PAUSE_REASON, actor=SUBMITTER)
    if tasks.by_name(tx.conn, MISSED.name) is None:
        then = tx.now - MISSED_FOR
        create_task(replace(tx, clock=lambda: then, _now=None), MISSED, source=TaskSource.API, submitter=SUBMITTER)
    enqueue_runs(tx, first_runs())


def demo_tasks(now: datetime) -> Sequence[TaskSpec]:
    """Return the tasks; ``now`` decides when the one-time task is due, 40 seconds later."""
    due = (now + timedelta(seconds=40)).astimezone(UTC).replace(microsecond=0)
    opening = TaskSpec(
        "grand-opening",
        "grand_opening",
        ScheduleSpec(Syntax.TIMESTAMP, due.isoformat().replace("+00:00", "Z")),
        description="Once; afterwards the task stays with its history",
        group="marketing",
    )
    return (*FREQUENT, opening, *RARE)


def first_runs() -> Sequence[NewRun]:
    """Return runs that start as soon as the server serves, so that nobody waits for the first schedule."""
    return (
        NewRun("import_orders", Trigger.API, {"source": "backlog"}, group="shop", retry_delay=5, submitter=SUBMITTER),
        NewRun("send_newsletter", Trigger.API, {"subject": "Welcome"}, group="marketing", submitter=SUBMITTER),
        NewRun("resize_photos", Trigger.API, {"album": "opening"}, group="media", submitter=SUBMITTER),
        NewRun("call_webhook", Trigger.API, {}, group="partners", retry_delay=4, submitter=SUBMITTER),
        NewRun("check_website", Trigger.API, {}, group="monitoring", submitter=SUBMITTER),
        NewRun("approve_order", Trigger.API, {"order": 17, "customer": "ada"}, group="orders", submitter=SUBMITTER),
        NewRun("new_orders", Trigger.API, {}, group="orders", submitter=SUBMITTER),
        NewRun("close_books", Trigger.API, {}, group="reports", submitter=SUBMITTER),
    )
