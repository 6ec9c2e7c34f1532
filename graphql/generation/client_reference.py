"""Writes `docs/client-reference.md`: the methods of the Python client, as their docstrings say them.

`python -m cronograph.graphql.generation.client_reference > docs/client-reference.md`; `make schema` does,
and a test compares.
"""

import inspect
import sys
from collections.abc import Iterator

from ..client import Client

HEAD = """# The Python client
`cronograph.graphql.client.Client`, and `AsyncClient` with the same methods to be awaited; how to use them is in
[the API](api.md#from-python). Made from the docstrings.

"""


def reference() -> str:
    """The whole page."""
    return HEAD + "\n".join(part for name in dir(Client) for part in _section(name))


def _section(name: str) -> Iterator[str]:
    member = inspect.getattr_static(Client, name)
    function = inspect.unwrap(member)
    if name.startswith("_") or not callable(function):
        return
    parameters = [one.replace(annotation=inspect.Parameter.empty) for one in _parameters(function)]
    yield f"## {name}\n`{name}{inspect.Signature(parameters)}`\n"
    yield f"```text\n{inspect.cleandoc(function.__doc__ or '')}\n```\n"


def _parameters(function: object) -> Iterator[inspect.Parameter]:
    assert callable(function)
    yield from (one for one in inspect.signature(function).parameters.values() if one.name != "self")


if __name__ == "__main__":
    sys.stdout.write(reference())
