"""`top`: what it shows of an answer, by Textual's pilot on a real server, and once in a real terminal."""

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from cronograph.graphql.client import Client
from cronograph.server.cli.remote.screen import Question, Top
from cronograph.server.cli.remote.top import WIDTH, Board, bar
from tests.support.forking import Nursery
from tests.support.processes import COMMAND, CronographProcess, ProcessStarter
from tests.support.requirements import unavailable
from tests.support.waiting import eventually, wait_until
from tests.support.web import post

pytestmark = pytest.mark.timeout(120)

JOBS = """
import asyncio

from cronograph.jobs import JobContext, PermanentFailure, job

@job("two seconds")
async def two_seconds(ctx: JobContext) -> None:
    for done in range(21):
        ctx.progress(done, 20, f"[bold]{done}")
        await asyncio.sleep(0.1)

@job("long")
async def long(ctx: JobContext) -> None:
    ctx.progress(1, 4, "a quarter")
    while not ctx.should_stop:
        await asyncio.sleep(0.02)

@job("broken", retries=0)
async def broken() -> None:
    raise PermanentFailure("no [red]luck")
"""


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CronographProcess]:
    folder = tmp_path_factory.mktemp("top")
    (folder / "top_jobs.py").write_text(JOBS)
    starter = ProcessStarter(folder, nursery)
    yield starter.serve(f"sqlite:///{folder}/x.db", "--jobs", "top_jobs", "--node-name", "n1")
    starter.end_all()


def look(url: str) -> Board:
    with Client(url) as client:
        return Board.of(client.execute(Board.document, Board.amounts))


def trigger(url: str, job: str) -> str:
    document = f'mutation {{ triggerJob(jobName: "{job}") {{ run {{ id }} }} }}'
    found: str = post(f"{url}/graphql", {"query": document}).json()["data"]["triggerJob"]["run"]["id"]
    return found


def is_over(url: str, run: str) -> bool:
    answer = post(f"{url}/graphql", {"query": f"{{ run(id: {run}) {{ finishedAt }} }}"}).json()
    return answer["data"]["run"]["finishedAt"] is not None


@asynccontextmanager
async def on_screen(url: str) -> AsyncIterator[tuple[Top, Pilot[None]]]:
    app = Top(url, look(url), every=0.2)
    async with app.run_test(size=(140, 45)) as pilot:
        yield app, pilot


def asks(app: Top) -> bool:
    return isinstance(app.screen, Question)


def cells(app: Top, table: str) -> list[list[str]]:
    found: DataTable[Text] = app.query_one(f"#{table}", DataTable)
    return [[cell.plain for cell in found.get_row_at(line)] for line in range(found.row_count)]


async def seen(pilot: Pilot[None], condition: Callable[[], object], message: str) -> None:
    async def now() -> bool:
        await pilot.pause()
        return bool(condition())

    await eventually(now, message=message)


@pytest.mark.costly
async def test_the_progress_of_a_run_of_two_seconds_is_followed(server: CronographProcess) -> None:
    async with on_screen(server.url) as (app, pilot):
        run = trigger(server.url, "two seconds")
        shown: set[str] = set()

        def grown() -> bool:
            nonlocal run
            shown.update(row[5] for row in cells(app, "running") if row[0] == run and "%" in row[5])
            if len(shown) < 3 and is_over(server.url, run):
                # On a busy machine it was not looked at three times while it lasted.
                run = trigger(server.url, "two seconds")
                shown.clear()
            return len(shown) >= 3

        await seen(pilot, grown, "three different bars")
        await seen(pilot, lambda: run not in {row[0] for row in cells(app, "running")}, "the run to go")
    assert all("[bold]" in one for one in shown), "it is no markup"


@pytest.mark.costly
async def test_keys_cancel_retry_and_pause_after_a_question(server: CronographProcess) -> None:
    run, failed = trigger(server.url, "long"), trigger(server.url, "broken")
    async with on_screen(server.url) as (app, pilot):
        await seen(pilot, lambda: failed in {row[0] for row in cells(app, "failures")}, "the failure")
        assert cells(app, "failures")[0][4] == "no [red]luck"
        await seen(pilot, lambda: [row[0] for row in cells(app, "running")] == [run], "the run")

        await pilot.press("c")
        await pilot.pause()
        assert asks(app)
        await pilot.press("n")
        await pilot.pause()
        assert not asks(app)
        assert [row[0] for row in cells(app, "running")] == [run]
        await pilot.press("c", "y")
        await seen(pilot, lambda: not cells(app, "running"), "the run to be cancelled")
        await pilot.press("c")
        await pilot.pause()
        assert not asks(app), "there is nothing to choose"

        await pilot.press("r", "enter")
        await seen(pilot, lambda: len(cells(app, "failures")) == 2, "the second failure")

        group = cells(app, "groups")[0][0]
        await pilot.press("p", "y")
        await seen(pilot, lambda: cells(app, "groups")[0][:2] == [group, "paused"], "the group to be paused")
        await pilot.press("p", "y")
        await seen(pilot, lambda: cells(app, "groups")[0][:2] == [group, ""], "the group to go on")
        assert [row[:2] for row in cells(app, "nodes")] == [["n1", "active"]]


