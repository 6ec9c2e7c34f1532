"""Every command runs as a process, and its failures too: one clear line each, and an exit code for scripts.

Where it says `fresh`, the installed command is started as a user starts it; other processes are forks that have
imported everything.
"""

import json
import socket
from pathlib import Path

import pytest

from tests.support.databases import sqlite_address
from tests.support.job_modules import write_example_jobs
from tests.support.processes import ProcessStarter

DONE, REFUSED, USAGE, UNREACHABLE, IN_USE = range(5)


@pytest.mark.costly
def test_version_says_what_is_installed(processes: ProcessStarter) -> None:
    status, output = processes.run("version", "--json", fresh=True)
    assert status == DONE
    found = json.loads(output)
    assert (found.pop("ok"), set(found)) == (True, {"cronograph", "commit", "schema", "python"})


def test_help_lists_every_command_and_the_exit_codes(processes: ProcessStarter) -> None:
    status, output = processes.run("--help")
    assert status == DONE
    for command in (
        "audit",
        "serve",
        "demo",
        "check",
        "migrate",
        "schema",
        "sql",
        "token",
        "trigger",
        "user",
        "version",
    ):
        assert command in output
    assert "Exit status: 0 done" in output


def test_an_unknown_command_is_a_usage_error(processes: ProcessStarter) -> None:
    status, output = processes.run("swerve")
    assert status == USAGE
    assert "serve" in output
    assert "Traceback" not in output


def test_schema_prints_the_committed_text(processes: ProcessStarter) -> None:
    status, output = processes.run("schema")
    assert status == DONE
    assert "type Query" in output
    assert processes.run("schema", "--check")[0] == DONE


def test_sql_prints_a_statement_with_its_plan_on_the_present_database(
    processes: ProcessStarter, database_url: str
) -> None:
    name, index = "candidates", "ix_run_claimable"
    status, output = processes.run("sql", name, "--database-url", database_url)
    assert status == DONE
    assert output.startswith(f"-- {name}\n")
    assert index in output.split("Plan:")[1]
    status, output = processes.run("sql", "--json", "--database-url", database_url)
    listed = json.loads(output)["statements"]
    assert status == DONE
    assert name in [one["name"] for one in listed]
    assert all(one["plan"] and one["heading"] and one["statement"] for one in listed)


def test_sql_names_the_statement_that_was_meant(processes: ProcessStarter, database_url: str) -> None:
    status, output = processes.run("sql", "due_task", "--database-url", database_url)
    assert (status, "did you mean 'due_tasks'?" in output) == (REFUSED, True)


def test_migrate_makes_the_database_once(processes: ProcessStarter, empty_database_url: str) -> None:
    status, output = processes.run("migrate", "--json", "--database-url", empty_database_url)
    assert (status, json.loads(output)["applied"][0]) == (DONE, "0001")
    status, output = processes.run("migrate", "--database-url", empty_database_url)
    assert (status, output) == (DONE, "Database schema: nothing to do, it is up to date\n")


def test_migrate_says_in_one_line_why_a_database_cannot_be_used(processes: ProcessStarter) -> None:
    (processes.folder / "x.db").write_bytes(
        b"this is not a database, but it has enough bytes to look like a header" * 20
    )
    status, output = processes.run("migrate", "--database-url", "sqlite:///x.db")
    assert status == UNREACHABLE
    assert output.startswith("error: database file '")
    assert "file is not a database" in output
    assert len(output.splitlines()) == 1


