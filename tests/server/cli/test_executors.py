"""`cronograph executors`: what is set can be used, or what is missing is said."""

import json

from tests.support.processes import ProcessStarter

USABLE = {"launch": "true", "find": "true", "look": "true", "cancel": "true"}


def executors(processes: ProcessStarter, settings: object, *words: str) -> tuple[int, str]:
    return processes.run("executors", *words, env={"CRONOGRAPH_EXECUTORS": json.dumps(settings)})


def test_what_can_be_used_is_said_with_its_kind(processes: ProcessStarter) -> None:
    status, said = executors(processes, {"command": USABLE, "gpu-box": {"kind": "command", **USABLE}})
    assert (status, said) == (0, "command: can be used\ngpu-box (command): can be used\n")


def test_what_is_missing_is_said_for_each_executor(processes: ProcessStarter) -> None:
    given = {"command": {**USABLE, "find": ["/nowhere/list"]}, "odd": {}, "box": {"kind": "command", "lunch": "x"}}
    given["hpc"] = {"kind": "command", **USABLE, "page": "hpc/{handle}"}
    status, said = executors(processes, given, "--json")
    answer = json.loads(said)
    assert (status, answer["ok"]) == (1, False)
    missing = {one["name"]: one["missing"] for one in answer["executors"]}
    assert missing["command"] == ["find: there is no program '/nowhere/list'"]
    assert missing["odd"] == ["executor 'odd': no kind 'odd' is installed; there are: command, kubernetes, ray, slurm"]
    assert missing["hpc"][0].startswith("executor 'hpc': page must be the address of an attempt's page there, with {ha")
    assert "unexpected keyword argument 'lunch'" in missing["box"][0]


def test_without_any_the_installed_kinds_are_said(processes: ProcessStarter) -> None:
    status, said = executors(processes, {})
    assert (status, said) == (0, "No executor is set; the kinds that are installed: command, kubernetes, ray, slurm\n")
