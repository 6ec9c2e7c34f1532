"""What schemathesis is to put into the scalars of ours that take any value; loaded by its command."""

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.graphql import nodes

from graphql import ObjectValueNode, parse_value

PARTS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def json_object(value: dict[str, Any]) -> ObjectValueNode:
    """An object as a literal of a document."""
    text = ", ".join(f"{key}: {json.dumps(part)}" for key, part in value.items())
    node = parse_value(f"{{{text}}}")
    assert isinstance(node, ObjectValueNode)
    return node


schemathesis.graphql.scalar("JSON", st.dictionaries(st.sampled_from(["seconds", "lines", "x"]), PARTS).map(json_object))
schemathesis.graphql.scalar("Labels", st.dictionaries(st.sampled_from(["team", "x"]), PARTS).map(json_object))
schemathesis.graphql.scalar("Duration", st.floats(allow_nan=False, allow_infinity=False).map(nodes.Float))
schemathesis.graphql.scalar("BigInt", st.integers(-(2**70), 2**70).map(nodes.Int))
