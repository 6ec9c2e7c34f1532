"""The executor `slurm`: its words, what the answers of Slurm's commands mean, and real daemons that are killed."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from cronograph.jobs.core.base.resources import Resources
from cronograph.jobs.core.remote import EngineState, Seen
from cronograph.jobs.executors.finding import engine_of
from cronograph.jobs.executors.protocol import EngineAbsentError, Place, Spec, SubmissionError
from cronograph.jobs.executors.slurm import SlurmExecutor
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.types import SchemaText
from tests.support.processes import ProcessStarter
from tests.support.remote import BY_SLURM, Engine
from tests.support.slurm import Slurm
from tests.support.sources import ROOT
from tests.support.waiting import wait_until

StartEngine = Callable[..., Engine]

KINDS: dict[str, dict[str, Any]] = {
    "command": {"launch": "true"},
    "kubernetes": {},
    "ray": {"address": "http://127.0.0.1:8265"},
    "slurm": {},
}

by_slurm = pytest.mark.parametrize("channel", BY_SLURM, indirect=True)


def spec(name: str = "cronograph-1-2", **resources: Any) -> Spec:
    return Spec(name, {"CRONOGRAPH_ATTEMPT_TOKEN": "secret"}, Resources(**resources), "a job", 1, 2)


def test_resources_are_words_of_sbatch() -> None:
    made = SlurmExecutor(name="slurm", options=["--account=physics"], directory="/app", output="/log/%j")
    options = {"time": "1-0", "mail_type": "FAIL"}
    words = made.launch_of(spec(cpus=1.5, memory=2**30, gpus=2, queue="long", image="/images/one", options=options))
    assert list(words) == [
        "sbatch", "--parsable", "--account=physics", "--time=1-0", "--mail-type=FAIL", "--cpus-per-task=2",
        "--mem={memory_mb}M", "--gres=gpu:{gpus}", "--partition={queue}", "--container={image}", "--job-name={name}",
        "--comment=cronograph run {run} attempt {attempt}: {job}", "--no-requeue", "--export=ALL", "--output=/log/%j",
        "--chdir=/app", "--wrap=exec {command}",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["array", "wrap", "requeue"])
def test_options_that_would_break_a_promise_are_refused(name: str) -> None:
    with pytest.raises(SubmissionError, match=f"the option '{name}' of sbatch is not for jobs"):
        SlurmExecutor(name="slurm").submit(spec(options={name: "1"}))


def test_options_that_are_no_list_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="options must be a list of words, got '--account=physics'"):
        engine_of("slurm", {"slurm": {"options": "--account=physics"}})


def test_each_state_of_slurm_means_something() -> None:
    lines = "1|PENDING|Priority\n2|RUNNING|None\n3|COMPLETING|\n4|TIMEOUT|TimeLimit\n5|NODE_FAIL|None\n"
    lines += "6|PREEMPTED|None\nnoise\n"
    assert SlurmExecutor(name="slurm").listed(lines) == {
        "1": Seen(EngineState.PENDING, "PENDING (Priority)"),
        "2": Seen(EngineState.RUNNING, "RUNNING"),
        "3": Seen(EngineState.RUNNING, "COMPLETING"),
        "4": Seen(EngineState.ENDED, "TIMEOUT (TimeLimit)"),
        "5": Seen(EngineState.GONE, "NODE_FAIL"),
        "6": Seen(EngineState.EVICTED, "PREEMPTED"),
    }


def test_of_two_jobs_with_one_name_the_one_at_work_counts() -> None:
    made = SlurmExecutor(name="slurm")
    running = {"one": Seen(EngineState.RUNNING, "RUNNING")}
    assert made.listed("one|FAILED|None\none|RUNNING|None\n") == running
    assert made.listed("one|RUNNING|None\none|FAILED|None\n") == running


def test_a_number_that_slurm_gave_to_another_job_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its controller was killed before it had saved the first one, and counted on from there.
    (tmp_path / "squeue").write_text(
        "#!/bin/sh\ncase $* in *%A*) echo '7|RUNNING|None';; *) echo 'new|RUNNING|None';; esac\n"
    )
    (tmp_path / "squeue").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = SlurmExecutor(name="slurm").find([Place("old", "7"), Place("new", "7")])
    assert found == {"new": Seen(EngineState.RUNNING, "RUNNING")}
    assert SlurmExecutor(name="slurm").find([]) == found


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Batch job submission failed: Unable to contact slurm controller (connect failure)", EngineAbsentError),
        ("Batch job submission failed: Socket timed out on send/recv operation", TimeoutError),
        ("Batch job submission failed: Zero Bytes were transmitted or received", TimeoutError),
        ("Batch job submission failed: Invalid partition name specified", SubmissionError),
    ],
)
def test_a_submission_whose_answer_was_lost_is_not_taken_for_refused(
    said: str, error: type[Exception], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\necho 'sbatch: error: {said}' >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(error) as raised:
        SlurmExecutor(name="slurm").submit(spec())
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("script", "error", "said"),
    [
        ("kill -9 $$", ChildProcessError, "'sbatch' ended with status -9"),
        ("exit 255", ChildProcessError, "'sbatch' ended with status 255"),
        ("sleep 60", TimeoutError, "'sbatch' took more than 0.2 s"),
        ("exit 75", EngineAbsentError, "'sbatch' ended with status 75"),
        ("exit 1", SubmissionError, "'sbatch' ended with status 1"),
        (None, SubmissionError, "'sbatch' cannot be started"),
    ],
)
def test_an_sbatch_that_breaks_down_may_have_submitted_and_one_that_was_not_there_has_not(
    script: str | None, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        (tmp_path / "sbatch").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "sbatch").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if script is not None else str(tmp_path))
    with pytest.raises(error, match=said) as raised:
        SlurmExecutor(name="slurm", timeout=0.2).submit(spec())
    assert type(raised.value) is error


def test_of_the_engines_slurm_alone_is_asked_for_what_it_has_ended() -> None:
    made = {kind: engine_of(kind, {kind: options}) for kind, options in KINDS.items()}
    assert {kind for kind, engine in made.items() if engine.revives} == {"slurm"}


QUEUE = """
long|20|7|ours-1
long|30|8|theirs
long,short|10|9_[1-4%2]|ours-2
short|40|12|ours-3
long|20|6|theirs
noise
"""


def test_a_job_stands_behind_those_of_higher_priority_and_earlier_ones_in_its_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queue").write_text(QUEUE)
    listed = "".join(f"ours-{number}|PENDING|Priority\\n" for number in (1, 2, 3)) + "ours-4|RUNNING|None"
    script = f"#!/bin/sh\ncase $* in *PENDING*) cat {tmp_path}/queue;; *) printf '{listed}';; esac\n"
    (tmp_path / "squeue").write_text(script)
    (tmp_path / "squeue").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = SlurmExecutor(name="slurm").find([Place(f"ours-{number}", None) for number in range(1, 6)])
    places = {name: one.place for name, one in found.items()}
    assert places == {"ours-1": (3, 4), "ours-2": (2, 2), "ours-3": (1, 2), "ours-4": None}


@pytest.fixture
def here(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """A cluster whose commands this process may use."""
    for name, value in slurm.environment.items():
        monkeypatch.setenv(name, value)
    return slurm


@pytest.mark.costly
def test_slurm_lists_finds_and_cancels_by_the_name(here: Slurm) -> None:
    made = SlurmExecutor(name="slurm", python="/bin/sleep")
    assert made.check() == []
    # What it starts ends at once, except for those that have to wait.
    waits = [made.submit(spec("cronograph-a", queue="closed", options={"begin": "now+1hour"})) for _ in range(2)]
    ended = made.submit(spec("cronograph-b", cpus=2, memory=2**20, gpus=1))
    places = [Place("cronograph-a", waits[0]), Place("cronograph-b", ended), Place("cronograph-c", None)]
    wait_until(lambda: made.find(places)["cronograph-b"].state is EngineState.ENDED, message="it to end")
    seen = made.find(places)
    assert seen["cronograph-a"].state is EngineState.PENDING
    assert seen["cronograph-b"].text == "FAILED (NonZeroExitCode)"
    assert "cronograph-c" not in seen
    assert made.look(Place("cronograph-a", None)) in waits
    assert made.look(Place("cronograph-c", None)) is None
    # Both of one name, and those that have ended or never were there, as often as it is said.
    for place in (*places, *places):
        made.cancel(place)
        made.forget(place)
    wait_until(lambda: made.find(places)["cronograph-a"].state is EngineState.ENDED, message="the cancel")
    with pytest.raises(SubmissionError, match=r"[Ii]nvalid partition"):
        made.submit(spec(queue="nowhere"))


@pytest.mark.costly
def test_without_a_controller_nothing_is_said_of_any_attempt(here: Slurm) -> None:
    made = SlurmExecutor(name="slurm")
    here.kill_controller()
    with pytest.raises(SubmissionError):
        made.find([Place("cronograph-a", "1")])
    with pytest.raises(EngineAbsentError):
        made.submit(spec())
    assert made.check()[0].startswith("squeue: 'squeue' ended with status 1")


@pytest.mark.parametrize(
    ("squeue", "words"),
    [("sleep 60", "squeue: 'squeue' took more than 0.2 s"), ("echo no >&2; exit 3", "status 3: no")],
)
def test_a_list_that_fails_is_said_by_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, squeue: str, words: str
) -> None:
    for name in ("sbatch", "scancel", "squeue"):
        (tmp_path / name).write_text(f"#!/bin/sh\n{squeue}\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (missing,) = SlurmExecutor(name="slurm", timeout=0.2).check()
    assert words in missing


@by_slurm
@pytest.mark.costly
@pytest.mark.timeout(180)
def test_the_controller_is_killed_while_a_job_runs_and_another_one_is_submitted(
    remote_engine: StartEngine, slurm: Slurm
) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    # A controller that dies before it has saved that a job runs ends that itself when it comes back.
    slurm.save("1")
    slurm.kill_controller()
    engine.trigger("away", until="go")
    wait_until(lambda: "cannot be reached, again" in engine.server.output(), message="the controller to be missed")
    slurm.start_controller()
    engine.begun(2)
    engine.touch("go")
    ends = engine.ended("away", 2, within=150)
    assert [(one["outcome"], one["attempt"]) for one in ends] == [("SUCCESS", 1)] * 2, ends
    assert len(engine.begun()) == 2


def over(database_url: str) -> int:
    """Count the attempts that their engine has forgotten."""
    statement = SchemaText("SELECT count(*) FROM cronograph.remote_attempt WHERE over_at IS NOT NULL")
    engine = sync_engine(parse_url(database_url), read_only=True)
    try:
        with engine.connect() as conn:
            return int(conn.execute(statement).scalar_one())
    finally:
        engine.dispose()


@pytest.mark.costly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("channel", ["slurm"], indirect=True)
def test_a_job_that_slurm_has_at_work_again_after_it_is_over_is_ended_again(
    remote_engine: StartEngine, slurm: Slurm, database_url: str
) -> None:
    engine = remote_engine()
    engine.trigger("away", until="go")
    engine.begun()
    slurm.save("1")
    engine.touch("go")
    engine.ended("away")
    wait_until(lambda: over(database_url) == 1, message="it to be forgotten")
    # The controller breaks down before it has saved the end.
    slurm.kill_controller()
    wait_until(lambda: "command does not answer" in engine.server.output(), message="it to be missed")
    slurm.start_controller(as_saved=True)
    at_work = ("squeue", "--noheader", "--states=RUNNING")
    wait_until(lambda: slurm.ask(*at_work), message="the job to be at work again")
    wait_until(lambda: not slurm.ask(*at_work), message="it to be ended again")
    assert "at work, which is over: RUNNING" in engine.server.output()


@by_slurm
@pytest.mark.costly
@pytest.mark.timeout(180)
def test_a_node_that_stops_while_the_controller_is_absent_gives_the_run_back(
    remote_engine: StartEngine, slurm: Slurm
) -> None:
    engine = remote_engine()
    slurm.kill_controller()
    engine.trigger("away")
    wait_until(lambda: "cannot be reached, again" in engine.server.output(), message="the controller to be missed")
    assert engine.server.stop() == 0
    slurm.start_controller()
    again = engine.restart()
    ends = engine.ended("away", 2, server=again, within=150)
    assert [one["outcome"] for one in ends] == ["SUCCESS", "HANDED_BACK"]
    assert len(engine.begun()) == 1


@by_slurm
@pytest.mark.costly
@pytest.mark.timeout(180)
def test_what_slurm_says_of_a_job_is_shown_and_a_cancel_at_slurm_is_its_end(
    remote_engine: StartEngine, slurm: Slurm
) -> None:
    engine = remote_engine(options=["--begin=now+1hour"])
    slurm.ask("sbatch", "--begin=now+1hour", "--wrap=true")
    engine.trigger("away")
    asked = "handle engineState engineText queuePosition queueLength"
    document = f"{{ executions(first: 1) {{ nodes {{ remoteAttempt {{ {asked} }} }} }} }}"

    def seen() -> Any:
        nodes = engine.query(document)["executions"]["nodes"]
        return (nodes and nodes[0]["remoteAttempt"]) or {}

    wait_until(lambda: seen().get("engineState") == "PENDING", message="it to wait there")
    assert seen()["engineText"] == "PENDING (BeginTime)"
    wait_until(lambda: seen()["queuePosition"] is not None, message="its place to be known")
    assert (seen()["queuePosition"], seen()["queueLength"]) == (2, 2)
    explained = engine.query(
        '{ runs(first: 1, filter: { jobName: { eq: "away" } }) { nodes { explain { details } } } }'
    )
    assert "It is number 2 of 2 that wait there." in explained["runs"]["nodes"][0]["explain"]["details"]
    slurm.ask("scancel", seen()["handle"])
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "RemoteProcessError")
    assert "ended before its job began: CANCELLED" in end["errorMessage"]
    assert seen()["queuePosition"] is None


@by_slurm
@pytest.mark.costly
@pytest.mark.timeout(180)
def test_code_that_is_killed_at_slurm_is_a_failure_with_slurms_words(remote_engine: StartEngine) -> None:
    engine = remote_engine()
    engine.trigger("away", until="never")
    (pid,) = engine.begun()
    os.kill(int(pid), signal.SIGKILL)
    (end,) = engine.ended("away")
    assert (end["outcome"], end["errorType"]) == ("FAILED", "RemoteProcessError")
    assert "ended before its job ended: FAILED" in end["errorMessage"]
    assert not psutil.pid_exists(int(pid))


@pytest.mark.costly
@pytest.mark.timeout(180)
@pytest.mark.parametrize("channel", ["slurm folder"], indirect=True)
def test_the_fan_out_of_the_page_runs(remote_engine: StartEngine, processes: ProcessStarter) -> None:
    text = (ROOT / "docs" / "executors.md").read_text()
    (example,) = [one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "def sweep" in one]
    (processes.folder / "sweeping.py").write_text(example)
    engine = remote_engine(name="slurm", jobs="sweeping")
    engine.trigger("sweep", count=5)
    end, _began = engine.ended("sweep", 2)
    assert (end["outcome"], end["value"]) == ("SUCCESS", sum(seed * seed for seed in range(5)))
