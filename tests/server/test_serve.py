"""A real server: its address, its health, its pages, and how it stops."""

import json
import os
import re
import signal
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.waiting import wait_until
from tests.support.web import get, open_client, post


def rows(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    """Return what a SQLite database holds."""
    with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
        return connection.execute(statement).fetchall()


def graphql(server: CronographProcess, query: str, **variables: object) -> dict[str, Any]:
    """The data of an operation."""
    answer = post(f"{server.url}/graphql", {"query": query, "variables": variables}).json()
    assert "errors" not in answer, answer
    data: dict[str, Any] = answer["data"]
    return data


def trigger(server: CronographProcess, job: str, **args: object) -> None:
    query = "mutation ($job: String!, $args: JSON) { triggerJob(jobName: $job, args: $args) { success message } }"
    result = graphql(server, query, job=job, args=args)["triggerJob"]
    assert result["success"], result


def wait_running(server: CronographProcess, job: str) -> None:
    query = "query ($job: String!) { jobLogs(jobName: $job) { completedAt } }"
    wait_until(
        lambda: any(one["completedAt"] is None for one in graphql(server, query, job=job)["jobLogs"]),
        message=f"{job} to run",
    )


def printed_address(server: CronographProcess) -> str:
    """The address that a server prints once it is ready, which it must be before long."""
    pattern = re.compile(r"is ready: (http://localhost:\d+) ")
    wait_until(lambda: pattern.search(server.output()) or not server.running, message="the address to be printed")
    found = pattern.search(server.output())
    assert found is not None, server.output()
    return found[1]


@pytest.fixture
def with_jobs(processes: ProcessStarter) -> list[str]:
    """The arguments by which a server gets the example jobs."""
    return ["--jobs", write_example_jobs(processes.folder)]


@pytest.mark.costly
def test_the_printed_address_is_the_real_one(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.start("serve", "--port", "0", "--database-url", sqlite_url, fresh=True)
    assert get(f"{printed_address(server)}/health/ready").json() == {"ready": True, "status": "ready"}
    assert "sign-in   by name and password at http://localhost:" in server.output()


def test_no_auth_is_accepted_on_loopback_and_says_so(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    assert "sign-in   --no-auth: everybody" in server.output()


def test_json_output_is_nothing_but_json(processes: ProcessStarter, empty_sqlite_url: str) -> None:
    server = processes.serve(empty_sqlite_url, "--json", "--node-name", "calm-curie-1")
    assert server.stop() == 0
    lines = [json.loads(line) for line in server.output().splitlines()]
    (ready,) = [line for line in lines if line["event"] == "ready"]
    assert (ready["node"], ready["ok"]) == ("calm-curie-1", True)


def test_the_server_serves_dashboard_explorer_schema_and_health(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    with open_client(server.url) as client:
        assert client.get("/health/live").json()["status"] == "live"
        assert "type Query" in client.get("/schema.graphql").text
        for path in ("/", "/tasks/x", "/graphiql"):
            assert client.get(path).headers["content-type"].startswith("text/html")
        assert client.get("/nope").status_code == 404
        assert client.get("/graphql/").status_code == 404
        assert "server" not in client.get("/").headers


def test_a_foreign_name_for_this_machine_opens_nothing(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    with open_client(server.url, {"Host": "evil.example"}) as client:
        assert client.get("/").status_code == 421
        assert client.post("/graphql", json={"query": "{ viewer { name } }"}).status_code == 421


@pytest.mark.costly
def test_sigterm_during_a_job_lets_it_finish_and_ends_with_status_zero(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "nap", seconds=5)
    trigger(server, "nap_in_thread", seconds=5)
    trigger(server, "nap_in_process", seconds=5)
    for job in ("nap", "nap_in_thread", "nap_in_process"):
        wait_running(server, job)
    server.terminate()
    answer = get(f"{server.url}/health/ready")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "status": "draining"})
    assert server.wait(30) == 0
    log = "SELECT job_name, success, records_processed, outcome FROM job_execution WHERE job_name LIKE 'nap%'"
    assert sorted(rows(sqlite_url, log)) == [
        ("nap", 1, 7, "success"),
        ("nap_in_process", 1, 9, "success"),
        ("nap_in_thread", 1, 8, "success"),
    ]
    assert rows(sqlite_url, "SELECT count(*) FROM run WHERE state IN ('running', 'scheduled')") == [(0,)]


@pytest.mark.costly
def test_sigterm_after_drain_node_lets_the_running_job_finish_and_ends_with_status_zero(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs, "--node-name", "calm-curie-1")
    trigger(server, "nap", seconds=3)
    wait_running(server, "nap")
    drain = 'mutation { drainNode(input: {name: "calm-curie-1"}) { errors { message } } }'
    assert graphql(server, drain)["drainNode"]["errors"] == []
    trigger(server, "nap", seconds=0)
    server.terminate()
    assert server.wait(30) == 0
    assert rows(sqlite_url, "SELECT outcome FROM job_execution WHERE job_name = 'nap'") == [("success",)]
    assert rows(sqlite_url, "SELECT state FROM run WHERE job_name = 'nap' ORDER BY id") == [("success",), ("waiting",)]
    assert rows(sqlite_url, "SELECT state FROM node") == [("stopped",)]


@pytest.mark.costly
def test_a_job_that_outlasts_the_drain_is_asked_to_leave_and_else_handed_back(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    short = {"CRONOGRAPH_DRAIN_TIMEOUT": "0.5", "CRONOGRAPH_HARD_STOP_GRACE": "0.5"}
    server = processes.serve(sqlite_url, *with_jobs, env=short)
    trigger(server, "ever")
    trigger(server, "nap", seconds=60)
    wait_running(server, "ever")
    wait_running(server, "nap")
    assert server.stop() == 0
    runs = "SELECT job_name, state, attempt FROM run WHERE job_name IN ('ever', 'nap') ORDER BY job_name"
    assert rows(sqlite_url, runs) == [("ever", "success", 1), ("nap", "waiting", 1)]
    log = "SELECT job_name, outcome FROM job_execution WHERE job_name IN ('ever', 'nap') ORDER BY job_name"
    assert rows(sqlite_url, log) == [("ever", "success"), ("nap", "handed_back")]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("job", "args", "words"),
    [
        ("stubborn", {}, "CoroutineBody.run > stubborn"),
        ("helper", {"seconds": 300}, "a call in the thread pool of the event loop"),
    ],
)
def test_what_a_job_leaves_behind_does_not_keep_the_process_alive_and_the_exit_status_says_so(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str], job: str, args: dict[str, Any], words: str
) -> None:
    short = {"CRONOGRAPH_DRAIN_TIMEOUT": "0.2", "CRONOGRAPH_HARD_STOP_GRACE": "0.2"}
    server = processes.serve(sqlite_url, *with_jobs, env=short)
    trigger(server, job, **args)
    wait_running(server, job)
    server.terminate()
    assert server.wait(60) == 5
    assert f"is cut off (it is a job's): {words}" in server.output()
    assert rows(sqlite_url, f"SELECT state FROM run WHERE job_name = '{job}'") == [("waiting",)]


def test_sigint_stops_like_sigterm(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    server.process.send_signal(signal.SIGINT)
    assert server.wait() == 0
    assert "Traceback" not in server.output()


@pytest.mark.costly
def test_ctrl_c_in_a_terminal_reaches_children_too_and_still_lets_them_finish(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "nap_in_process", seconds=3)
    wait_running(server, "nap_in_process")
    os.killpg(server.pid, signal.SIGINT)
    assert server.wait(30) == 0
    log = "SELECT outcome, records_processed FROM job_execution WHERE job_name = 'nap_in_process'"
    assert rows(sqlite_url, log) == [("success", 9)]


@pytest.mark.costly
def test_children_of_a_killed_server_do_not_keep_its_file(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "nap_in_process", seconds=60)
    wait_running(server, "nap_in_process")
    server.kill_alone()
    assert processes.run("migrate", "--database-url", sqlite_url)[0] == 0


def test_a_second_signal_ends_at_once(processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "nap", seconds=60)
    wait_running(server, "nap")
    server.terminate()
    wait_until(lambda: not server.is_ready(), message="readiness to turn false")
    wait_until(lambda: _asked_twice(server), message="the process to end")
    assert server.wait() == 128 + signal.SIGTERM
    assert "ending at once" in server.output()


@pytest.mark.costly
def test_one_stop_that_is_delivered_more_than_once_cuts_nothing_off(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "nap", seconds=1)
    wait_running(server, "nap")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        server.process.send_signal(number)
    assert server.wait() == 0, server.output()
    assert rows(sqlite_url, "SELECT outcome FROM job_execution WHERE job_name = 'nap'") == [("success",)]


def _catches(pid: int, number: signal.Signals) -> bool:
    caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def _wait_for_output(server: CronographProcess, text: str) -> None:
    wait_until(lambda: text in server.output() or not server.running, message=f"'{text}' to be printed")
    assert text in server.output()


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which signals a process catches")
def test_sighup_ends_no_server_at_any_moment(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.begin_serve(sqlite_url)
    # A process that is not even Python yet ends by it; from the first line of the command on it does not.
    wait_until(lambda: _catches(server.pid, signal.SIGHUP), message="the command to begin")

    def is_ready() -> bool:
        server.hang_up()
        return server.is_ready()

    wait_until(is_ready, message="the server to be ready")
    server.hang_up()
    _wait_for_output(server, "SIGHUP: there is no file to read again")
    assert server.stop() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which signals a process catches")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_as_it_starts_ends_in_order(
    processes: ProcessStarter, sqlite_url: str, number: signal.Signals
) -> None:
    server = processes.start("serve", "--no-auth", "--port", "0", "--database-url", sqlite_url, fresh=True)
    wait_until(lambda: _catches(server.pid, signal.SIGHUP), message="the command to begin")
    server.process.send_signal(number)
    assert server.wait() == 0
    assert "Traceback" not in server.output()


def test_a_timer_of_a_job_ends_no_server(processes: ProcessStarter, sqlite_url: str) -> None:
    (processes.folder / "timer_jobs.py").write_text(
        "import signal\nfrom cronograph.jobs import job\n\n\n"
        "@job()\ndef timed():\n    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
    )
    server = processes.serve(sqlite_url, "--jobs", "timer_jobs")
    for number in (signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2):
        server.process.send_signal(number)
        _wait_for_output(server, f"{number.name} is ignored")
    trigger(server, "timed")
    _wait_for_output(server, "SIGALRM is ignored")
    trigger(server, "timed")
    wait_until(
        lambda: rows(sqlite_url, "SELECT count(*) FROM job_execution WHERE success") == [(2,)],
        message="the second run to end",
    )
    assert server.stop() == 0
    assert server.output().count("is ignored") == 5


def test_a_stop_while_a_finalizer_runs_ends_a_starting_server(processes: ProcessStarter, sqlite_url: str) -> None:
    # Python prints what a finalizer raises, and goes on.
    (processes.folder / "dying_jobs.py").write_text(
        "import os, signal\n\n\n"
        "class Dying:\n    def __del__(self):\n        os.kill(os.getpid(), signal.SIGTERM)\n\n\n"
        "Dying()\n"
    )
    where = ["--port", "0", "--database-url", sqlite_url]
    server = processes.start("serve", "--no-auth", "--jobs", "dying_jobs", *where, fresh=True)
    assert server.wait() == 0
    assert server.output() == ""


def test_the_api_answers_and_reports_changes_while_a_job_blocks_the_jobs_event_loop(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "block", seconds=60)
    wait_running(server, "block")
    assert get(f"{server.url}/health/live").status_code == 200
    assert server.is_ready()
    address = f"{server.url.replace('http', 'ws')}/graphql"
    with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")]) as live:
        live.send('{"type": "connection_init"}')
        live.recv()
        # From here on: the server may begin to listen for this reader only after the run was made.
        after = graphql(server, "{ asOf }")["asOf"]
        wanted = f'after: "{after}", filter: {{kinds: [RUN_CREATED]}}'
        query = f"subscription {{ events({wanted}) {{ ... on RunEvent {{ run {{ jobName }} }} }} }}"
        live.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": query}}))
        trigger(server, "nap", seconds=0)
        event = json.loads(live.recv(timeout=60))["payload"]["data"]["events"]
    assert event["run"]["jobName"] == "nap"


def test_signals_work_while_a_job_blocks_the_event_loop(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "block", seconds=60)
    wait_until(
        lambda: rows(sqlite_url, "SELECT count(*) FROM job_execution WHERE job_name = 'block'") == [(1,)],
        message="the job to block",
    )
    server.terminate()
    wait_until(lambda: _asked_twice(server), message="the process to end")
    assert server.wait() == 128 + signal.SIGTERM


def _asked_twice(server: CronographProcess) -> bool:
    """Signals that arrive together count once, so the second is repeated until it is noticed."""
    server.terminate()
    return not server.running


def test_an_open_subscription_does_not_hold_up_the_stop(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    address = f"{server.url.replace('http', 'ws')}/graphql"
    with connect(address, subprotocols=[Subprotocol("graphql-transport-ws")]) as live:
        live.send('{"type": "connection_init"}')
        assert json.loads(live.recv())["type"] == "connection_ack"
        subscribe = {"id": "1", "type": "subscribe", "payload": {"query": "subscription { events { cursor kind } }"}}
        live.send(json.dumps(subscribe))
        assert server.stop() == 0
        with pytest.raises(ConnectionClosed):
            _read_to_the_end(live)


def _read_to_the_end(live: ClientConnection) -> None:
    while True:
        live.recv(timeout=60)


@pytest.mark.costly
def test_what_jobs_log_is_kept_with_them_and_does_not_flood_the_process_log(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    server = processes.serve(sqlite_url, *with_jobs)
    trigger(server, "chatter", lines=5000)
    done = "SELECT count(*) FROM job_execution WHERE job_name = 'chatter' AND success = 1"
    wait_until(lambda: rows(sqlite_url, done) == [(1,)], message="the job to finish")
    assert "line 4999" not in server.output()
    assert rows(sqlite_url, "SELECT count(*) FROM execution_log") != [(0,)]


def test_a_job_can_use_the_servers_own_api_and_is_notified_of_its_refusals(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    server = processes.serve(sqlite_url)
    trigger(server, "graphql_request", query="{ viewer { name role } }")
    trigger(server, "graphql_request", query="{ nonsense }")
    trigger(server, "graphql_request", query="subscription { events { cursor } }")
    # The first attempt of each is in the log; what failed is tried again later.
    log = "SELECT outcome, value, error_message FROM job_execution WHERE job_name = 'graphql_request' ORDER BY run_id"
    ended = wait_until(
        lambda: [row for row in rows(sqlite_url, log) if row[0] is not None][2:] and rows(sqlite_url, log),
        message="three attempts",
    )
    (answered, refused, endless) = ended
    assert json.loads(answered[1])["viewer"] == {"name": "local administrator", "role": "ADMIN"}
    assert (refused[0], endless[0]) == ("failed", "failed")
    assert "nonsense" in refused[2]
    assert "a subscription has no end" in endless[2]


NONSENSE = [
    b"",
    b"null",
    b'"x"',
    b"{" * 5000,
    b"[" * 20_000,
    b'{"query": "' + b"{a" * 200 + b'"}',
    b'{"query": "{ validateSchedule(schedule: {syntax: CRON, value: "nonsense"}) { valid error { message } } }"}',
    b'{"query": "mutation { triggerJob(jobName: "' + b"x" * 5000 + b'") { success message } }"}',
    b'{"query": "{ tasks(after: "tampered") { nodes { name } } }"}',
    b'{"query": "{ run(id: "' + b"9" * 5000 + b'") { id } }"}',
]


@pytest.mark.costly
def test_nonsense_is_answered_clearly_and_leaves_the_log_short(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url)
    before = len(server.output())
    with open_client(server.url) as client:
        for _ in range(50):
            for body in NONSENSE:
                answer = client.post("/graphql", content=body, headers={"Content-Type": "application/json"})
                assert answer.status_code < 500, (body[:80], answer.text)
                assert "Internal error" not in answer.text, (body[:80], answer.text)
                assert len(answer.text) < 10_000
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n" * 100)
        raw.settimeout(10)
        raw.recv(1000)
    assert server.is_ready()
    assert "Traceback" not in server.output()
    assert len(server.output()) - before < 10_000


@pytest.mark.costly
def test_a_killed_server_leaves_a_file_that_the_next_one_takes_up(
    processes: ProcessStarter, sqlite_url: str, with_jobs: list[str]
) -> None:
    first = processes.serve(sqlite_url, *with_jobs, "--node-name", "first-node")
    trigger(first, "nap", seconds=60)
    wait_running(first, "nap")
    first.kill()
    second = processes.serve(sqlite_url, *with_jobs)
    wait_running(second, "nap")
    log = "SELECT success, node, error_message FROM job_execution WHERE job_name = 'nap' ORDER BY id"
    lost, again = rows(sqlite_url, log)
    assert lost[:2] == (0, "first-node")
    assert "first-node" in lost[2]
    assert again[0] is None


def test_a_database_of_a_newer_version_is_refused(processes: ProcessStarter, sqlite_url: str) -> None:
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE cronograph_version SET version_num = '9999'")
    status, output = processes.run("serve", "--port", "0", "--database-url", sqlite_url)
    assert status == 3
    assert "error: database schema: must be at most revision" in output
    assert "Traceback" not in output


@pytest.mark.costly
def test_the_demo_is_alive_within_seconds(processes: ProcessStarter, tmp_path: Path) -> None:
    demo = processes.start("demo", "--port", "0", fresh=True)
    printed_address(demo)
    url = f"sqlite:///{tmp_path / 'cronograph-demo.db'}"
    wait_until(lambda: len(rows(url, "SELECT id FROM job_execution WHERE success = 1")) >= 3, message="three successes")
    syntaxes = {row[0] for row in rows(url, "SELECT DISTINCT schedule_syntax FROM periodic_task")}
    assert syntaxes == {"cron", "calendar", "interval", "timestamp"}
    wait_until(lambda: rows(url, "SELECT id FROM run WHERE state = 'suspended'"), message="an order that waits")
    wait_until(lambda: rows(url, "SELECT id FROM skipped_occurrence WHERE reason = 'missed'"), message="a missed one")
    assert demo.stop(40) == 0
    assert '"level": "error"' not in demo.output()


@pytest.mark.costly
def test_a_second_demo_goes_on_with_the_first_ones_tasks(processes: ProcessStarter) -> None:
    for _ in range(2):
        demo = processes.start("demo", "--port", "0", env={"CRONOGRAPH_DRAIN_TIMEOUT": "0.1"})
        printed_address(demo)
        assert demo.stop(40) == 0


@pytest.mark.costly
@pytest.mark.postgres
def test_several_servers_share_a_postgresql(processes: ProcessStarter, postgres_url: str, with_jobs: list[str]) -> None:
    names = ("node-one", "node-two")
    servers = [processes.begin_serve(postgres_url, *with_jobs, "--node-name", name) for name in names]
    for server in servers:
        server.wait_ready()
    for server in servers:
        nodes = graphql(server, "{ nodes { nodes { name state } } }")["nodes"]["nodes"]
        assert {node["name"] for node in nodes if node["state"] == "ACTIVE"} == set(names)
    assert [server.stop() for server in servers] == [0, 0]
