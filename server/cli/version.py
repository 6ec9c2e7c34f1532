"""``cronograph version``."""

import platform

from ...migrations.upgrade import head
from ..process.version import commit, installed_version
from .base.output import Output, answering


@answering
def version(output: Output) -> None:
    """Print the version of this installation, its commit, its schema and its Python."""
    version, made_of, schema, python = installed_version(), commit(), head(), platform.python_version()
    found = {"ok": True, "cronograph": version, "commit": made_of, "schema": schema, "python": python}
    of = "commit unknown" if made_of is None else f"commit {made_of[:12]}"
    output.result(found, f"cronograph {version} ({of}, schema {schema}, Python {python})")
