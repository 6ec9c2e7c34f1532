"""Every node brings the built-in jobs along, under their names and schedules."""

import pytest

from cronograph.jobs import job
from cronograph.jobs.builtin import builtin_jobs, register_builtin
from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.model import Isolation
from cronograph.jobs.registry import Registry

SCHEDULES = {
    "cleanup_expired_sessions": "0 0 * * * *",
    "cleanup_expired_refresh_tokens": "0 30 * * * *",
    "cleanup_expired_challenges": "0 */5 * * * *",
    "cleanup_expired_device_codes": "0 45 * * * *",
    "prune_history": "0 15 3 * * *",
    "http_request": None,
    "foreign_job": None,
    "graphql_request": None,
    "bulk_action": None,
    "undo_bulk_action": None,
}


def test_the_built_in_jobs_have_their_names_and_schedules() -> None:
    found = {each.name: each.schedule and each.schedule.value for each in builtin_jobs()}
    assert found == SCHEDULES
    assert all(each.schedule is None or each.schedule.timezone == "UTC" for each in builtin_jobs())


def test_every_built_in_job_and_argument_is_described_and_all_but_shell_run_on_the_event_loop() -> None:
    for each in builtin_jobs(with_shell=True):
        assert each.description.endswith(".")
        assert each.isolation is (Isolation.PROCESS if each.name == "shell" else Isolation.ASYNC)
        assert all(argument.get("description") for argument in each.args_schema["properties"].values())


def test_registering_twice_is_registering_once() -> None:
    registry = Registry()
    register_builtin(registry)
    register_builtin(registry)
    assert set(registry.names()) == set(SCHEDULES)


def test_a_job_of_the_user_with_a_built_in_name_is_refused_with_both_places() -> None:
    registry = Registry()

    @job("prune_history", registry=registry)
    def mine() -> None: ...

    with pytest.raises(ConfigurationError, match=r"job 'prune_history'.*mine.*prune\.prune_history"):
        register_builtin(registry)
    assert registry.get("prune_history") is not None
    assert mine() is None
