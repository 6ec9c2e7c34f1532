"""``cronograph logout``: end the sign-in of ``cronograph login``."""

from ...graphql.client import sign_out
from .base.client import speaking_to
from .base.options import DEFAULT_SERVER, ServerUrl
from .base.output import Output, answering


@answering
def logout(output: Output, url: ServerUrl = DEFAULT_SERVER) -> None:
    """End the sign-in at a server, there and here."""
    with speaking_to(url):
        ended = sign_out(url)
    words = f"Signed out at {url}" if ended else f"Nobody was signed in at {url}"
    output.result({"ok": True, "url": url, "ended": ended}, words)
