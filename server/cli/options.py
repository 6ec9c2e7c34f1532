"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Name or address to listen on; outside of loopback with TLS and --public-url only. (default: localhost)",
    ),
]
Port = Annotated[
    str | None, typer.Option("--port", metavar="INTEGER", help="TCP port; 0 = any free one. (default: 8000)")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://… (default: sqlite:///cronograph.db)",
    ),
]
DatabaseSchema = Annotated[
    str | None,
    typer.Option(
        "--database-schema", metavar="NAME", help="PostgreSQL: the schema of the tables. (default: cronograph)"
    ),
]
DemoDatabaseUrl = Annotated[str, typer.Option("--database-url", help="Where the demo keeps its data.")]
Jobs = Annotated[
    list[str] | None,
    typer.Option("--jobs", metavar="MODULES", help="Modules to import jobs from: a,b, or repeat it for more."),
]
Slots = Annotated[str | None, typer.Option("--slots", metavar="INTEGER", help="Runs at once. (default: 200)")]
ThreadSlots = Annotated[
    str | None,
    typer.Option("--thread-slots", metavar="INTEGER", help="How many of them in threads and processes. (default: 20)"),
]
Prefetch = Annotated[
    str | None, typer.Option("--prefetch", metavar="INTEGER", help="Runs claimed ahead of free slots. (default: 0)")
]
CountingScheme = Annotated[
    str | None,
    typer.Option("--counting-scheme", metavar="HIGH,LOW", help="HIGH, then LOW runs of a group's turn. (default: 2,1)"),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--groups", metavar="NAMES", help="Take only runs of these groups: a,b, or repeat it. (default: all)"),
]
OnlyJobs = Annotated[
    list[str] | None,
    typer.Option(
        "--only-jobs", metavar="NAMES", help="Take only runs of these jobs: a,b, or repeat it. (default: all)"
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tags", metavar="TAGS", help="Take only jobs with one of these tags. (default: any)"),
]
WithoutTags = Annotated[
    list[str] | None, typer.Option("--without-tags", metavar="TAGS", help="Take no job with one of these tags.")
]
Heartbeat = Annotated[
    str | None, typer.Option("--heartbeat", metavar="SECONDS", help="Between two signs of life. (default: 15)")
]
Lease = Annotated[
    str | None,
    typer.Option("--lease", metavar="SECONDS", help="After which a silent node's runs are taken over. (default: 60)"),
]
DrainTimeout = Annotated[
    str | None,
    typer.Option(
        "--drain-timeout", metavar="SECONDS", help="For running jobs at a stop; 0 = wait for all. (default: 25)"
    ),
]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error. (default: info)")
]
NodeName = Annotated[
    str | None, typer.Option("--node-name", help="Name of this process among the nodes. (default: a random one)")
]
PublicUrl = Annotated[
    str | None, typer.Option("--public-url", help="The address people use, e.g. https://cron.example.com.")
]
TlsCert = Annotated[str | None, typer.Option("--tls-cert", help="Certificate chain in PEM form, to speak TLS.")]
TlsKey = Annotated[str | None, typer.Option("--tls-key", help="Private key of the certificate.")]
TrustedProxies = Annotated[
    str | None,
    typer.Option("--trusted-proxies", help="Networks of proxies that end TLS, separated by commas."),
]
SetupPublic = Annotated[
    bool, typer.Option("--setup-public", help="Let the set-up link be used from elsewhere, at the first start.")
]
NoAuth = Annotated[
    bool, typer.Option("--no-auth", help="Serve without sign-in, for trials; accepted on loopback only.")
]
Reload = Annotated[
    bool, typer.Option("--reload", help="Start anew whenever a Python file of the project changes; for development.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Configuration file. (default: cronograph.toml, if there is one)")
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs instead of text for people.")]
ServerUrl = Annotated[
    str,
    typer.Option("--url", envvar="CRONOGRAPH_URL", show_envvar=True, help="Address of the server to talk to."),
]
DEFAULT_SERVER = "http://localhost:8000"
"""Where ``cronograph serve`` listens unless told otherwise."""
