"""What can go wrong: each disturbance does its harm on a stage, and leaves it as it was."""

from tests.chaos.cluster import LEASE
from tests.chaos.long_jobs import LONG_JOBS
from tests.chaos.poisonous_jobs import POISONS
from tests.chaos.stage import Stage
from tests.support.waiting import let_pass, wait_until

AN_HOUR = 3600.0


def kill(stage: Stage) -> None:
    """A node dies at once; another comes in its place."""
    name = stage.some_node()
    stage.cluster.kill(name)
    stage.pause(0.0, 1.0)
    stage.replace(name)


def calm(stage: Stage) -> None:
    """Nothing happens for a while, so that what was begun goes on."""
    stage.pause(1.0, max(2.0, min(8.0, stage.patience)))


def stop(stage: Stage) -> None:
    """A node is asked to stop, as in a deployment, and ends with status 0; another comes in its place."""
    name = stage.some_node()
    process = stage.cluster.nodes.pop(name)
    status = process.stop(60)
    assert status == 0, f"status {status}:\n{process.output()[-3000:]}"
    stage.replace(name)


def freeze(stage: Stage) -> None:
    """A node stands still, perhaps for longer than its lease, and goes on."""
    with stage.cluster.frozen_node(stage.some_node()):
        stage.pause(0.5, 5.0)


def end_backends(stage: Stage) -> None:
    """The server ends every connection."""
    stage.server.end_backends()


def restart_server(stage: Stage) -> None:
    """The server stops at once and comes back."""
    stage.server.restart()


def read_only(stage: Stage) -> None:
    """For a while nothing can be written."""
    with stage.server.read_only():
        stage.pause(0.5, 2.0)


def slots_full(stage: Stage) -> None:
    """For a while the server takes hardly any connection."""
    with stage.server.full(left=2):
        stage.server.end_backends()
        stage.pause(0.5, 2.0)
    stage.wait_ready()


def black_hole(stage: Stage) -> None:
    """Nothing passes on the line, and nobody is told; then everything does."""
    stage.line.hold()
    stage.pause(0.5, 4.0)
    stage.line.let_go()


def black_hole_then_cut(stage: Stage) -> None:
    """Nothing passes on the line, and when something does again, every connection is gone."""
    stage.line.hold()
    stage.pause(0.5, 4.0)
    stage.line.cut()
    stage.line.let_go()


def black_hole_beyond_the_lease(stage: Stage) -> None:
    """Nothing passes on the line until every node has lost its lease, in the middle of jobs that act all the time."""
    for job in LONG_JOBS:
        stage.enqueue(job)
    stage.cluster.wait_rows("job_execution", "job_name LIKE 'long_%' AND completed_at IS NULL", len(LONG_JOBS) - 1)
    stage.line.hold()
    stage.pause(LEASE, LEASE + 1.5)
    stage.line.let_go()


def lost_answers(stage: Stage) -> None:
    """Commits reach the server, and anyone who asked for them never hears of it."""
    stage.line.lose_answers(stage.chance.randint(1, 5))
    wait_until(lambda: stage.line.to_lose == 0, message="commits to lose the answers of")


def latency(stage: Stage) -> None:
    """Everything takes longer."""
    stage.line.delay = stage.chance.uniform(0.01, 0.06)
    stage.pause(1.0, 3.0)
    stage.line.delay = 0.0


def silence(stage: Stage) -> None:
    """Notifications are lost, for two minutes where there is time for them: the slow poll has to do."""
    stage.line.muted = True
    let_pass(min(120.0, stage.patience))
    stage.line.muted = False


def disk_full(stage: Stage) -> None:
    """Nothing more fits on the disk of the database for a while."""
    assert stage.disk is not None
    process = stage.cluster.nodes[stage.some_node()]
    with stage.disk.full(process.pid, process.output_file):
        stage.pause(1.0, 3.0)


def server_disk_full(stage: Stage) -> None:
    """No table grows on the server for a while; left out where no file system can be mounted."""
    if stage.server.disk.mounted:
        with stage.server.disk.filled():
            stage.pause(1.0, 3.0)


def clock_steps(stage: Stage) -> None:
    """Somebody sets the clocks of all nodes an hour forward or back, and a while later right."""
    stage.set_clock(stage.chance.choice([-AN_HOUR, AN_HOUR, -90.0, 90.0]))
    # What is due meanwhile starts all the same: the schedules go by the database's clock.
    stage.cluster.wait_executions(5, within=120)
    stage.set_clock(0.0)


def poison(stage: Stage) -> None:
    """Jobs that do what no job should, all at once."""
    for job in POISONS:
        stage.enqueue(job)
