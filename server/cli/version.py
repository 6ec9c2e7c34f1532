"""``cronograph version``."""

import platform

from ...migrations.upgrade import head
from ..base.version import installed_version
from .base.output import Output, answering


@answering
def version(output: Output) -> None:
    """Print the version of this installation, its schema and its Python."""
    found = {"ok": True, "cronograph": installed_version(), "schema": head(), "python": platform.python_version()}
    output.result(found, f"cronograph {found['cronograph']} (schema {found['schema']}, Python {found['python']})")
