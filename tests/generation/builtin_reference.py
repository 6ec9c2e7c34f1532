"""Writes ``docs/built-in-jobs.md``: every built-in job with its schedule and all its arguments, as its code has them.

``python -m tests.generation.builtin_reference > docs/built-in-jobs.md``; ``make schema`` does, and a test compares.
"""

import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cronograph.jobs.builtin import builtin_jobs
from cronograph.jobs.registry import JobDefinition

HEAD = """# Built-in jobs
Every node brings these along; made from their code. Those with a schedule are tasks of the same name, which can be
paused and given another schedule. `http_request` and `graphql_request` run when a task or an enqueue says so: what they
send may hold [secrets](security.md#secrets). `bulk_action` changes many runs at once. `shell` is there only where the
setting `shell` is true.

"""


def reference() -> str:
    """The whole page."""
    return HEAD + "\n".join(line for job in builtin_jobs(with_shell=True) for line in _section(job))


def _section(job: JobDefinition) -> Iterator[str]:
    yield f"## `{job.name}`"
    yield (inspect.getdoc(job.handler) or job.description).partition("\n\nArgs:")[0].replace("``", "`") + "\n"
    if job.schedule is not None:
        yield f"Runs at `{job.schedule.value}` (UTC), unless its task is given another schedule.\n"
    properties: Mapping[str, Any] = job.args_schema["properties"]
    if not properties:
        yield "It takes no arguments.\n"
        return
    required = job.args_schema.get("required", [])
    yield "| argument | is | unless given | says |"
    yield "|---|---|---|---|"
    for name, schema in properties.items():
        default = "**needed**" if name in required else f"`{json.dumps(schema.get('default'))}`"
        yield f"| `{name}` | {_kind(schema)} | {default} | {_cell(schema.get('description', ''))} |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what JSON it must be."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds: list[Mapping[str, Any]] = schema.get("anyOf", [schema])
    return " or ".join(dict.fromkeys(_bounded(kind) for kind in kinds))


def _bounded(kind: Mapping[str, Any]) -> str:
    low, above, high = kind.get("minimum"), kind.get("exclusiveMinimum"), kind.get("maximum")
    bounds = [f"from {low:g}" if low is not None else "", f"above {above:g}" if above is not None else ""]
    bounds.append(f"up to {high:,}" if high is not None else "")
    return " ".join([kind.get("type", "any JSON"), *filter(None, bounds)])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(reference())
