"""Writes `docs/client-reference.md`: the methods of the Python client, as their docstrings say them.

`python -m tests.generation.client_reference > docs/client-reference.md`; `make schema` does,
and a test compares.
"""

import inspect
import sys
from collections.abc import Iterator

from cronograph.graphql.client import Client
from tests.generation.signatures import section, signature_text

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
    yield from section(f"## {name}", signature_text(name, function), function)


if __name__ == "__main__":
    sys.stdout.write(reference())
