"""Django's own tasks on Cronograph's backend: what Django asks of one, with a node of its own and in test cases."""

from pathlib import Path

import django
import pytest

from tests.server.test_django import PROJECT, Project, django_database

NEWER = django.VERSION >= (6,)
"""Whether Django has the tasks itself; else the package ``django-tasks`` has them under another name."""
HAS_OPTIONS = django.VERSION >= (6, 1) or not NEWER
"""Whether ``@task`` takes the options of a backend."""


def of_this_django(text: str) -> str:
    """Return the text of a program for the Django that is installed."""
    if NEWER:
        text = text.replace('"django_tasks", ', "").replace("django_tasks", "django.tasks")
        text = text.replace("InvalidTaskError", "InvalidTask")
    if HAS_OPTIONS:
        return text
    before, _, rest = text.partition("# OPTIONS\n")
    return (before + rest.partition("# END\n")[2]).replace("HAS_OPTIONS = True", "HAS_OPTIONS = False")


pytestmark = [pytest.mark.timeout(240), pytest.mark.both_databases]  # Django has a driver for each

TASKS_OF_NEWS = """
import django_tasks
from django_tasks import TaskContext
from .models import Article

HAS_OPTIONS = True

def task(function=None, **options):
    if not HAS_OPTIONS:
        options = {name: value for name, value in options.items() if name in ("takes_context", "priority")}
    return django_tasks.task(**options) if function is None else django_tasks.task(function)

class Unwritten(Exception): ...

@task
def anything(*args, **kwargs): ...

@task()
async def anything_async(*args, **kwargs): ...

@task
def answer(a=40, *, b=2):
    return a + b

@task(takes_context=True, retries=2, retry_delay=0)
def patient(context, wanted):
    assert isinstance(context, TaskContext)
    if context.attempt < wanted:
        raise Unwritten("not yet")
    return [context.attempt, context.task_result.id]

@task
def fails(kind):
    raise {"value": ValueError, "own": Unwritten, "exit": SystemExit}[kind](f"smtp://me:hunter2@mail failed by {kind}")

@task
def sized(chosen=frozenset({1, 2})):
    return len(chosen)

@task
def odd():
    return lambda: True

@task(unique_key="index-{page}", labels={"team": "news"}, timeout="5m", priority=7)
def index(page, ctx=None):
    return Article.objects.count()

@task
async def counts():
    return await Article.objects.acount()

@task(schedule="0 0 6 * * *", timezone="Europe/Berlin")
def morning(): ...
"""
PROJECT_WITH_TASKS = {
    **PROJECT,
    "news/settings.py": PROJECT["news/settings.py"].replace('"news",\n]', '"django_tasks", "news",\n]')
    + """
TASKS = {
    "default": {"BACKEND": "cronograph.django.TaskBackend", "QUEUES": []},
    "strict": {
        "BACKEND": "cronograph.django.TaskBackend", "QUEUES": ["default", "mail"], "OPTIONS": {"retries": 5},
    },
}
""",
    "news/tasks.py": TASKS_OF_NEWS,
}