def test_a_postgresql_that_is_not_there_is_named_without_its_password(processes: ProcessStarter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    status, output = processes.run("migrate", "--database-url", f"postgresql://me:geheim@127.0.0.1:{port}/db")
    assert status == UNREACHABLE
    assert "geheim" not in output
    assert f"127.0.0.1:{port}" in output
    assert len(output.splitlines()) == 1


def test_check_of_a_new_folder_makes_nothing(processes: ProcessStarter) -> None:
    status, output = processes.run("check")
    assert status == DONE
    assert "Configuration: valid" in output
    assert "does not exist yet" in output
    assert [path.name for path in processes.folder.iterdir()] == ["process-1.log"]


def test_a_job_module_without_a_job_is_warned_of(processes: ProcessStarter) -> None:
    status, output = processes.run("check", "--jobs", "sched")
    assert status == DONE
    assert "warning: jobs: module 'sched' has no job" in output


def test_a_start_without_its_database_ends_with_one_line(processes: ProcessStarter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    status, output = processes.run("serve", "--port", "0", "--database-url", f"postgresql://me@127.0.0.1:{port}/db")
    assert status == UNREACHABLE
    *waits, error = output.splitlines()
    assert error.startswith("error: database postgresql://me@127.0.0.1")
    assert all("the database is unavailable, tried again in " in json.loads(line)["event"] for line in waits)


def test_check_lists_everything_that_is_wrong_at_once(processes: ProcessStarter) -> None:
    (processes.folder / "cronograph.toml").write_text('slots = "lots"\nlese = 3\n')
    (processes.folder / "broken.py").write_text("1 / 0\n")
    arguments = ["--host", "0.0.0.0", "--port", "x", "--jobs", "broken", "--jobs", "missing"]
    status, output = processes.run("check", *arguments, env={"CRONOGRAPH_LEESE": "1"})
    assert status == USAGE
    errors = [line for line in output.splitlines() if line.startswith("error: ")]
    assert len(errors) == 7
    for words in (
        "--port: must be a whole number",
        "slots in cronograph.toml: must be",
        "lese in cronograph.toml: no such setting; did you mean lease?",
        "host: '0.0.0.0' is reached from elsewhere, which needs TLS",
        "host: '0.0.0.0' is reached from elsewhere, which needs --public-url",
        "importing module 'broken' failed: ZeroDivisionError",
        "'missing' is neither installed",
    ):
        assert any(words in line for line in errors), words
    assert "warning: CRONOGRAPH_LEESE: no such setting" in output


def test_check_answers_programs_in_json(processes: ProcessStarter) -> None:
    module = write_example_jobs(processes.folder)
    status, output = processes.run("check", "--json", "--jobs", module)
    answer = json.loads(output)
    assert (status, answer["ok"]) == (DONE, True)
    assert {"nap", "prune_history", "http_request"} <= set(answer["jobs"])
    status, output = processes.run("check", "--json", "--port", "x")
    answer = json.loads(output)
    assert (status, answer["ok"], answer["code"], len(answer["errors"])) == (USAGE, False, "USAGE", 1)


def test_check_names_who_uses_the_database_and_that_the_port_is_in_use(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    server = processes.serve(sqlite_url)
    status, output = processes.run("check", "--database-url", sqlite_url, "--port", str(server.port))
    assert status == DONE
    assert f"process {server.pid} uses it" in output
    assert f"warning: port: {server.port} on localhost is in use by another process" in output


@pytest.mark.costly
def test_trigger_makes_a_run_on_a_running_server(processes: ProcessStarter, sqlite_url: str) -> None:
    server = processes.serve(sqlite_url, "--jobs", write_example_jobs(processes.folder))
    there = {"CRONOGRAPH_URL": server.url}
    status, output = processes.run("trigger", "nap", "--args", '{"seconds": 0}', env=there, fresh=True)
    assert status == DONE
    assert output.startswith("Job nap triggered successfully (run ")
    status, output = processes.run("trigger", "new_year", "--task", "--json", env=there)
    assert json.loads(output)["ok"] is True


@pytest.mark.costly
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "Unknown job: nope"),
        (["nap", "--args", '{"secs": 1}'], "secs"),
        (["nope", "--task"], "nope"),
    ],
)
def test_trigger_reports_what_the_server_refuses(
    processes: ProcessStarter, sqlite_url: str, arguments: list[str], words: str
) -> None:
    server = processes.serve(sqlite_url, "--jobs", write_example_jobs(processes.folder))
    status, output = processes.run("trigger", *arguments, "--url", server.url)
    assert status == REFUSED
    assert output.startswith("error: ")
    assert words in output
    assert len(output.splitlines()) == 1


