"""Writes `graphql/client/documents.json`: the documents of the command line and of the Python client, by SHA-256.

Servers ship it: they know these documents by their hashes. `make schema` writes it, and a test compares.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from cronograph.graphql.client import Operation, Subscription
from cronograph.graphql.client.command_line import DOCUMENTS
from cronograph.graphql.transport.body import PROGRAMS, sha256_of

SAMPLES = "tests.graphql_api.clients.test_client_documents"
"""The module that calls each ready-made operation with arguments."""


def client_documents(made: Mapping[Callable[..., object], Sequence[Operation[Any] | Subscription[Any]]]) -> str:
    """Return the text of the file.

    Args:
        made: Operations by the function that makes them, each of its documents once at least.
    """
    samples = [sample for each in made.values() for sample in each]
    operations = [sample if isinstance(sample, Operation) else sample.operation for sample in samples]
    texts = sorted({*DOCUMENTS, *(operation.document for operation in operations)})
    return json.dumps({sha256_of(text): text for text in texts}, indent=1) + "\n"


if __name__ == "__main__":
    PROGRAMS.write_text(client_documents(import_module(SAMPLES).SAMPLES))
