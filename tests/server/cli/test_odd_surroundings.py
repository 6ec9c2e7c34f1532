"""Commands whose output nobody takes, whose token no header can carry, and whose values JSON cannot write."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import COMMAND

FULL = Path("/dev/full")
NOBODY = "http://localhost:1"


def run(*words: str, **env: str) -> tuple[int, str]:
    """The status and all that is said; no server is there to be asked."""
    done = subprocess.run(
        [COMMAND, *words],
        env=os.environ | {"CRONOGRAPH_URL": NOBODY} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("enqueue", "report", "--args", '{"days": NaN}'), "args.days: must be a finite number, got nan"),
        (("enqueue", "report", "--args", '{"days": 1e999}'), "args.days: must be a finite number, got inf"),
        (("enqueue", "report", "--args", '{"to": "\\ud800"}'), "args.to: must be a text that UTF-8 can write"),
        (("tasks", "update", "nightly", "timeout=1e400"), "timeout: must be a finite number, got inf"),
    ],
)
def test_what_json_cannot_write_is_refused_before_it_is_sent(words: tuple[str, ...], place: str) -> None:
    status, said = run(*words)
    assert status == 2
    assert said.startswith("error: input.")
    assert place in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("token", ["hunter2-ü", "hunter2\nx"])
def test_a_token_that_no_header_can_carry_is_named_and_not_shown(token: str) -> None:
    status, said = run("runs", "list", CRONOGRAPH_TOKEN=token)
    assert status == 1
    assert said.startswith("error: token (or CRONOGRAPH_TOKEN): must be printable ASCII")
    assert "hunter2" not in said


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full is there on Linux alone")
def test_output_that_cannot_be_written_is_one_line() -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [COMMAND, "version", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        1,
        "error: standard output: cannot be written: No space left on device\n",
    )


def test_a_reader_that_has_gone_away_is_no_fault_to_speak_of() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([COMMAND, "version", "--json"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_command_whose_output_is_closed_does_its_work() -> None:
    words = ["sh", "-c", f"exec {COMMAND} runs list >&-"]
    done = subprocess.run(
        words, env=os.environ | {"CRONOGRAPH_URL": NOBODY}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("error: no server answers at")
