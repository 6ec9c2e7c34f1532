"""``cronograph whoami``: who one is to a server."""

from .client import server_at
from .options import DEFAULT_SERVER, AsJson, ServerUrl
from .output import Output


def whoami(url: ServerUrl = DEFAULT_SERVER, as_json: AsJson = False) -> None:
    """Say as whom the commands act at a server, by CRONOGRAPH_TOKEN or `cronograph login`."""
    output = Output(as_json=as_json)
    with output.errors():
        with server_at(url) as client:
            viewer = client.viewer()
        data = {"ok": True, "url": url, "name": viewer.name, "role": viewer.role}
        output.result(data, f"{viewer.name} ({viewer.role.lower()})")
