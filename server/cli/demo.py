"""``cronograph demo``: a server with something alive to look at."""

from ..demo.tasks import DATABASE_URL, JOBS_MODULES, prepare_demo
from .base.options import AsJson, DemoDatabaseUrl, Host, Jobs, Port
from .serving import run_server


def demo(
    host: Host = None,
    port: Port = None,
    database_url: DemoDatabaseUrl = DATABASE_URL,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Serve lively example jobs: some succeed, some fail and retry, some are slow and report progress.

    They live in a database of their own in the working directory; delete the file to start again. Your own jobs can
    join them with `--jobs`.
    """
    flags = {
        "host": host,
        "port": port,
        "database_url": database_url,
        "jobs": [*JOBS_MODULES, *(jobs or [])],
        "no_auth": True,
    }
    run_server(flags, None, as_json=as_json, before_ready=prepare_demo, greeting="The Cronograph demo")
