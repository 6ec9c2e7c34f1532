"""Settings come from four sources, and all that is wrong with them is said at once."""

import json
import os
from pathlib import Path

import pytest

from cronograph.jobs.core.actor import Role
from cronograph.server.configuration.reading import InvalidSettingsError, load
from cronograph.server.configuration.settings import DEFAULT_FILE, NAMES, Settings, must_be
from cronograph.server.installation import engine_settings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty working directory, and no variables of the machine that runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRONOGRAPH_CONFIG", raising=False)
    for name in [name for name in os.environ if name.startswith("CRONOGRAPH_")]:
        monkeypatch.delenv(name)


def faults_of(flags: dict[str, object]) -> list[str]:
    with pytest.raises(InvalidSettingsError) as caught:
        load(flags)
    return caught.value.faults


def test_defaults_are_those_of_the_product() -> None:
    settings = load({}).settings
    assert (settings.host, settings.port, settings.database_url) == ("localhost", 8000, "sqlite:///cronograph.db")
    assert (settings.slots, settings.thread_slots, settings.prefetch, settings.counting_scheme) == (1500, 20, 0, "2,1")
    assert (settings.heartbeat, settings.lease, settings.drain_timeout, settings.hard_stop_grace) == (15, 60, 25, 10)
    assert not settings.thread_logs


def test_a_flag_beats_a_variable_which_beats_the_file_which_beats_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cronograph.toml").write_text("port = 1\nslots = 1\nlease = 90\n")
    monkeypatch.setenv("CRONOGRAPH_PORT", "2")
    monkeypatch.setenv("CRONOGRAPH_SLOTS", "2")
    settings = load({"port": "3", "slots": None}).settings
    assert (settings.port, settings.slots, settings.lease, settings.heartbeat) == (3, 2, 90, 15)


def test_job_modules_may_be_separated_by_commas_or_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONOGRAPH_JOBS", "shop.jobs, shop.reports  media")
    assert load({}).settings.jobs == ("shop.jobs", "shop.reports", "media")


@pytest.mark.parametrize(("name", "value"), [("jobs", "a,,b"), ("groups", "a,b,")])
def test_a_list_with_an_empty_item_is_refused(name: str, value: str) -> None:
    (fault,) = faults_of({name: value})
    assert "must be a list" in fault
    assert f"got '{value}'" in fault


def test_the_logs_of_threads_are_kept_by_the_engine_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONOGRAPH_THREAD_LOGS", "true")
    assert engine_settings(load({}).settings).thread_logs


def test_an_empty_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONOGRAPH_PORT", "")
    assert load({}).settings.port == 8000


