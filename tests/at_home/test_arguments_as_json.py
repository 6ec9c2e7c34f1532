"""A value that has no form in JSON is refused where it is enqueued, and the error names the argument."""

from typing import Any

import pytest

from cronograph.jobs import InvalidInput, RunSpec, job
from cronograph.jobs.registry import Registry
from cronograph.jobs.testing import Queue

JOBS = Registry()


@job(registry=JOBS)
async def keeps(note: str = "", data: bytes = b"", size: float = 0.0, rows: list[Any] | None = None) -> None: ...


@job(registry=JOBS)
async def takes(note: str = "", anything: Any = None) -> None: ...


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

NO_JSON = "of job '{}': cannot be written as JSON: {}"
TEXT, ITSELF = "bytes must be UTF-8; pass", "it contains itself"
WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (keeps, {"data": b"\xff"}, f"argument 'data' {NO_JSON.format('keeps', TEXT)}"),
    (keeps, {"rows": CIRCLE}, f"argument 'rows' {NO_JSON.format('keeps', ITSELF)}"),
    (takes, {"anything": CIRCLE}, f"argument 'anything' {NO_JSON.format('takes', ITSELF)}"),
    (takes, {"anything": b"\xff"}, f"argument 'anything' {NO_JSON.format('takes', TEXT)}"),
    (takes, {"anything": object()}, f"argument 'anything' {NO_JSON.format('takes', 'Unable to serialize')}"),
    (keeps, {"size": float("nan")}, "args: must be JSON: .*, in argument 'size'"),
    (
        takes,
        {"anything": {"deep": [float("inf")]}},
        "args: must be JSON, got float inf; .* 'anything.deep.0'",
    ),
    (takes, {"anything": [{1: 2}]}, "argument 'anything.0' of job 'takes': is {1: 2}, but reads back from its JSON as"),
    (keeps, {"note": "\ud800"}, "args: a text must not hold half of a surrogate pair, in argument 'note'"),
]


@pytest.mark.costly
@pytest.mark.parametrize(("one", "args", "message"), WRONG, ids=[message[:60] for *_, message in WRONG])
async def test_the_argument_is_named(one: Any, args: dict[str, Any], message: str) -> None:
    async with Queue(JOBS):
        with pytest.raises(InvalidInput, match=message):
            await one.enqueue(None, **args)
        with pytest.raises(InvalidInput, match="args"):
            one.registry.queue.put_many([RunSpec(one.name, args)])
