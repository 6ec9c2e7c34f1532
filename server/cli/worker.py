"""``cronograph worker``: a node without an API."""

from functools import partial
from typing import Annotated

import typer

from .base.options import OF_THE_API, AsJson, ConfigFile, Flags, takes_settings
from .serve import run_server

MetricsHost = Annotated[
    str | None,
    typer.Option("--host", help="Where health and metrics are served. (default: metrics_host, or localhost)"),
]
MetricsPort = Annotated[
    str | None,
    typer.Option(
        "--port", metavar="INTEGER", help="The port for them; 0 = any free one. (default: metrics_port, or 8001)"
    ),
]


@partial(takes_settings, but=OF_THE_API)
def worker(
    flags: Flags,
    *,
    host: MetricsHost = None,
    port: MetricsPort = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Dispatch what is due and run jobs, as a node of `serve` does, without the API and the dashboard.

    Its port has /health/live, /health/ready and /metrics, without sign-in. What people see and steer is served by other
    nodes on the same database; on SQLite there is none, since one process has the file. It stops as `serve` does.
    """
    run_server(
        {**flags, "metrics_host": host, "metrics_port": port},
        config,
        as_json=as_json,
        greeting="The Cronograph worker",
        serves_api=False,
    )
