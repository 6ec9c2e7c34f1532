"""`cronograph.django` in a project of its own: each test is a program, since Django is set up once in a process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from cronograph.jobs.store.db.address import parse_url
from tests.docs.blocks import blocks_of
from tests.support.sources import ROOT

pytestmark = [pytest.mark.timeout(240), pytest.mark.both_databases]  # Django has a driver for each
"""Each program sets up Django in an interpreter of its own."""

PROJECT = {
    "news/__init__.py": "",
    "news/settings.py": """
import json, os
SECRET_KEY = "for tests only"
ALLOWED_HOSTS = ["localhost", "testserver"]
INSTALLED_APPS = [
    "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages",
    "django.contrib.sessions", "cronograph.django", "news",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
ROOT_URLCONF = "news.urls"
DATABASES = {"default": json.loads(os.environ["NEWS_DATABASE"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
CRONOGRAPH = json.loads(os.environ.get("NEWS_CRONOGRAPH", "{}"))
""",
    "news/urls.py": """
from django.contrib import admin
from django.urls import path
urlpatterns = [path("admin/", admin.site.urls)]
""",
    "news/models.py": """
from django.db import models
class Article(models.Model):
    title = models.CharField(max_length=100)
    facts = models.JSONField(default=dict)
""",
    "news/jobs.py": """
from cronograph.jobs import JobContext, job
from .models import Article

@job(unique_key="article-{article_id}")
def publish(ctx: JobContext, article_id: int) -> int:
    ctx.log.info("published", title=Article.objects.get(pk=article_id).title)
    return 1

@job(schedule="0 0 6 * * *")
def digest() -> int:
    return Article.objects.count()
""",
    "manage.py": """
import os, sys
from django.core.management import execute_from_command_line
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "news.settings")
execute_from_command_line(sys.argv)
""",
}
TRANSACTIONS = """
import asyncio
from django.core.management import call_command
from django.db import connection, transaction
from cronograph.django import enqueue_on_commit
from news.jobs import publish
from news.models import Article

call_command("migrate", run_syncdb=True, verbosity=0)

class Undone(Exception): ...

def write(title, undone=False):
    try:
        with transaction.atomic():
            article = Article.objects.create(title=title, facts={"n": 1})
            handle = publish.enqueue_sync(article_id=article.pk)
            # Django's own conversions are as before.
            assert Article.objects.get(pk=article.pk).facts == {"n": 1}
            assert Article.objects.filter(facts__n=1).exists()
            if undone:
                raise Undone
    except Undone:
        return None
    return handle

kept, gone = write("kept"), write("gone", undone=True)
assert (kept is not None, gone) == (True, None)
with transaction.atomic():
    try:
        with transaction.atomic():
            publish.enqueue_sync(article_id=98)
            raise Undone
    except Undone:
        pass
    publish.enqueue_sync(article_id=99)
alone = publish.enqueue_sync(article_id=100)
assert enqueue_on_commit(publish, article_id=101) is not None
assert asyncio.run(publish.enqueue(article_id=102)).run_id
from sqlalchemy.exc import DBAPIError
from cronograph.jobs import UserError
from cronograph.server.django.enqueueing import latest_runs
from cronograph.server.django.enqueueing import joined
from cronograph.jobs.store.db.dialects.lent import lent
print([(run.args["article_id"], run.unique_key) for run in reversed(latest_runs(10))])
# What is refused leaves the transaction alone; after an error of the database all of it is rolled back.
with transaction.atomic():
    try:
        publish.options(group="x" * 500).enqueue_sync(article_id=103)
    except UserError as error:
        print(error)
    Article.objects.create(title="refused")
try:
    with transaction.atomic(), joined("default") as driver, lent(driver) as conn:
        Article.objects.create(title="broken")
        conn.exec_driver_sql("SELECT nothing")
except DBAPIError:
    print("broken")
print(*Article.objects.order_by("pk").values_list("title", flat=True))
connection.close()
"""
PAGES = """
import unittest
from django.contrib.auth import get_user_model
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client, TestCase
from starlette.testclient import TestClient
from cronograph.django import CronographTestMixin, enqueue_on_commit, with_dashboard
from cronograph.server.django.enqueueing import latest_runs
from news.jobs import digest, publish

call_command("migrate", run_syncdb=True, verbosity=0)
make = get_user_model().objects.create_user
ada, bob = make("ada", is_staff=True, is_superuser=True), make("bob", is_staff=True)
client = Client()
client.force_login(ada)
page = client.get("/admin/cronograph/run/")
print("must be there, but is not" in page.content.decode())

with TestClient(with_dashboard(get_asgi_application()), base_url="http://localhost") as visitor:
    assert visitor.get("/ops/jobs/").status_code == 401
    for user in (ada, bob):
        client.force_login(user)
        visitor.cookies.set("sessionid", client.cookies["sessionid"].value)
        viewer = visitor.post("/ops/jobs/graphql", json={"query": "{ viewer { name role } }"}).json()["data"]["viewer"]
        print(viewer["name"], viewer["role"])
    with transaction.atomic():
        assert enqueue_on_commit(publish, article_id=7) is None
        assert latest_runs(1) == []
    print([(run.job_name, run.args) for run in latest_runs(9)])
client.force_login(ada)
page = client.get("/admin/cronograph/run/").content.decode()
print("publish" in page, "/ops/jobs/" in page)
client.force_login(bob)
print(client.get("/admin/cronograph/run/").status_code)

class Publishing(CronographTestMixin, TestCase):
    def test_a_view_enqueues(self):
        publish.enqueue_sync(article_id=1)
        digest.enqueue_sync()
        self.assertEnqueued(publish, {"article_id": 1})
        with self.assertRaises(AssertionError):
            self.assertEnqueued(publish, {"article_id": 2})

result = unittest.TestResult()
Publishing("test_a_view_enqueues").run(result)
print(result.testsRun, result.errors, result.failures)
connection.close()
"""
WRONG = {
    '{"DATABSE": "default"}': "CRONOGRAPH: has no setting 'DATABSE'; did you mean 'DATABASE'?",
    '{"DATABASE": "other"}': "CRONOGRAPH['DATABASE']: must be one of default, got 'other'",
    '{"DATABASE": "default", "DATABASE_URL": "sqlite:///q.db"}': "CRONOGRAPH: takes DATABASE or DATABASE_URL, got both",
    '{"JOBS": "news.jobs"}': "CRONOGRAPH['JOBS']: must be a list of modules, got 'news.jobs'",
    "[]": "CRONOGRAPH: must be a dict, got list []",
}


@dataclass
class Project:
    """A Django project in a folder."""

    folder: Path
    database: dict[str, Any]

    def run(self, *arguments: str, said: str = "{}") -> str:
        """Return what a Python program of the project prints, which must end well."""
        variables = {"NEWS_DATABASE": json.dumps(self.database), "NEWS_CRONOGRAPH": said}
        environment = {**os.environ, **variables, "DJANGO_SETTINGS_MODULE": "news.settings"}
        command = [sys.executable, *arguments]
        ended = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=100
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def program(self, text: str, said: str = "{}") -> list[str]:
        """The lines that a program prints in which Django is set up."""
        return self.run("-c", f"import django\ndjango.setup()\n{text}", said=said).splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def django_database(database_url: str) -> dict[str, str]:
    """A database as Django's settings name it."""
    url = make_url(database_url)
    name = {"NAME": url.database or ""}
    if url.get_backend_name() == "sqlite":
        return {"ENGINE": "django.db.backends.sqlite3", **name}
    who = {"USER": url.username or "", "PASSWORD": str(url.password or "")}
    where = {"HOST": url.host or str(url.query.get("host", "")), "PORT": str(url.port or url.query.get("port", ""))}
    return {"ENGINE": "django.db.backends.postgresql", **name, **who, **where}


@pytest.fixture
def on_sqlite(folder: Path) -> Project:
    return Project(folder, {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "100%41?.sqlite3")})


@pytest.mark.costly
@pytest.mark.postgres
def test_nodes_connect_as_securely_as_django(folder: Path) -> None:
    options = {
        "sslmode": "verify-full", "sslrootcert": "/etc/a&b %.pem", "sslpassword": "p&q", "connect_timeout": 5,
        "isolation_level": 2, "pool": True, "options": "-c search_path=theirs", "client_encoding": "LATIN1",
    }  # fmt: skip
    database = {"ENGINE": "django.db.backends.postgresql", "HOST": "/run/a b", "NAME": "x/y", "USER": "u@h"}
    asked = "from cronograph.server.django.choices import choices\nprint(choices().url)"
    (found,) = Project(folder, {**database, "OPTIONS": options}).program(asked)
    carried = {name: str(options[name]) for name in ("sslmode", "sslrootcert", "sslpassword", "connect_timeout")}
    url = parse_url(found)
    assert (url.username, url.database, url.query) == ("u@h", "x/y", {**carried, "host": "/run/a b"})
    service = {"ENGINE": database["ENGINE"], "OPTIONS": {"service": "mine", "passfile": "/home/u/.pgpass"}}
    assert Project(folder, service).program(asked) == ["postgresql:///?service=mine&passfile=%2Fhome%2Fu%2F.pgpass"]


@pytest.mark.costly
def test_a_run_belongs_to_the_transaction_that_django_has_open(folder: Path, empty_database_url: str) -> None:
    project = Project(folder, django_database(empty_database_url))
    assert "applied" in project.run("manage.py", "cronograph", "migrate")
    found, refused, broken, kept = project.program(TRANSACTIONS)
    assert found == str([(number, f"article-{number}") for number in (1, 99, 100, 101, 102)])
    assert refused.startswith("group")
    assert (broken, kept) == ("broken", "kept refused")


@pytest.mark.costly
def test_the_staff_has_a_page_in_the_admin_and_the_dashboard_and_tests_have_a_queue(on_sqlite: Project) -> None:
    said = {"DATABASE_URL": f"sqlite:///{on_sqlite.folder}/queue.db", "DASHBOARD_URL": "/ops/jobs/"}
    assert on_sqlite.program(PAGES, json.dumps(said)) == [
        "True",
        "ada ADMIN",
        "bob OPERATOR",
        "[('publish', {'article_id': 7})]",
        "True True",
        "403",
        "1 [] []",
    ]


@pytest.mark.costly
def test_settings_that_cannot_work_are_refused_by_name(on_sqlite: Project) -> None:
    program = f"""
import json
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from cronograph.server.django.choices import choices

for said in {list(WRONG)!r}:
    settings.CRONOGRAPH = json.loads(said)
    try:
        choices()
    except ImproperlyConfigured as error:
        print(error)
"""
    assert on_sqlite.program(program) == list(WRONG.values())
    checked = on_sqlite.run("manage.py", "cronograph", "check")
    assert "digest" in checked
    assert "publish" in checked


@pytest.mark.costly
def test_settings_of_the_server_are_lists_tables_and_truth_values_too(on_sqlite: Project) -> None:
    program = """
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from cronograph.server.django.command_line import environment

given = {"slots": 4, "tags": ["a", "b"], "groups": [], "no_auth": True, "oidc": {"x": {"a": 1}}, "poll": None}
settings.CRONOGRAPH = {"SETTINGS": given}
found = environment()
print(sorted(one for one in found.items() if one[0].removeprefix("CRONOGRAPH_").lower() in given))
settings.CRONOGRAPH = {"SETTINGS": {"slotz": 4}}
try:
    environment()
except ImproperlyConfigured as error:
    print(error)
"""
    assert on_sqlite.program(program) == [
        (
            "[('CRONOGRAPH_GROUPS', ''), ('CRONOGRAPH_NO_AUTH', 'true'), ('CRONOGRAPH_OIDC', '{\"x\": {\"a\": 1}}'), "
            "('CRONOGRAPH_SLOTS', '4'), ('CRONOGRAPH_TAGS', 'a,b')]"
        ),
        "CRONOGRAPH['SETTINGS']: has no setting 'slotz'; did you mean 'slots'?",
    ]


def test_the_guide_shows_what_the_example_has() -> None:
    shown = [block.text for block in blocks_of(ROOT / "docs" / "django.md") if block.test is not None]
    assert shown[0].startswith("python manage.py cronograph ")
    example = "".join(path.read_text() for path in (ROOT / "docs" / "examples" / "shop").rglob("*.py"))
    assert [text for text in shown[1:] if text not in example] == []
