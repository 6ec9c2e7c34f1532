"""Bad input to limits, keys, labels and expiry as one table: the import, ``check`` and the API all refuse it.

Each says where it is, what is allowed, and what it got.
"""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from cronograph.jobs.core.base.errors import ConfigurationError
from tests.graphql_api.api import Api
from tests.support.processes import ProcessStarter

MODULE = """from cronograph.jobs import Cap, Debounce, Rate, Throttle, job

@job("bad_{place}", {options})
async def bad(customer_id: int) -> None:
    pass
"""
GROUP = "mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { errors { path message } } }"
RUNS = "mutation($input: EnqueueRunsInput!) { enqueueRuns(input: $input) { errors { path message } } }"


@dataclass(frozen=True)
class Row:
    """What is refused.

    Attributes:
        options: Of ``@job``; empty: the code cannot say it.
        where: What the message begins with, in code.
        allowed: What it says must be.
        got: What it says it got.
        asked: The same by the API: a document and its input.
        path: Where the API says it is.
        told: What its message begins with, if that is another name than in code.
    """

    options: str
    where: str
    allowed: str
    got: str
    asked: tuple[str, dict[str, Any]] | None = None
    path: tuple[str, ...] = ()
    told: str = ""


def of_group(**limits: Any) -> tuple[str, dict[str, Any]]:
    return GROUP, {"name": "mail", **limits}


def of_run(**settings: Any) -> tuple[str, dict[str, Any]]:
    return RUNS, {"runs": [{"jobName": "work", **settings}]}


FEW, MANY = "at least one a day", "at most 100,000 a second"
LONG = "x" * 201
TOO_LONG = {"a": LONG}
SEVENTEEN = {str(number): "x" for number in range(17)}
TABLE = [
    Row('rate=Rate(1, per="2d")', "rate", FEW, "1 in 172,800 s", of_group(rate={"limit": 1, "per": 172800}), ("rate",)),
    Row("rate=Rate(200000)", "rate", MANY, "200,000 in 1 s", of_group(rate={"limit": 200000}), ("rate",)),
    Row("rate=Rate(0)", "rate.limit", "from 1 to", "got 0", of_group(rate={"limit": 0}), ("rate", "limit")),
    Row(
        "rate=Rate(5, burst=0)",
        "rate.burst",
        "from 1 to",
        "got 0",
        of_group(rate={"limit": 5, "burst": 0}),
        ("rate", "burst"),
    ),
    Row("rate=Rate(5, per=0)", "rate.per", "0.001", "0", of_group(rate={"limit": 5, "per": 0}), ("rate", "per")),
    Row("cap=Cap(0)", "cap.limit", "from 1 to 100,000", "got 0", of_group(cap={"limit": 0}), ("cap", "limit")),
    Row('cap=Cap(1, when_full="wait")', "cap.when_full", "'refuse', 'drop_oldest', 'drop_newest'", "'wait'"),
    Row("max_concurrent=0", "max_concurrent", "from 1 to 1,000,000", "got 0"),
    Row('rate=Rate(1), rate_key="{customer}"', "rate_key", "customer_id", "'customer'"),
    Row('max_concurrent=1, concurrency_key="{customer}"', "concurrency_key", "customer_id", "'customer'"),
    Row('cap=Cap(1), cap_key=("customer",)', "cap_key", "customer_id", "'customer'"),
    Row('rate_key="{customer_id}"', "rate_key", "add rate", "says what is counted, but not how many"),
    Row('labels_from=["customer"]', "labels_from", "customer_id", "'customer'"),
    Row(f"labels={SEVENTEEN!r}", "labels", "at most 16", "17", of_run(labels=SEVENTEEN), ("labels",)),
    Row(
        f"labels={{'a': '{LONG}'}}",
        "labels.a",
        "1 to 200 characters",
        "201",
        of_run(labels={"a": LONG}),
        ("labels", "a"),
    ),
    Row("labels={'a b': 'x'}", "labels", "1 to 63 letters", "'a b'", of_run(labels={"a b": "x"}), ("labels",)),
    Row("ttl=-1", "ttl", "0.001", "-1", of_run(ttl=-1), ("ttl",)),
    Row("unique_for=-1", "unique_for", "0.001", "-1", of_run(uniqueKey="k", uniqueFor=-1), ("uniqueFor",), "uniqueFor"),
    Row(
        "debounce=Debounce(5, max_wait=1)",
        "debounce",
        "less than the delay (5 s)",
        "got 1",
        of_run(uniqueKey="k", debounce={"delay": 5, "maxWait": 1}),
        ("debounce", "maxWait"),
    ),
    Row(
        "debounce=Debounce(5), throttle=Throttle(5)",
        "debounce",
        "give one of them",
        "contradicts throttle",
        of_run(uniqueKey="k", debounce={"delay": 5}, throttle={"period": 5}),
        ("debounce",),
    ),
    Row(
        "throttle=Throttle(5), unique_for=5",
        "throttle",
        "give one of them",
        "contradicts",
        of_run(uniqueKey="k", throttle={"period": 5}, uniqueFor=5),
        ("throttle",),
    ),
    Row(
        "",
        "",
        "must not be given together",
        "expiresAt",
        of_run(ttl=5, expiresAt="2030-01-01T00:00:00Z"),
        ("ttl",),
        "ttl",
    ),
]
IN_CODE = [(place, row) for place, row in enumerate(TABLE) if row.options]


def told(row: Row, sentence: str) -> None:
    assert all(part in sentence for part in (row.where, row.allowed, row.got)), sentence


@pytest.mark.parametrize(("place", "row"), IN_CODE, ids=[row.options[:40] for _, row in IN_CODE])
def test_the_import_refuses_it(place: int, row: Row) -> None:
    with pytest.raises(ConfigurationError) as refused:
        exec(compile(MODULE.format(place=place, options=row.options), "bad.py", "exec"), {"__name__": "bad"})
    told(row, str(refused.value))
    assert f"job 'bad_{place}'" in str(refused.value)


def test_check_reports_all_of_it_at_once(processes: ProcessStarter) -> None:
    for place, row in IN_CODE:
        (processes.folder / f"bad_{place}.py").write_text(MODULE.format(place=place, options=row.options))
    modules = ",".join(f"bad_{place}" for place, _ in IN_CODE)
    status, said = processes.run("check", "--jobs", modules, "--json")
    assert status == 2
    errors: list[str] = json.loads(said)["errors"]
    for place, row in IN_CODE:
        (sentence,) = (one for one in errors if f"job 'bad_{place}'" in one)
        told(row, sentence)


@pytest.mark.costly
@pytest.mark.parametrize("row", [row for row in TABLE if row.asked], ids=lambda row: row.options[:40])
async def test_the_api_refuses_it(api: Api, row: Row) -> None:
    assert row.asked is not None
    document, asked = row.asked
    ((field, payload),) = (await api.ask(document, input=asked)).items()
    error = payload["errors"][0]
    path = error["path"][2:] if field == "enqueueRuns" else error["path"]
    assert tuple(path) == row.path
    assert all(part in error["message"] for part in (row.told or row.where, row.allowed, row.got)), error["message"]