def test_all_faults_are_listed_at_once_under_the_names_their_author_used(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cronograph.toml").write_text('counting_scheme = "2"\ndrain_timout = 5\n')
    monkeypatch.setenv("CRONOGRAPH_SLOTS", "many")
    forms = "sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name"
    faults = faults_of({"port": "70000", "database_url": "mysql://root:geheim@db/x", "jobs": ["jobs/shop.py"]})
    assert faults == [
        "drain_timout in cronograph.toml: no such setting; did you mean drain_timeout?",
        "--port: must be a whole number from 0 (any free port) to 65535, got '70000'",
        "CRONOGRAPH_SLOTS: must be a whole number from 1 to 10000, got 'many'",
        f"counting_scheme in cronograph.toml: must be {must_be('counting_scheme')}, got '2'",
        f"--database-url: must be {forms}, got 'mysql://root:***@db/x'",
        "--jobs: must be module names, got 'jobs/shop.py'; did you mean jobs.shop?",
    ]


def test_what_is_no_name_of_a_module_is_refused_once_and_looked_for_by_nobody() -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        load({"jobs": ["json:loads", "json"]})
    assert refused.value.faults == [
        "--jobs: must be module names, got 'json:loads'; did you mean json? All jobs of a module are taken"
    ]
    assert refused.value.partial.jobs == ("json",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "-1"),
        ("port", "8000.5"),
        ("host", ""),
        ("node_name", "two words"),
        ("node_name", "n" * 101),
        ("slots", "0"),
        ("prefetch", "-1"),
        ("counting_scheme", "0,1"),
        ("counting_scheme", "2,1,1"),
        ("heartbeat", "0"),
        ("lease", "nan"),
        ("poll", "inf"),
        ("drain_timeout", "-1"),
        ("hard_stop_grace", "0"),
        ("log_format", "xml"),
        ("log_level", "loud"),
        ("no_auth", "perhaps"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_it_must_be(name: str, value: str) -> None:
    flag = f"--{name.replace('_', '-')}"
    assert faults_of({name: value}) == [f"{flag}: must be {must_be(name)}, got {value!r}"]


def test_every_setting_says_what_it_must_be_and_is_documented() -> None:
    for name in NAMES:
        assert must_be(name)
        assert f"{name}: " in (Settings.__doc__ or "")


def test_times_are_seconds_or_durations() -> None:
    settings = load({"heartbeat": "20s", "lease": "2m", "poll": "0.5", "drain_timeout": "PT5M"}).settings
    assert (settings.heartbeat, settings.lease, settings.poll, settings.drain_timeout) == (20, 120, 0.5, 300)


def test_a_heartbeat_too_slow_for_the_lease_is_refused() -> None:
    assert faults_of({"heartbeat": "31"}) == ["--heartbeat: must be at most half the lease (30 s), got 31"]


def test_a_heartbeat_slow_for_the_lease_is_warned_of() -> None:
    (warning,) = load({"heartbeat": "25"}).warnings
    assert warning.startswith("--heartbeat: should be at most a third of lease (20 s), got 25")


def test_log_lines_are_sent_with_traces_only() -> None:
    refused = "--trace-logs: needs traces, which are off; set traces to auto, link or child"
    assert faults_of({"trace_logs": "true"}) == [refused]
    assert load({"trace_logs": "true", "traces": "link"}).settings.trace_logs


def test_settings_wrong_by_themselves_take_no_part_in_comparisons() -> None:
    assert len(faults_of({"heartbeat": "31", "lease": "never"})) == 1


def test_an_unknown_variable_is_warned_of_with_the_near_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONOGRAPH_PROT", "8001")
    assert load({}).warnings == ["CRONOGRAPH_PROT: no such setting, it is ignored; did you mean CRONOGRAPH_PORT?"]


def test_a_named_file_must_exist() -> None:
    with pytest.raises(InvalidSettingsError, match=r"must be a file, got 'other.toml', which does not exist"):
        load({}, Path("other.toml"))


def test_a_file_that_is_no_toml_is_refused_with_the_line() -> None:
    Path("cronograph.toml").write_text("port = \n")
    (fault,) = faults_of({})
    assert fault.startswith("cronograph.toml: must be a readable TOML file: ")
    assert "line 1" in fault


def test_the_file_may_be_named_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("elsewhere.toml").write_text("slots = 7\n")
    monkeypatch.setenv("CRONOGRAPH_CONFIG", "elsewhere.toml")
    assert load({}).settings.slots == 7


def test_a_database_in_a_missing_folder_is_refused() -> None:
    (fault,) = faults_of({"database_url": "sqlite:///no/such/folder/x.db"})
    assert "must be a file in an existing folder" in fault


def test_the_page_on_configuration_names_every_setting_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for name, field in Settings.model_fields.items():
        row = next(
            (line for line in page.splitlines() if line.startswith(f"| `{name}` | `CRONOGRAPH_{name.upper()}`")), ""
        )
        assert row, f"{name} is not described"
        match field.default:
            case None | () | {}:
                continue
            case bool() as default:
                shown = str(default).lower()
            case default:
                shown = f"{default:g}" if isinstance(default, float) else str(default)
        assert f"| `{shown}` |" in row, row


def test_hosts_that_jobs_may_reach_are_judged_together() -> None:
    wanted = must_be("http_allow")
    assert faults_of({"http_allow": "10.0.0.0/99,a.test"}) == [
        f"--http-allow: must be {wanted}, got '10.0.0.0/99, a.test'"
    ]


def test_providers_come_from_the_file_or_a_variable_and_their_faults_show_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "a-very-secret-word"
    table = f"""
[oidc.company]
name = "Company"
issuer = "https://id.example.com"
client_id = "cronograph"
client_secret = "{secret}"
roles = {{ admin = ["chiefs"], operator = ["ops"] }}
"""
    DEFAULT_FILE.write_text(table)
    (company,) = load({}).settings.oidc.values()
    assert (company.secret(), company.roles) == (secret, {Role.ADMIN: ("chiefs",), Role.OPERATOR: ("ops",)})
    assert secret not in repr(load({}).settings)
    DEFAULT_FILE.write_text(table.replace("https:", "http:").replace("operator =", "boss =") + "more = 1\n")
    faults = faults_of({})
    assert [fault.partition(":")[0] for fault in faults] == [
        "oidc in cronograph.toml.company.issuer",
        "oidc in cronograph.toml.company.roles.boss.[key]",
        "oidc in cronograph.toml.company.more",
    ]
    assert secret not in "".join(faults)
    DEFAULT_FILE.unlink()
    both = {"name": "x", "issuer": "https://x.example", "client_id": "x", "client_secret_file": "missing"}
    for value in (f"{{{secret}", json.dumps([secret]), json.dumps({"UP": {"client_secret": secret}})):
        monkeypatch.setenv("CRONOGRAPH_OIDC", value)
        assert all(fault.startswith("CRONOGRAPH_OIDC") and secret not in fault for fault in faults_of({}))
    wrong: tuple[tuple[dict[str, object], str], ...] = (
        ({}, "client_secret_file: must be readable"),
        ({"client_secret": secret}, "must not be set both"),
        ({"scopes": ["profile"]}, "must have openid among them"),
    )
    for more, words in wrong:
        monkeypatch.setenv("CRONOGRAPH_OIDC", json.dumps({"x": {**both, **more}}))
        (fault,) = faults_of({})
        assert words in fault
        assert secret not in fault
    Path("missing").write_text(f"{secret}\n")
    monkeypatch.setenv("CRONOGRAPH_OIDC", json.dumps({"x": both}))
    assert load({}).settings.oidc["x"].secret() == secret


OURS = "postgresql://db/app"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"database_url": OURS, "read_database_url": "sqlite:///x.db"}, "must be a standby of a PostgreSQL server"),
        ({"read_database_url": OURS}, "needs a PostgreSQL server in database_url"),
        ({"database_url": OURS, "read_database_url": f"{OURS}?pooler=transaction"}, "without ?pooler=transaction"),
        ({"database_url": OURS, "read_database_url": f"{OURS}?schema=b"}, "name the schema 'cronograph'"),
        ({"database_url": f"{OURS}?schema=a", "read_database_url": f"{OURS}?schema=b"}, "name the schema 'a'"),
        (
            {"database_url": OURS, "read_database_url": "mysql://u:geheim@db/app"},
            "must be postgresql://user@host/name, got",
        ),
    ],
)
def test_a_read_replica_that_cannot_be_one_is_refused(flags: dict[str, object], said: str) -> None:
    (fault,) = faults_of(flags)
    assert fault.startswith("--read-database-url: ")
    assert said in fault
    assert "geheim" not in fault


@pytest.mark.parametrize("schema", [{"database_schema": "own"}, {}], ids=["as a setting", "in the address"])
def test_a_read_replica_has_the_schema_of_the_database(schema: dict[str, str]) -> None:
    url = OURS if schema else f"{OURS}?schema=own"
    settings = load({"database_url": url, "read_database_url": "postgresql://standby/app", **schema}).settings
    assert settings.database_url == f"{OURS}?schema=own"
    assert settings.read_database_url == "postgresql://standby/app?schema=own"
