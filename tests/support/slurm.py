"""A real Slurm on this machine: its controller and one node, on ports of their own, without an accounting database."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.forking import Nursery, Running
from tests.support.ports import free_port
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

_PATH = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
# A controller that was killed before it had saved anything begins again with this number. Its node has not forgotten
# the jobs of its first life, and refuses others of the same numbers.
FIRST = "FirstJobId={}\n"
JOBS_OF_A_LIFE = 1000
# What is submitted while a controller begins has to wait for the next round of its scheduler: for a minute, unless set.
SETTINGS = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={controller}
StateSaveLocation={folder}/state
SlurmdSpoolDir={spool}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=10000,batch_sched_delay=0
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MessageTimeout=3
KillWait=1
GresTypes=gpu
DefMemPerCPU=1
SlurmdParameters=config_overrides
NodeName=worker NodeHostname={host} NodeAddr=127.0.0.1 Port={node} CPUs=2000 RealMemory=100000 Gres=gpu:4
PartitionName=main Nodes=worker Default=YES MaxTime=INFINITE State=UP
PartitionName=closed Nodes=worker MaxTime=INFINITE State=DOWN
"""


class Slurm:
    """Both daemons; each may be killed and comes back with what it knew. Nothing of it outlives the tests.

    Args:
        folder: For their files.
    """

    def __init__(self, folder: Path) -> None:
        programs = {name: shutil.which(name, path=_PATH) for name in ("slurmctld", "slurmd", "sbatch")}
        if None in programs.values() or os.getuid() != 0:
            unavailable("Slurm", "as root, apt-get install slurm-wlm")
        self._folder = folder
        (folder / "state").mkdir()
        # Each job has a socket there: where the folder of a test has a long name, none could be started.
        self._spool = TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True)
        config = {"host": socket.gethostname(), "controller": free_port(), "node": free_port(), "folder": folder}
        self._settings = SETTINGS.format(**config, spool=self._spool.name)
        self._first = 1
        self._configure()
        (folder / "gres.conf").write_text("NodeName=worker Name=gpu File=/dev/null,/dev/zero,/dev/full,/dev/random\n")
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._nursery = Nursery("programs")
        try:
            self._controller = self._start("slurmctld")
            self._node = self._start("slurmd", "-N", "worker")
            wait_until(lambda: "idle" in self.ask("sinfo", "--noheader"), message="Slurm to have a node")
        except BaseException:
            self.stop()
            raise

    def _start(self, program: str, *words: str) -> Running:
        command = [str(shutil.which(program, path=_PATH)), "-D", *words]
        with (self._folder / f"{program}.log").open("ab") as log:
            return self._nursery.start(command, self._folder, {**os.environ, **self.environment}, log.fileno())

    def _configure(self) -> None:
        (self._folder / "slurm.conf").write_text(self._settings + FIRST.format(self._first))

    def ask(self, *words: str) -> str:
        """Run a command of Slurm; its output."""
        run = subprocess.run(words, env={**os.environ, **self.environment}, capture_output=True, text=True, check=False)
        return run.stdout

    def start_controller(self, *, as_saved: bool = False) -> None:
        """Start slurmctld, with what it has saved; ``as_saved``: with what it had when ``save`` was called."""
        if as_saved:
            shutil.rmtree(self._folder / "state")
            shutil.copytree(self._folder / "saved", self._folder / "state")
        else:
            self._first += JOBS_OF_A_LIFE
            self._configure()
        self._controller = self._start("slurmctld")

    def kill_controller(self) -> None:
        """Kill slurmctld as `kill -9` does."""
        self._controller.kill()
        self._controller.wait()

    def start_node(self) -> None:
        """Start slurmd; what ran when it was killed has gone on."""
        self._node = self._start("slurmd", "-N", "worker")

    def kill_node(self) -> None:
        """Kill slurmd as `kill -9` does."""
        self._node.kill()
        self._node.wait()

    def save(self, job: str) -> None:
        """Wait until the controller has saved what it knows of a job: it does so some seconds after a change."""
        began = time.time()
        self.ask("scontrol", "update", f"jobid={job}", "comment=to be saved")
        state = self._folder / "state" / "job_state"
        wait_until(lambda: state.exists() and state.stat().st_mtime > began, message="Slurm to save its state")
        shutil.copytree(self._folder / "state", self._folder / "saved")

    def stop(self) -> None:
        """End both daemons, and all that they have started."""
        self._nursery.close()
        self._spool.cleanup()


@pytest.fixture
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A cluster for one test: it may be broken."""
    made = Slurm(tmp_path_factory.mktemp("slurm"))
    yield made
    made.stop()
