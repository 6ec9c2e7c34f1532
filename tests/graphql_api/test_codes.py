"""Every word that programs test is in the schema or in the catalogue, and the page says what the code says."""

import re

from cronograph.graphql.catalogue import REQUESTS, SDL, catalogue, limit_codes
from cronograph.jobs.core.codes import ErrorCode
from cronograph.jobs.core.events import EventState
from cronograph.jobs.core.model import NodeState, Outcome, SkipReason
from cronograph.jobs.core.states import RunState
from tests.support.sources import ROOT

CODE = re.compile(r'(?:code=|_refused\([^()]*, |coded\(.*, )"([A-Z_a-z]+)"')


def test_the_page_of_codes_is_what_the_code_says() -> None:
    assert (ROOT / "docs" / "codes.md").read_text() == catalogue(SDL.read_text()), "write it anew with `make schema`"


def test_every_code_of_a_request_is_in_the_catalogue() -> None:
    known = {*REQUESTS, *limit_codes()}
    for folder in ("graphql", "server"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "client" in path.parts:
                continue
            raised: set[str] = set(CODE.findall(path.read_text(encoding="utf-8")))
            assert raised <= known, f"{path.relative_to(ROOT)}: put {raised - known} into graphql/catalogue.py"


def test_no_code_of_a_refusal_is_a_bare_text() -> None:
    for path in sorted((ROOT / "jobs").rglob("*.py")):
        assert CODE.findall(path.read_text(encoding="utf-8")) == [], path
    assert all(code.value == code.name for code in ErrorCode)


def test_the_states_of_events_are_those_of_runs_executions_nodes_and_skips() -> None:
    kinds = (RunState, Outcome, NodeState, SkipReason)
    assert {one.value for one in EventState} == {one.value for kind in kinds for one in kind}
