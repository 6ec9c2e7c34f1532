"""``cronograph serve``: the server, all in one process."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ...jobs.builtin import builtin_jobs
from ...jobs.connection import connect
from ...jobs.registry import default_registry
from ...jobs.store.db.database import Database
from ..config import shown_url
from ..logs import configure_logging
from ..preparation import prepare
from ..service import Service
from ..settings import Settings
from .ending import end_without
from .options import (
    AsJson,
    ConfigFile,
    CountingScheme,
    DatabaseSchema,
    DatabaseUrl,
    DrainTimeout,
    Heartbeat,
    Host,
    Jobs,
    Lease,
    LogLevel,
    NoAuth,
    NodeName,
    Port,
    Prefetch,
    PublicUrl,
    SetupPublic,
    Slots,
    ThreadSlots,
    TlsCert,
    TlsKey,
    TrustedProxies,
)
from .output import Output

SIGN_IN = "by name and password at {url}/login; programs by API tokens (`cronograph token create`)"
NO_AUTH = "--no-auth: everybody on this machine is the administrator, nobody else can reach the server"
NO_JOBS = "the built-in ones only; name your own modules with --jobs, or see `cronograph demo`"


def serve(
    host: Host = None,
    port: Port = None,
    database_url: DatabaseUrl = None,
    database_schema: DatabaseSchema = None,
    jobs: Jobs = None,
    node_name: NodeName = None,
    slots: Slots = None,
    thread_slots: ThreadSlots = None,
    prefetch: Prefetch = None,
    counting_scheme: CountingScheme = None,
    heartbeat: Heartbeat = None,
    lease: Lease = None,
    drain_timeout: DrainTimeout = None,
    log_level: LogLevel = None,
    public_url: PublicUrl = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_proxies: TrustedProxies = None,
    setup_public: SetupPublic = False,
    no_auth: NoAuth = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve the API and the dashboard, dispatch what is due, and run jobs.

    The first SIGINT or SIGTERM begins an orderly stop: nothing new is taken, running jobs may finish, then the process
    ends with status 0. A second one ends it at once.
    """
    flags = {
        "host": host,
        "port": port,
        "database_url": database_url,
        "database_schema": database_schema,
        "jobs": jobs or None,
        "node_name": node_name,
        "slots": slots,
        "thread_slots": thread_slots,
        "prefetch": prefetch,
        "counting_scheme": counting_scheme,
        "heartbeat": heartbeat,
        "lease": lease,
        "drain_timeout": drain_timeout,
        "log_level": log_level,
        "public_url": public_url,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "trusted_proxies": trusted_proxies,
        "setup_public": setup_public or None,
        "no_auth": no_auth or None,
    }
    run_server(flags, config, as_json=as_json)


def run_server(
    flags: dict[str, Any],
    config: Path | None,
    *,
    as_json: bool,
    before_ready: Callable[[Database], Awaitable[None]] | None = None,
    greeting: str = "Cronograph",
) -> None:
    """Load the settings and the jobs, then serve until a signal ends it.

    Args:
        flags: Setting name to value as given on the command line; None = not given.
        config: The configuration file that was named.
        as_json: Write JSON lines only.
        before_ready: See ``Service.prepare``.
        greeting: What is ready, in the line that tells the address.
    """
    output = Output(as_json=as_json)
    with output.errors():
        prepared = prepare(flags, config)
        settings = prepared.checked()
        for sentence in prepared.warnings:
            output.note(f"warning: {sentence}")
        configure_logging("json" if as_json else settings.log_format, settings.log_level)

        def ready(url: str, node: str) -> None:
            data = {"ok": True, "event": "ready", "url": url, "node": node}
            output.result(
                data, f"{greeting} is ready: {url}  (node {node}; Ctrl+C stops it)\n{_details(url, settings)}"
            )

        service = Service(settings, default_registry(), ready, before_ready)
        # What a job enqueues without a session goes where its own run came from.
        with connect(settings.database_url):
            service.run()
        end_without(service.left_behind)


def _details(url: str, settings: Settings) -> str:
    own = len(default_registry()) - len(builtin_jobs())
    return "\n".join(
        (
            f"  API       {url}/graphql  (try it at {url}/graphiql)",
            f"  jobs      {f'{own} of your own, and the built-in ones' if own else NO_JOBS}",
            f"  database  {shown_url(settings.database_url)}",
            f"  sign-in   {NO_AUTH if settings.no_auth else SIGN_IN.format(url=url)}",
        )
    )
