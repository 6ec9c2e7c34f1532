"""The executor `command`: what stands in its commands, what their output means, and how they fail."""

import os
import resource
import sys
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.base.resources import Resources
from cronograph.jobs.core.remote import EngineState, Seen
from cronograph.jobs.executors.command import CommandExecutor
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.executors.protocol import EngineAbsentError, Place, Spec, SubmissionError
from tests.support.waiting import wait_until

SPEC = Spec("cronograph-1-2", {"CRONOGRAPH_ATTEMPT_TOKEN": "secret"}, Resources(), "a job; rm", 1, 2)
NONE = "true"


def made(**commands: Any) -> CommandExecutor:
    given: dict[str, Any] = {"launch": NONE, **commands}
    return CommandExecutor(name="box", **given)


def launched(tmp_path: Path, launch: Any, resources: Resources = SPEC.resources) -> str:
    """What a launcher that writes its words into a file has been given."""
    spec = Spec(SPEC.name, SPEC.environment, resources, SPEC.job_name, SPEC.run_id, SPEC.attempt)
    handle = made(launch=launch).submit(spec)
    return (tmp_path / "words").read_text() if (tmp_path / "words").exists() else handle


def test_words_of_a_text_for_the_shell_are_quoted(tmp_path: Path) -> None:
    said = launched(tmp_path, f"printf '%s\\n' {{job}} {{run}} {{attempt}} {{cpus}}. >{tmp_path}/words")
    assert said.splitlines() == ["a job; rm", "1", "2", "."]


def test_a_word_of_a_list_becomes_as_many_as_it_stands_for(tmp_path: Path) -> None:
    script = f"printf '%s|' \"$@\" >{tmp_path}/words"
    (tmp_path / "launcher").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "launcher").chmod(0o755)
    words = [str(tmp_path / "launcher"), "--name={name}", "{queue}", "--mem={memory_mb}", "{command}", "${HOME}{other}"]
    said = launched(tmp_path, words, Resources(memory=2**20 + 1))
    command = [sys.executable, "-m", "cronograph.remote", "cronograph-1-2"]
    assert said.split("|")[:-1] == ["--name=cronograph-1-2", "--mem=2", *command, "${HOME}{other}"]


def test_free_options_have_their_names(tmp_path: Path) -> None:
    resources = Resources(cpus=1.5, gpus=2, queue="long one", options={"account": "physics"})
    said = launched(tmp_path, f"echo {{cpus}} {{gpus}} {{queue}} {{account}} >{tmp_path}/words", resources)
    assert said == "1.5 2 long one physics\n"


def test_the_handle_is_the_first_word_of_the_last_line_or_else_the_name() -> None:
    assert made(launch="echo banner; echo warning >&2; echo 4711 submitted").submit(SPEC) == "4711"
    assert made(launch=NONE).submit(SPEC) == "cronograph-1-2"


def test_a_launcher_has_what_the_code_needs_and_nothing_else_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRONOGRAPH_SECRET_KEY", "key")
    monkeypatch.setenv("SOMETHING", "else")
    launch = "echo ${CRONOGRAPH_ATTEMPT_TOKEN}-${CRONOGRAPH_SECRET_KEY:-none}-$SOMETHING"
    assert made(launch=launch).submit(SPEC) == "secret-none-else"


@pytest.mark.costly
def test_what_the_launcher_leaves_at_work_is_not_waited_for(tmp_path: Path) -> None:
    handle = made(launch=f"(while ! test -e {tmp_path}/end; do sleep 0.01; done) & echo $!").submit(SPEC)
    os.kill(int(handle), 0)
    (tmp_path / "end").touch()
    wait_until(
        lambda: not made(find="kill -0 {handles} 2>/dev/null && echo {handles}; true").find([Place("n", handle)])
    )


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        ("echo no quota >&2; exit 3", "'sh' ended with status 3: no quota"),
        (["/nowhere/launcher"], "'/nowhere/launcher' cannot be started"),
    ],
)
def test_a_launcher_that_fails_has_certainly_not_taken_it(launch: Any, words: str) -> None:
    with pytest.raises(SubmissionError, match=words):
        made(launch=launch).submit(SPEC)


