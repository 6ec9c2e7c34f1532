"""What a client forgot to say chooses nothing: filters without a condition are refused, by real requests over HTTP."""
# graphql-core does not say what its types hold.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest

from cronograph.graphql.client import Client, NewRun, OperationError, RefusedError, cron
from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLNonNull, get_named_type
from tests.generation.cli_answers import committed_schema
from tests.support.job_modules import write_example_jobs
from tests.support.processes import CronographProcess, ProcessStarter
from tests.support.web import open_client


@dataclass(frozen=True)
class Form:
    """A filter in which something is missing.

    Attributes:
        written: The members of the input as the document has them; ``T`` is a text's name, ``F`` the filter's type.
        path: Where it came out empty.
        variables: Their declarations, which have the same two words.
        values: Their values; those left out are absent.
    """

    written: str
    path: str
    variables: str = ""
    values: Mapping[str, object] = field(default_factory=dict[str, object])


FORMS: Final = (
    # A variable that is absent.
    Form("filter: { T: { eq: $v } }", "filter.T.eq", "$v: String"),
    Form("filter: { T: { ne: $v } }", "filter.T.ne", "$v: String"),
    Form("filter: { T: { in: $v } }", "filter.T.in", "$v: [String!]"),
    Form("filter: { T: { contains: $v } }", "filter.T.contains", "$v: String"),
    Form("filter: { T: { isNull: $v } }", "filter.T.isNull", "$v: Boolean"),
    Form('filter: { T: { eq: "x", contains: $v } }', "filter.T.contains", "$v: String"),
    Form('filter: { id: { gt: "0" }, T: { eq: $v } }', "filter.T.eq", "$v: String"),
    Form("filter: { T: $v }", "filter.T", "$v: StringFilter"),
    Form("filter: { and: $v }", "filter.and", "$v: [F!]"),
    Form("filter: { not: $v }", "filter.not", "$v: F"),
    Form('filter: { or: [{ T: { eq: "x" } }, { T: { eq: $v } }] }', "filter.or.1.T.eq", "$v: String"),
    Form("filter: { not: { and: [{ T: { eq: $v } }] } }", "filter.not.and.0.T.eq", "$v: String"),
    Form("filter: $v", "filter", "$v: F!", {"v": {}}),
    Form("all: false", "all"),
    Form("all: $v", "all", "$v: Boolean!", {"v": False}),
    # A null, where it is no value.
    Form("filter: { T: { eq: $v } }", "filter.T.eq", "$v: String", {"v": None}),
    Form("filter: { T: { ne: null } }", "filter.T.ne"),
    Form("filter: { T: { isNull: null } }", "filter.T.isNull"),
    Form("filter: { T: { in: $v } }", "filter.T.in", "$v: [String!]", {"v": None}),
    Form("filter: { T: { contains: null } }", "filter.T.contains"),
    Form("filter: { T: null }", "filter.T"),
    Form("filter: { not: null }", "filter.not"),
    Form("filter: { T: $v }", "filter.T", "$v: StringFilter", {"v": None}),
    # Nothing in what combines or compares.
    Form("filter: {}", "filter"),
    Form("filter: { and: [] }", "filter.and"),
    Form("filter: { or: [] }", "filter.or"),
    Form("filter: { not: {} }", "filter.not"),
    Form("filter: { T: {} }", "filter.T"),
    Form("filter: { T: { notIn: [] } }", "filter.T.notIn"),
    Form("filter: { T: { in: [] } }", "filter.T.in"),
    Form("filter: { not: { T: { in: [] } } }", "filter.not.T.in"),
    Form('filter: { and: [{}, { T: { eq: "x" } }] }', "filter.and.0"),
    Form('filter: { or: [{ T: { eq: "x" } }, {}] }', "filter.or.1"),
    Form("filter: { and: {} }", "filter.and.0"),
    Form("filter: { not: { not: { or: [{ and: [] }] } } }", "filter.not.not.or.0.and"),
)


