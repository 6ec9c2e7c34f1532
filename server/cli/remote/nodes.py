"""``cronograph nodes``: the nodes."""

from typing import Annotated

import typer

from ....graphql.client.command_line import DRAIN_NODE, RESUME_NODE
from ..base.application import CommandLine
from .api import Api, at_server
from .listings import NODE_LIST
from .lists import add_list
from .names import node_names

nodes = CommandLine(help="Look at nodes, drain and resume them, on a running server.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the node.", autocompletion=node_names)]
add_list(nodes, NODE_LIST, "List nodes.")


@nodes.command()
@at_server
def drain(api: Api, name: Name) -> None:
    """Let a node take nothing new, finish what it runs, and end with status 0."""
    api.result({"node": api.change(DRAIN_NODE, name=name)["node"]}, f"Node {name} drains")


@nodes.command()
@at_server
def resume(api: Api, name: Name) -> None:
    """Take a drain back, as long as the node has not ended."""
    api.result({"node": api.change(RESUME_NODE, name=name)["node"]}, f"Node {name} takes runs again")
