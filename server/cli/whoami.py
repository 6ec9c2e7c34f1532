"""``cronograph whoami``: who one is to a server."""

from .base.client import server_at
from .base.options import DEFAULT_SERVER, ServerUrl
from .base.output import Output, answering


@answering
def whoami(output: Output, url: ServerUrl = DEFAULT_SERVER) -> None:
    """Say as whom the commands act at a server, by CRONOGRAPH_TOKEN or `cronograph login`."""
    with server_at(url) as client:
        viewer = client.viewer()
    data = {"ok": True, "url": url, "name": viewer.name, "role": viewer.role}
    output.result(data, f"{viewer.name} ({viewer.role.lower()})")