@contextmanager
def two_more_files() -> Generator[None]:
    """This process can open two files more than it has open."""

    def is_free(number: int) -> bool:
        try:
            os.fstat(number)
        except OSError:
            return True
        return False

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    third = next(islice(filter(is_free, count()), 2, None))
    resource.setrlimit(resource.RLIMIT_NOFILE, (third, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_launcher_that_finds_no_room_on_the_machine_of_the_node_is_tried_again_later() -> None:
    executor = made()
    with two_more_files(), pytest.raises(EngineAbsentError, match=r"'sh' cannot be started: .*Too many open files"):
        executor.submit(SPEC)


@pytest.mark.parametrize("launch", ["kill -9 $$", "sh -c 'kill -9 $$'; exit $?", "exit 255"])
def test_of_a_launcher_that_was_killed_nobody_knows_what_it_has_done(launch: str) -> None:
    with pytest.raises(ChildProcessError, match=r"'sh' ended with status (-9|137|255)"):
        made(launch=launch).submit(SPEC)


def test_a_launcher_that_takes_too_long_is_ended_and_nobody_knows() -> None:
    with pytest.raises(TimeoutError, match=r"took more than 0\.1 s"):
        made(launch="sleep 60", timeout=0.1).submit(SPEC)


def test_the_lines_of_a_list_are_handles_or_names_with_a_state_and_words() -> None:
    lines = "echo 1; echo 2 pending 'in line 7'; echo three GONE NODE_FAIL; echo 4 odd; echo; echo 9 ended"
    places = [Place("one", "1"), Place("two", "2"), Place("three", None), Place("four", "4"), Place("five", "5")]
    assert made(find=lines).find(places) == {
        "one": Seen(EngineState.RUNNING),
        "two": Seen(EngineState.PENDING, "in line 7"),
        "three": Seen(EngineState.GONE, "NODE_FAIL"),
        "four": Seen(EngineState.RUNNING),
    }
    assert made(find=lines, complete=True).find(places)["five"] == Seen(EngineState.ENDED, "no longer listed")
    # Of one without a handle nothing is known: it may be listed by that alone.
    assert "six" not in made(find=lines, complete=True).find([Place("six", None)])


def test_a_list_that_fails_says_nothing_of_any_attempt() -> None:
    with pytest.raises(SubmissionError, match="no daemon"):
        made(find="echo no daemon >&2; exit 1", complete=True).find([Place("one", "1")])


def test_all_are_asked_for_with_one_command() -> None:
    found = made(find=["sh", "-c", "echo {handles} $#; for one in {names}; do echo $one; done"]).find(
        [Place("a", "1"), Place("b", None)]
    )
    assert found.keys() == {"a", "b"}


def test_it_says_what_is_missing() -> None:
    assert made(launch=["/nowhere/launcher"]).check()[0] == "launch: there is no program '/nowhere/launcher'"
    assert [one.partition(":")[0] for one in made().check()] == ["find", "look", "cancel"]
    assert made(find=NONE, look=NONE, cancel=NONE).check() == []


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("command", {}, "executor 'command': has no launch"),
        ("command", {"launch": 5}, "executor 'command': launch must be a list of words or a text, got 5"),
        ("command", {"launch": "true", "lunch": "x"}, "executor 'command': .*unexpected keyword argument 'lunch'"),
        ("box", {"launch": "true"}, "executor 'box': no kind 'box' is installed; there are: command"),
        ("Box!", {}, "executor 'Box!': a name begins with a letter"),
    ],
)
def test_an_executor_that_cannot_work_is_refused(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        engine_of(name, {name: options})


def test_several_launchers_are_of_one_kind() -> None:
    found = engine_of("gpu-box", {"gpu-box": {"kind": "command", "launch": "echo 5"}})
    assert found.executor.submit(SPEC) == "5"
