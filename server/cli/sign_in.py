"""``cronograph login``, ``logout`` and ``whoami``: sign in at a server from a terminal."""

import sys

from ...graphql.client import Invitation, sign_in, sign_out
from .base.options import DEFAULT_SERVER, ServerUrl
from .base.output import Output, answering
from .remote.api import server_at, speaking_to


@answering
def login(output: Output, url: ServerUrl = DEFAULT_SERVER) -> None:
    """Sign in at a server: open the printed address in a browser, and let this terminal in.

    The sign-in is kept in a file that only you can read (cronograph/credentials.json in XDG_CONFIG_HOME or ~/.config),
    and used by all commands and by the Python client. It ends 30 days after its last use, by `cronograph logout`, or on
    the dashboard.
    """

    def invite(invitation: Invitation) -> None:
        # For people, no matter what the form of the result.
        sys.stderr.write(f"Open {invitation.address} and let this terminal in, if it shows {invitation.code}.\n")
        sys.stderr.flush()

    with speaking_to(url):
        sign_in(url, invite)
    with server_at(url) as client:
        viewer = client.viewer()
    output.result(
        {"ok": True, "url": url, "name": viewer.name, "role": viewer.role},
        f"Signed in at {url} as {viewer.name} ({viewer.role.lower()})",
    )


@answering
def logout(output: Output, url: ServerUrl = DEFAULT_SERVER) -> None:
    """End the sign-in at a server, there and here."""
    with speaking_to(url):
        ended = sign_out(url)
    words = f"Signed out at {url}" if ended else f"Nobody was signed in at {url}"
    output.result({"ok": True, "url": url, "ended": ended}, words)


@answering
def whoami(output: Output, url: ServerUrl = DEFAULT_SERVER) -> None:
    """Say as whom the commands act at a server, by CRONOGRAPH_TOKEN or `cronograph login`."""
    with server_at(url) as client:
        viewer = client.viewer()
    data = {"ok": True, "url": url, "name": viewer.name, "role": viewer.role}
    output.result(data, f"{viewer.name} ({viewer.role.lower()})")