@dataclass(frozen=True)
class Bulk:
    """A mutation of many rows as the schema has it: its selection, a text to compare, what else its input needs."""

    name: str
    input: str
    field: str
    filter: str
    text: str
    needs: str

    def refusals(self, http: httpx.Client, form: Form) -> list[list[dict[str, Any]]]:
        """The errors of the payloads for a form: as it is, and as a dry run, in one document."""
        declared = self._named(form.variables)
        head = f"({declared})" if declared else ""
        members = ", ".join(one for one in (f"{self.field}: {{ {self._named(form.written)} }}", self.needs) if one)
        fields = " ".join(
            f"{alias}: {self.name}(input: {{ {members} {more} }}) {{ errors {{ code message path }} }}"
            for alias, more in (("earnest", ""), ("dry", "dryRun: true"))
        )
        return self._errors(http, f"mutation Refused{head} {{ {fields} }}", form.values)

    def refusals_of_variables(self, http: httpx.Client, given: object) -> list[list[dict[str, Any]]]:
        """The errors of the payload where the whole input is a variable with this filter."""
        document = (
            f"mutation($input: {self.input}!) {{ {self.name}(input: $input) {{ errors {{ code message path }} }} }}"
        )
        needs = dict([self.needs.split(": ")]) if self.needs else {}
        return self._errors(http, document, {"input": {self.field: {"filter": given}, **needs}})

    def _errors(self, http: httpx.Client, document: str, values: Mapping[str, object]) -> list[list[dict[str, Any]]]:
        answer = http.post("/graphql", json={"query": document, "variables": values}).json()
        assert "errors" not in answer, (document, answer)
        return [payload["errors"] for payload in answer["data"].values()]

    def _named(self, text: str) -> str:
        return text.replace("F!", f"{self.filter}!").replace(": F", f": {self.filter}").replace("T:", f"{self.text}:")


def bulk_mutations() -> Iterator[Bulk]:
    """Yield every mutation whose input has a selection."""
    root = committed_schema().mutation_type
    assert root is not None
    for name, one in root.fields.items():
        argument = one.args.get("input")
        kind = None if argument is None else get_named_type(argument.type)
        if not isinstance(kind, GraphQLInputObjectType):
            continue
        for chosen, given in kind.fields.items():
            selection = get_named_type(given.type)
            if isinstance(selection, GraphQLInputObjectType) and selection.is_one_of and "filter" in selection.fields:
                filter = get_named_type(selection.fields["filter"].type)
                assert isinstance(filter, GraphQLInputObjectType)
                text = next(word for word in ("owner", "group", "name") if word in filter.fields)
                yield Bulk(name, kind.name, chosen, filter.name, text, ", ".join(_needed(kind, chosen)))


def _needed(kind: GraphQLInputObjectType, but: str) -> Iterator[str]:
    for name, one in kind.fields.items():
        if name == but:
            continue
        if isinstance(one.type, GraphQLNonNull) and one.ast_node is not None and not one.ast_node.default_value:
            inner = get_named_type(one.type)
            assert isinstance(inner, GraphQLEnumType), f"say here what {kind.name}.{name} may be"
            yield f"{name}: {next(iter(inner.values))}"


@pytest.fixture
def served(processes: ProcessStarter, sqlite_url: str, tmp_path: Path) -> CronographProcess:
    """What is refused is refused before any database is asked."""
    return processes.serve(sqlite_url, "--jobs", write_example_jobs(tmp_path))


@pytest.mark.costly
def test_no_empty_filter_chooses_anything_in_any_mutation_of_many(served: CronographProcess) -> None:
    found = list(bulk_mutations())
    assert {one.name for one in found} >= {
        *("deleteTasks", "pauseTasks", "resumeTasks", "cancelRuns", "retryRuns", "retryRunsNow", "setRunPriorities")
    }
    with Client(served.url) as client, open_client(served.url) as http:
        for name in ("kept", "paused"):
            client.create_task(name, "nap", cron("0 0 0 1 1 *"), args={"seconds": 0})
        client.pause_task("paused")
        client.pause_group("held")
        client.enqueue_runs([NewRun(job_name="nap", args={"seconds": 0}, group="held")] * 2)
        before = picture(http)
        for bulk in found:
            for form in FORMS:
                refusals = bulk.refusals(http, form)
                seen = [[(error["code"], ".".join(error["path"])) for error in errors] for errors in refusals]
                wanted = [("NO_CONDITION", f"{bulk.field}.{form.path.replace('T', bulk.text)}")]
                assert seen == [wanted, wanted], (bulk.name, form, refusals)
            empty: tuple[Any, ...] = (
                {},
                {bulk.text: {}},
                {"or": []},
                {"and": [{}]},
                {bulk.text: {"eq": None}},
            )
            for given in empty:
                (errors,) = bulk.refusals_of_variables(http, given)
                assert {error["code"] for error in errors} == {"NO_CONDITION"}
        assert picture(http) == before


