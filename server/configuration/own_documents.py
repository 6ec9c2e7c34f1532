"""What Cronograph's own programs send to the API: they work on a server that runs listed documents only."""

from pathlib import Path
from typing import TYPE_CHECKING

from ...graphql.transport.persisted import sha256_of
from ...jobs.core.base.lazy import LazyModule
from .allowed_documents import read_documents

if TYPE_CHECKING:
    from ...graphql.client import command_line, mutations
else:
    command_line = LazyModule("cronograph.graphql.client.command_line")
    mutations = LazyModule("cronograph.graphql.client.mutations")

BUILT = "documents.json"
"""What the build of the dashboard calls the list of the operations that its pages send."""


def own_documents(site: Path) -> dict[str, str]:
    """Those of the dashboard built in the folder ``site`` (none without one) and of the command line, by SHA-256."""
    built = site / BUILT
    pages = read_documents(built) if built.is_file() else {}
    commands = (mutations.trigger_job("").document, mutations.trigger_task("").document, *command_line.DOCUMENTS)
    return pages | {sha256_of(one): one for one in commands}