@pytest.mark.costly
async def test_it_survives_a_restart_of_the_server(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "top_jobs.py").write_text(JOBS)
    starter = ProcessStarter(tmp_path, nursery)
    words = ("--jobs", "top_jobs")
    server = starter.serve(f"sqlite:///{tmp_path}/x.db", *words)
    async with on_screen(server.url) as (app, pilot):
        trouble = app.query_one("#trouble", Static)
        assert not trouble.display
        server.kill()
        await seen(pilot, lambda: trouble.display, "the loss to be said")
        assert cells(app, "nodes"), "what was seen last stays"
        await pilot.press("p", "y")
        await pilot.pause()
        again = starter.start(*server.arguments, port=server.port)
        again.wait_ready()
        await seen(pilot, lambda: not trouble.display, "the answers to come again")
    starter.end_all()


OVERVIEW = {
    **dict.fromkeys(("running", "slots", "waiting", "stuck", "suspended", "stalledTasks"), 3),
    "runsPerMinute": 1.5,
    "succeededLast24h": 7,
    "failedLast24h": 2,
    "at": "2030-01-01T00:03:20Z",
}


def board(**lists: list[dict[str, Any]]) -> Board:
    return Board({"overview": OVERVIEW, "running": [], "groups": [], "nodes": [], "failures": [], **lists})


@pytest.mark.parametrize(
    ("done", "total", "message", "shown"),
    [
        (1, 2, "half", f"{'█' * (WIDTH // 2)}{'░' * (WIDTH // 2)}  50% half"),
        (3, 2, None, f"{'█' * WIDTH} 100%"),
        (0, 2, None, f"{'░' * WIDTH}   0%"),
        (7, None, "rows", "7 rows"),
        (7, 0, None, "7"),
    ],
)
def test_a_bar(done: float, total: float | None, message: str | None, shown: str) -> None:
    assert bar({"done": done, "total": total, "message": message}) == shown
    assert bar(None) == ""


def test_what_a_board_says() -> None:
    run = {"id": "7", "jobName": "j", "node": None, "startedAt": "2030-01-01T00:00:00Z", "attempt": 2}
    group = {"name": "g", "isPaused": True, "waiting": 1, "scheduled": 2, "running": 3, "stuck": 0}
    execution = {"id": "1", "runId": "7", "jobName": "j", "outcome": "LOST"}
    found = board(
        running=[{**run, "task": {"name": "t"}, "progress": None}],
        groups=[
            {**group, "maxRunning": 5, "oldestWait": 7300.0},
            {**group, "name": "h", "isPaused": False, "maxRunning": None, "oldestWait": None},
        ],
        failures=[
            {**execution, "taskName": None, "completedAt": "2030-01-01T00:00:00Z", "errorMessage": "two\nlines"},
            {**execution, "taskName": "t", "completedAt": None, "errorMessage": None},
        ],
    )
    assert found.running() == {"7": ("7", "t", "-", "3m", "2", "")}
    assert found.groups() == {"g": ("g", "paused", "3", "3/5", "0", "2h"), "h": ("h", "", "3", "3", "0", "")}
    assert (found.is_paused("g"), found.is_paused("h"), found.is_paused("none")) == (True, False, False)
    assert found.failures() == {"7": ("7", "00:00:00", "j", "lost", "two lines")}
    assert found.summary().startswith("3 running of 3 slots · 3 waiting")


@pytest.mark.costly
def test_without_a_terminal_it_says_what_to_do(processes: ProcessStarter, server: CronographProcess) -> None:
    status, said = processes.run("top", "--url", server.url)
    assert (status, "needs a terminal; in a script use --json" in said) == (2, True)
    status, said = processes.run("top", "--url", server.url, "--json")
    assert (status, json.loads(said)["nodes"][0]["name"]) == (0, "n1")


class Terminal:
    """A terminal of tmux in which `top` runs."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]

    def start(self, url: str) -> None:
        env = {**os.environ, "CRONOGRAPH_URL": url, "no_proxy": "*", "LANG": "C.UTF-8"}
        words = ["-u", "new-session", "-d", "-x", "140", "-y", "40", f"{COMMAND} top; sleep 60"]
        subprocess.run([*self._tmux, *words], env=env, check=True)

    def press(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True)

    def capture(self) -> str:
        return subprocess.run([*self._tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False).stdout

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        unavailable("tmux", "as root, apt-get install tmux")
    made = Terminal(tmp_path / "tmux")
    yield made
    made.end()


@pytest.mark.costly
def test_in_a_real_terminal(server: CronographProcess, terminal: Terminal) -> None:
    run = trigger(server.url, "long")
    terminal.start(server.url)
    wait_until(lambda: "a quarter" in terminal.capture(), message="the run on the screen")
    shown = terminal.capture()
    assert "█████░" in shown
    assert "n1" in shown
    terminal.press("c", "y")
    wait_until(lambda: "a quarter" not in terminal.capture(), message="the run to go")
    terminal.press("q")
    wait_until(lambda: "running of" not in terminal.capture(), message="the screen to be given back")
    document = f'{{ run(id: "{run}") {{ state }} }}'
    wait_until(lambda: "CANCELLED" in post(f"{server.url}/graphql", {"query": document}).text)


@pytest.mark.costly
def test_a_real_terminal_survives_a_restart_of_the_server(
    processes: ProcessStarter, sqlite_url: str, terminal: Terminal
) -> None:
    server = processes.serve(sqlite_url, "--node-name", "the-node")

    def shows(away: bool) -> bool:
        shown = terminal.capture()
        # What was seen last stays.
        return ("no answer since" in shown) == away and "the-node" in shown and "running of" in shown

    terminal.start(server.url)
    wait_until(lambda: shows(away=False), message="the node on the screen")
    server.kill()
    wait_until(lambda: shows(away=True), message="the loss to be said")
    again = processes.start(*server.arguments, port=server.port)
    again.wait_ready()
    wait_until(lambda: shows(away=False), message="the answers to come again")