def test_everything_is_chosen_where_that_is_said(served: CronographProcess) -> None:
    with Client(served.url) as client:
        for name in ("a", "b"):
            client.create_task(name, "nap", cron("0 0 0 1 1 *"), args={"seconds": 0})
        with pytest.raises(RefusedError) as caught:
            client.pause_tasks(filter={"owner": {"eq": None}})
        assert caught.value.codes == {"NO_CONDITION"}
        assert client.pause_tasks(filter={"name": {"eq": "a"}}).count == 1
        assert client.pause_tasks(filter={"name": {"in": ["a", "b"]}}, dry_run=True).count == 1
        assert client.resume_tasks(all=True).count == 1
        assert set(client.delete_tasks(filter={"owner": {"isNull": True}}, dry_run=True).names) == {"a", "b"}
        for given in ({}, {"names": ["a"], "all": True}, {"filter": {"name": {"eq": "a"}}, "all": True}):
            with pytest.raises(OperationError, match="exactly one field must be specified") as wrong:
                client.pause_tasks(**cast("Any", given))
            assert wrong.value.codes == {"INVALID_VARIABLES"}
        assert set(client.delete_tasks(all=True).names) == {"a", "b"}


LISTS: Final = (
    Form("filter: { name: { eq: $v } }", "filter.name.eq", "$v: String"),
    Form("filter: { owner: $v }", "filter.owner", "$v: StringFilter"),
    Form('filter: { name: { eq: "a", in: $v } }', "filter.name.in", "$v: [String!]"),
    Form('filter: { and: [{ name: { eq: "a" } }, { owner: { eq: $v } }] }', "filter.and.1.owner.eq", "$v: String"),
    Form("filter: { name: { in: null } }", "filter.name.in"),
    Form("filter: { name: { isNull: $v } }", "filter.name.isNull", "$v: Boolean", {"v": None}),
    Form("filter: { name: null }", "filter.name"),
    Form("filter: $v", "filter.name", "$v: TaskFilter", {"v": {"name": {}}}),
    Form("filter: { name: {} }", "filter.name"),
    Form("filter: { and: [] }", "filter.and"),
    Form("filter: { or: [] }", "filter.or"),
    Form("filter: { or: [{}] }", "filter.or.0"),
    Form("filter: { not: {} }", "filter.not"),
)
MEANT: Final = (
    Form("filter: {}", ""),
    Form("filter: $v", "", "$v: TaskFilter"),
    Form("filter: null", ""),
    Form("filter: { owner: { eq: null } }", ""),
    Form("filter: { owner: { eq: $v } }", "", "$v: String", {"v": None}),
    Form("filter: { name: { ne: null } }", ""),
    Form("filter: { name: { notIn: [] } }", ""),
    Form("filter: { name: { eq: $v } }", "", '$v: String = "a"'),
)


@pytest.mark.costly
def test_lists_refuse_conditions_without_a_value_too_unless_a_null_is_meant(served: CronographProcess) -> None:
    def ask(field: str, form: Form) -> dict[str, Any]:
        head = f"({form.variables})" if form.variables else ""
        document = f"query Listed{head} {{ {field}({form.written}) {{ nodes {{ __typename }} }} }}"
        found: dict[str, Any] = http.post("/graphql", json={"query": document, "variables": form.values}).json()
        return found

    with Client(served.url) as client, open_client(served.url) as http:
        client.create_task("a", "nap", cron("0 0 0 1 1 *"), args={"seconds": 0})
        for form in LISTS:
            for listed in ("tasks", "upcoming"):
                (error,) = ask(listed, form)["errors"]
                assert (error["extensions"]["code"], error["message"].partition(":")[0]) == ("NO_CONDITION", form.path)
        for form in MEANT:
            assert len(ask("tasks", form)["data"]["tasks"]["nodes"]) >= 1, form


def picture(http: httpx.Client) -> Any:
    """All that a mutation could have changed."""
    document = """{ tasks(orderBy: [{ field: NAME }]) { nodes { name isEnabled version } }
      runs(filter: { jobName: { eq: "nap" } }, orderBy: [{ field: ID }]) { nodes {
        id state priority cancelRequestedAt availableAt } } }"""
    return http.post("/graphql", json={"query": document}).json()["data"]
