"""``cronograph version``."""

import platform

from ...migrations.upgrade import head
from ..version import installed_version
from .options import AsJson
from .output import Output


def version(as_json: AsJson = False) -> None:
    """Print the version of this installation, its schema and its Python."""
    output = Output(as_json=as_json)
    with output.errors():
        found = {"cronograph": installed_version(), "schema": head(), "python": platform.python_version()}
        output.result(found, f"cronograph {found['cronograph']} (schema {found['schema']}, Python {found['python']})")
