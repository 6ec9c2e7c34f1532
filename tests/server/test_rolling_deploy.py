"""A deploy as it happens: web processes and nodes are replaced one by one while mails are sent."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from cronograph.jobs.core.states import FINAL, RunState
from cronograph.jobs.store.db.database import parse_url, sync_engine
from cronograph.jobs.store.schema.tables import run
from tests.support.processes import ProcessStarter
from tests.support.waiting import wait_until

SHOP = """
from cronograph.jobs import job

@job(retries=0)
async def mail({parameters}) -> None: ...

def send(conn=None):
    return mail.enqueue_sync(conn, {given}).run.id
"""
VERSIONS = {
    "shop_old": {"parameters": "address: str", "given": "'ann@example.org'"},
    "shop_new": {"parameters": "address: str, language: str = 'en'", "given": "'ann@example.org', 'de'"},
}
WEB = """
import sys
from importlib import import_module
from cronograph.jobs import connect
from cronograph.jobs.store.db.database import parse_url, sync_engine

url, shop = sys.argv[1], import_module(sys.argv[2])
engine = sync_engine(parse_url(url))
connect(url)
for line in sys.stdin:
    sent = []
    for _ in range(int(line)):
        sent.append(shop.send())
        with engine.begin() as conn:
            sent.append(shop.send(conn))
    print(len(sent), flush=True)
"""
AT_ONCE = 5


class Web:
    """A web process that sends mails when it is told to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def send(self) -> int:
        """Have it send some, by its connection and in transactions of its own; how many were accepted."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{AT_ONCE}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def web(folder: Path, url: str, version: str) -> Iterator[Web]:
    """A web process of this version of the code."""
    command = [sys.executable, str(folder / "web.py"), url, version]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Web(process)


@pytest.mark.costly
@pytest.mark.postgres
@pytest.mark.timeout(300)
def test_no_mail_is_lost_while_two_web_processes_and_two_nodes_are_replaced(
    processes: ProcessStarter, postgres_url: str
) -> None:
    (processes.folder / "web.py").write_text(WEB)
    for name, parts in VERSIONS.items():
        (processes.folder / f"{name}.py").write_text(SHOP.format(**parts))
    nodes = [processes.serve(postgres_url, "--jobs", "shop_old", "--node-name", f"old-{place}") for place in range(2)]
    with ExitStack() as stack:
        # All start at once, since each imports for a second of a processor.
        old, new = (
            [stack.enter_context(web(processes.folder, postgres_url, version)) for _ in range(2)]
            for version in VERSIONS
        )
        webs = list(old)
        sent = sum(one.send() for one in webs)
        for place in range(2):
            # Web processes first: what they send, no node can read yet.
            webs[place] = new[place]
            sent += sum(one.send() for one in webs)
            nodes[place].stop()
            sent += sum(one.send() for one in webs)
            processes.serve(postgres_url, "--jobs", "shop_new", "--node-name", f"new-{place}")
            sent += sum(one.send() for one in webs)
    mails = select(func.count()).where(run.c.job_name == "mail")
    with sync_engine(parse_url(postgres_url)).connect() as conn:
        final = run.c.state.in_(sorted(state.value for state in FINAL))
        wait_until(lambda: conn.execute(mails.where(final)).scalar_one() == sent, message="all mails to be over")
        assert conn.execute(mails.where(run.c.state == RunState.SUCCESS.value)).scalar_one() == sent