CONTRACT = """
import asyncio, dataclasses
from datetime import datetime, timedelta
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from django_tasks import TaskResultStatus, default_task_backend, task, task_backends
from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist, TaskResultMismatch
from django_tasks.signals import task_enqueued
from cronograph.django import TaskBackend
from cronograph.jobs.registry import default_registry
from news import tasks

call_command("migrate", run_syncdb=True, verbosity=0)
backend = default_task_backend
assert isinstance(task_backends["default"], TaskBackend)
assert backend.supports_defer and backend.supports_async_task
assert backend.supports_get_result and backend.supports_priority
assert backend.check() == []

def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")

# Enqueued, read back, refreshed: the same in every way in.
told = []
task_enqueued.connect(lambda sender, task_result, **_: told.append((sender, task_result.id)), weak=False)
for one in (tasks.anything, tasks.anything_async):
    ways = (one.enqueue, lambda *args, **kw: asyncio.run(one.aenqueue(*args, **kw)),
            lambda *args, **kw: backend.enqueue(one, args, kw))
    for enqueue in ways:
        result = enqueue(1, two=[3])
        assert (result.status, result.task, result.backend) == (TaskResultStatus.READY, one, "default")
        assert (result.args, result.kwargs, result.attempts, result.errors) == ([1], {"two": [3]}, 0, [])
        assert (result.started_at, result.finished_at, result.last_attempted_at) == (None, None, None)
        assert one.get_result(result.id) == result == asyncio.run(one.aget_result(result.id))
        before = dataclasses.asdict(result)
        result.refresh()
        asyncio.run(result.arefresh())
        assert dataclasses.asdict(result) == before
        assert told.pop() == (TaskBackend, result.id)
        assert not result.is_finished
        refused(ValueError, "not finished yet", lambda: result.return_value)
refused(TaskResultMismatch, "Task does not match", lambda: tasks.answer.get_result(result.id))
for number in ("123456", "no number", "9" * 40, 123456):
    refused(TaskResultDoesNotExist, "", lambda: tasks.answer.get_result(number))
# The run of a job that is no task has no result.
from news.jobs import publish
refused(TaskResultDoesNotExist, "", lambda: backend.get_result(str(publish.enqueue_sync(article_id=1).run_id)))

# Arguments as they were given, by place and by name.
for given in (((1,), {"b": 2}), ((), {"a": 1, "b": 2}), ((1,), {}), ((), {})):
    result = tasks.answer.enqueue(*given[0], **given[1])
    assert (result.args, result.kwargs) == (list(given[0]), given[1]), result
    assert tasks.answer.get_result(result.id) == result
refused(TypeError, "news.tasks.answer: got an unexpected keyword argument 'c'", lambda: tasks.answer.enqueue(c=1))
refused(TypeError, "Unsupported type", lambda: tasks.anything.enqueue(datetime.now()))

# Settings of a run: time, queue, priority.
soon = timezone.now() + timedelta(days=1)
later = tasks.answer.using(run_after=soon, priority=10, queue_name="mail")
result = later.enqueue(1)
again = backend.get_result(result.id)
assert (again, again.task, again.task.priority, again.task.run_after) == (result, later, 10, soon)
queue = default_registry().queue
run, attempts = queue.history(int(result.id))
assert (run.group, run.priority, run.available_at, run.retries, attempts) == ("mail", "high", soon, 0, [])
assert queue.history(int(tasks.answer.using(priority=-100, backend="strict").enqueue().id))[0].priority == "low"
assert queue.history(int(tasks.answer.using(retries=4, timeout=9.0).enqueue().id))[0].retries == 4
unknown = "Queue 'other' is not valid"
refused(InvalidTaskError, unknown, lambda: tasks.answer.using(queue_name="other", backend="strict"))
refused(InvalidTaskError, "priority must be a whole number", lambda: tasks.answer.using(priority=101))
refused(InvalidTaskError, "run_after must be an aware datetime", lambda: tasks.answer.using(run_after=datetime.now()))
refused(InvalidTaskError, "must be defined at a module level", lambda: task(lambda: None) and task()(any))
refused(TypeError, "using: has no option 'retrys'", lambda: tasks.answer.using(retrys=1))

# OPTIONS
# The options of a job.
first, second = tasks.index.enqueue(7), tasks.index.enqueue(page=7)
assert (first.id, first.task.priority) == (second.id, 7)
run, _ = queue.history(int(first.id))
assert (run.unique_key, run.labels, run.timeout, run.priority) == ("index-7", {"team": "news"}, 300.0, "high")
definition = default_registry().get("news.tasks.morning")
assert (definition.schedule.value, definition.schedule.timezone) == ("0 0 6 * * *", "Europe/Berlin")
def wrong(): ...
refused(InvalidTaskError, "retries: must be", lambda: task(retries=-1)(wrong))
# END

# In the transaction that is open.
class Undone(Exception): ...
kept = None
try:
    with transaction.atomic():
        lost = tasks.answer.enqueue()
        assert tasks.answer.get_result(lost.id) == lost
        raise Undone
except Undone:
    refused(TaskResultDoesNotExist, lost.id, lost.refresh)
with transaction.atomic():
    kept = tasks.answer.enqueue()
kept.refresh()
connection.close()
print("done")
"""
NODE = """
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connection
from django_tasks import TaskResultStatus
from django_tasks.signals import task_finished, task_started
from starlette.testclient import TestClient
from cronograph.django import with_dashboard
from cronograph.jobs import RunFailed, RunHandle
from news import tasks
from news.models import Article

call_command("migrate", run_syncdb=True, verbosity=0)
Article.objects.create(title="one")
told, errors = [], {}
for name, signal in (("started", task_started), ("finished", task_finished)):
    def tell(task_result, name=name, **_):
        told.append((task_result.id, name, str(task_result.status)))
        errors[task_result.id] = task_result.errors
    signal.connect(tell, weak=False)

def ended(result):
    try:
        RunHandle.of_sync(int(result.id)).result_sync(timeout=60)
    except RunFailed:
        pass  # which the result says, too
    result.refresh()
    assert result.enqueued_at <= result.started_at <= result.last_attempted_at <= result.finished_at
    return result

with TestClient(with_dashboard(get_asgi_application(), poll=0.2), base_url="http://localhost"):
    good = ended(tasks.answer.enqueue(1))
    assert (good.status, good.return_value, good.attempts, good.errors) == (TaskResultStatus.SUCCESSFUL, 3, 1, [])
    assert len(good.worker_ids) == 1
    assert [one[1:] for one in told if one[0] == good.id] == [("started", "RUNNING"), ("finished", "SUCCESSFUL")]
    assert ended(tasks.counts.enqueue()).return_value == 1 == ended(tasks.index.enqueue(3)).return_value
    assert ended(tasks.anything_async.enqueue(1, two=2)).return_value is None
    # A default that JSON has no value for stays with the function.
    assert (ended(tasks.sized.enqueue()).return_value, ended(tasks.sized.enqueue(chosen=[1])).return_value) == (2, 1)

    patient = ended(tasks.patient.using(retries=2, retry_delay=0).enqueue(3))
    assert (patient.return_value, patient.attempts) == ([3, patient.id], 3)
    assert [one.exception_class for one in patient.errors] == [tasks.Unwritten] * 2
    events = [one[1:] for one in told if one[0] == patient.id]
    assert events == [("started", "RUNNING")] * 3 + [("finished", "SUCCESSFUL")], events
    for kind, raised in (("value", ValueError), ("own", tasks.Unwritten), ("exit", SystemExit)):
        failed = ended(tasks.fails.enqueue(kind))
        (error,) = failed.errors
        assert (failed.status, error.exception_class) == (TaskResultStatus.FAILED, raised), failed
        for one in (error, errors[failed.id][-1]):
            assert one.traceback.rstrip().endswith(f"{raised.__name__}: smtp://***@mail failed by {kind}"), one
            assert "hunter2" not in one.traceback
        try:
            failed.return_value
        except ValueError as wanted:
            assert str(wanted) == "Task failed"
        assert [one[1:] for one in told if one[0] == failed.id] == [("started", "RUNNING"), ("finished", "FAILED")]
    odd = ended(tasks.odd.enqueue())
    assert (odd.errors[0].exception_class, odd.status) == (TypeError, TaskResultStatus.FAILED)
print("done")
connection.close()
"""
IN_TEST_CASES = """
import unittest
from django.core.management import call_command
from django.db import connection
from django.test import TestCase
from django_tasks import TaskResultStatus
from cronograph.django import CronographTestMixin
from news import tasks

call_command("migrate", run_syncdb=True, verbosity=0)

class Answering(CronographTestMixin, TestCase):
    def test_a_task_runs_when_it_is_drained(self):
        result = tasks.answer.enqueue(1)
        self.assertEnqueued("news.tasks.answer", {"a": 1})
        assert result.status == TaskResultStatus.READY
        self.drain()
        result.refresh()
        assert result.return_value == 3

result = unittest.TestResult()
Answering("test_a_task_runs_when_it_is_drained").run(result)
print(result.testsRun, result.errors, result.failures)
connection.close()
"""


@pytest.fixture
def project(tmp_path: Path, empty_database_url: str) -> Project:
    for name, text in PROJECT_WITH_TASKS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(of_this_django(text))
    return Project(tmp_path, django_database(empty_database_url))


@pytest.mark.costly
def test_tasks_are_enqueued_and_their_results_read_as_django_has_it(project: Project) -> None:
    project.run("manage.py", "cronograph", "migrate")
    assert project.program(of_this_django(CONTRACT)) == ["done"]


@pytest.mark.costly
def test_a_node_runs_tasks_and_tells_django_of_them(project: Project) -> None:
    assert project.program(of_this_django(NODE))[-1] == "done"


@pytest.mark.costly
def test_test_cases_have_a_queue_of_their_own_for_tasks(project: Project) -> None:
    assert project.program(of_this_django(IN_TEST_CASES))[-1] == "1 [] []"
