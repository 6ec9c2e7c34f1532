"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        help="Name or address to listen on; outside of loopback with TLS and --public-url only. [default: localhost]",
    ),
]
Port = Annotated[
    str | None, typer.Option("--port", metavar="INTEGER", help="TCP port; 0 = any free one. [default: 8000]")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        help="sqlite:///relative.db, sqlite:////absolute.db or postgresql://… [default: sqlite:///cronograph.db]",
    ),
]
DemoDatabaseUrl = Annotated[str, typer.Option("--database-url", help="Where the demo keeps its data.")]
Jobs = Annotated[
    list[str] | None, typer.Option("--jobs", metavar="MODULE", help="Module to import jobs from; repeat it for more.")
]
NodeName = Annotated[
    str | None, typer.Option("--node-name", help="Name of this process among the nodes. [default: a random one]")
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
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="Configuration file. [default: cronograph.toml, if there is one]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs instead of text for people.")]
ServerUrl = Annotated[
    str,
    typer.Option("--url", envvar="CRONOGRAPH_URL", show_envvar=True, help="Address of the server to talk to."),
]
DEFAULT_SERVER = "http://localhost:8000"
"""Where ``cronograph serve`` listens unless told otherwise."""