def test_trigger_without_a_server_says_how_to_name_one(processes: ProcessStarter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    status, output = processes.run("trigger", "nap", "--url", f"http://127.0.0.1:{port}")
    assert status == UNREACHABLE
    assert "is `cronograph serve` running? Set --url or CRONOGRAPH_URL" in output


@pytest.mark.parametrize("url", ["foo", "ftp://localhost", "http://"])
def test_trigger_refuses_an_address_that_is_none(processes: ProcessStarter, url: str) -> None:
    status, output = processes.run("trigger", "nap", "--url", url)
    assert status == USAGE
    assert output.startswith("error: --url (or CRONOGRAPH_URL): must be an address such as http://localhost:8000, got ")
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize("args", ["{", "[1]", "null", '"x"'])
def test_trigger_refuses_arguments_that_are_no_object(processes: ProcessStarter, args: str) -> None:
    status, output = processes.run("trigger", "nap", "--args", args)
    assert status == USAGE
    assert "--args: must be a JSON object" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "list", "--limit", "many"), "Invalid value for '--limit' / '-n': Input should be a valid integer"),
        (("runs", "list", "--limit", "0"), "Invalid value for '--limit' / '-n': Input should be greater than or equal"),
        (("token", "create", "--user", "a", "--role", "boss"), "Invalid value for '--role': "),
        (("runs", "show"), "Missing argument 'run'"),
    ],
)
def test_a_program_hears_which_option_is_wrong(processes: ProcessStarter, words: tuple[str, ...], said: str) -> None:
    status, output = processes.run(*words, "--json")
    assert status == USAGE
    assert json.loads(output)["errors"][0].startswith(said)


def test_a_second_process_on_the_same_file_is_refused_naming_the_first(
    processes: ProcessStarter, sqlite_url: str
) -> None:
    server = processes.serve(sqlite_url)
    for command in (["serve", "--port", "0"], ["migrate"], ["demo", "--port", "0"]):
        status, output = processes.run(*command, "--database-url", sqlite_url)
        assert status == IN_USE
        assert f"process {server.pid} uses it" in output
        assert len(output.splitlines()) == 1
    assert server.is_ready()


def test_a_port_in_use_is_one_clear_line_and_leaves_the_file_free(processes: ProcessStarter, tmp_path: Path) -> None:
    url = sqlite_address(tmp_path / "x.db")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, output = processes.run("serve", "--port", str(port), "--database-url", url)
    assert status == IN_USE
    assert output.startswith(f"error: port: {port} on localhost is in use")
    assert len(output.splitlines()) == 1
    assert processes.run("migrate", "--database-url", url)[0] == DONE


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_that_others_can_reach_is_refused(processes: ProcessStarter, host: str) -> None:
    for no_auth in ([], ["--no-auth"]):
        status, output = processes.run("serve", "--host", host, "--port", "0", *no_auth)
        assert status == USAGE
        assert ("no_auth: must not be set" if no_auth else "which needs TLS: set --tls-cert") in output


def test_an_unknown_job_module_stops_the_start_and_makes_no_database(processes: ProcessStarter) -> None:
    status, output = processes.run("serve", "--jobs", "no.such.module")
    assert status == USAGE
    assert "got 'no.such.module'; 'no' is neither installed nor in the working directory" in output
    assert not list(processes.folder.glob("*.db*"))


def test_a_job_named_like_a_built_in_one_is_refused_with_both_places(processes: ProcessStarter) -> None:
    (processes.folder / "mine.py").write_text(
        "from cronograph.jobs import job\n\n@job('prune_history')\nasync def mine() -> None: ...\n"
    )
    status, output = processes.run("check", "--jobs", "mine")
    assert status == USAGE
    assert "mine.py:3" in output
    assert "prune" in output


