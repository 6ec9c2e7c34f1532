"""Whether what a command answers with `--json` is as its published schema says."""

import json
from functools import cache

from jsonschema import Draft202012Validator, FormatChecker

from tests.generation.cli_answers import LINES, published


@cache
def validator(command: str) -> Draft202012Validator:
    schema = published()
    wanted = {"anyOf": [{"$ref": "#/$defs/Error"}, {"$ref": f"#/$defs/{command}"}]}
    return Draft202012Validator({**schema, **wanted}, format_checker=FormatChecker())


def fault(command: str, said: str) -> str | None:
    """Return what is wrong with the answer of a command; None if it is of its form."""
    for line in said.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            return f"no JSON: {line[:300]}"
        for error in validator(command).iter_errors(answer):
            return f"{error.message[:300]} at {list(error.path)}: {line[:300]}"
    return None if said or command in LINES else "said nothing"