@pytest.mark.costly
def test_installed_packages_bring_jobs_by_an_entry_point(processes: ProcessStarter) -> None:
    installed = processes.folder / "installed"
    info = installed / "shop-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[cronograph.jobs]\nshop = shop_jobs\nold = shop_gone\n")
    (installed / "shop_jobs.py").write_text(
        "from cronograph.jobs import job\n\n@job('from_entry_point')\nasync def found() -> None: ...\n"
    )
    status, output = processes.run("check", env={"PYTHONPATH": str(installed)}, fresh=True)
    assert status == USAGE
    assert "entry point 'old = shop_gone' of shop failed: ModuleNotFoundError" in output
    (info / "entry_points.txt").write_text("[cronograph.jobs]\nshop = shop_jobs\n")
    status, output = processes.run("check", env={"PYTHONPATH": str(installed)}, fresh=True)
    assert status == DONE
    assert "from_entry_point" in output


@pytest.mark.costly
def test_a_terminal_of_few_characters_is_no_reason_to_fail(processes: ProcessStarter) -> None:
    (processes.folder / "cronograph.toml").write_text(f'node_name = "{"é" * 200}"\n')
    status, output = processes.run("check", env={"PYTHONIOENCODING": "ascii"}, fresh=True)
    assert status == USAGE
    assert "(202 characters)" in output


def test_the_version_is_an_option_too(processes: ProcessStarter) -> None:
    status, output = processes.run("--version")
    assert status == DONE
    assert output.startswith("cronograph ")


def test_help_shows_the_defaults(processes: ProcessStarter) -> None:
    status, output = processes.run("serve", "--help", env={"COLUMNS": "200"})
    assert status == DONE
    for words in ("(default: 8000)", "(default: localhost)", "(default: 1500)", "--lease", "--drain-timeout"):
        assert words in output


def test_a_wrong_command_line_is_json_for_programs(processes: ProcessStarter) -> None:
    status, output = processes.run("check", "--json", "--slotz", "3")
    answer = json.loads(output)
    assert (status, answer["ok"], answer["code"]) == (USAGE, False, "USAGE")
    assert "--slotz" in answer["errors"][0]
    status, output = processes.run("trigger", "--json")
    assert (status, json.loads(output)["code"]) == (USAGE, "USAGE")
    assert "name" in json.loads(output)["errors"][0]


def test_settings_of_a_node_are_flags_and_modules_may_stand_behind_one(processes: ProcessStarter) -> None:
    for name in ("one", "two"):
        (processes.folder / f"{name}_jobs.py").write_text(
            f"from cronograph.jobs import job\n\n@job\nasync def flagged_{name}() -> None: ...\n"
        )
    arguments = ["--jobs", "one_jobs,two_jobs", "--slots", "7", "--lease", "0", "--log-level", "loud", "--json"]
    status, output = processes.run("check", *arguments)
    errors = json.loads(output)["errors"]
    assert status == USAGE
    assert [error.partition(":")[0] for error in errors] == ["--lease", "--log-level"]
    status, output = processes.run("check", *arguments[:4], "--json")
    assert status == DONE
    assert {"flagged_one", "flagged_two"} <= set(json.loads(output)["jobs"])


def test_an_attribute_behind_a_module_gets_a_hint(processes: ProcessStarter) -> None:
    status, output = processes.run("check", "--jobs", "shop.jobs:import_orders")
    assert status == USAGE
    assert "got 'shop.jobs:import_orders'; did you mean shop.jobs? All jobs of a module are taken" in output


@pytest.mark.parametrize("url", ["postgresql://me:geheim@db:port/x", "sqlite://me:geheim@db/x", "sqlite://./x.db"])
def test_an_address_that_is_none_is_one_line(url: str, processes: ProcessStarter) -> None:
    status, output = processes.run("check", "--database-url", url)
    assert status == USAGE
    assert "--database-url: must be sqlite:///relative.db" in output
    assert "Traceback" not in output
    assert "geheim" not in output
