"""Saved views by the API: whose they are, who changes those of the team, and which addresses are refused."""

from typing import Any

import pytest
from sqlalchemy import select

from cronograph.jobs.accounts.rules.views import MAX_VIEWS, view_faults
from cronograph.jobs.core.actor import Role
from cronograph.jobs.store.schema.tables import saved_view, user_account
from tests.server.auth.serving import Protected

SAVE = (
    'mutation { saveView(input: {page: "%s", name: "%s", search: "%s", shared: %s}) '
    "{ view { id name isShared createdBy } errors { code path message } } }"
)
UPDATE = "mutation { updateView(input: {id: %s, %s}) { view { name search isShared } errors { code path } } }"
DELETE = "mutation { deleteView(input: {id: %s}) { view { name } errors { code path } } }"
VIEWS = "{ savedViews { page name search isShared } }"


async def asked(server: Protected, text: str, token: str) -> Any:
    answer = (await server.ask(text, token)).json()
    assert "errors" not in answer, answer
    (data,) = answer["data"].values()
    return data


async def saved(server: Protected, token: str, name: str, search: str = "", *, shared: bool = False) -> str:
    answer = await asked(server, SAVE % ("/runs", name, search, "true" if shared else "false"), token)
    assert answer["errors"] == []
    return str(answer["view"]["id"])


async def people(server: Protected) -> dict[str, str]:
    for name, role in (("vera", Role.VIEWER), ("otto", Role.OPERATOR), ("olga", Role.OPERATOR)):
        await server.account(name, role)
    return {name: await server.token(name) for name in ("vera", "otto", "olga")}


def refused(answer: Any) -> list[tuple[str, list[str]]]:
    assert answer["view"] is None
    return [(one["code"], one["path"]) for one in answer["errors"]]


async def test_one_sees_ones_own_views_and_those_of_the_team(server: Protected) -> None:
    token = await people(server)
    assert await asked(server, VIEWS, token["vera"]) == []
    await saved(server, token["vera"], "stuck", "?state=STUCK")
    await saved(server, token["otto"], "failed", "?state=FAILED", shared=True)
    await saved(server, token["olga"], "mine")
    team = {"page": "/runs", "name": "failed", "search": "?state=FAILED", "isShared": True}
    own = {"page": "/runs", "name": "stuck", "search": "?state=STUCK", "isShared": False}
    assert await asked(server, VIEWS, token["vera"]) == [team, own]
    assert await asked(server, VIEWS, token["otto"]) == [team]
    assert await asked(server, '{ savedViews(page: "/log") { name } }', token["vera"]) == []


async def test_operators_change_the_views_of_the_team_and_viewers_their_own(server: Protected) -> None:
    token = await people(server)
    team = await saved(server, token["otto"], "failed", shared=True)
    own = await saved(server, token["vera"], "stuck")
    denied = [("FORBIDDEN", ["shared"])]
    assert refused(await asked(server, SAVE % ("/runs", "x", "", "true"), token["vera"])) == denied
    assert refused(await asked(server, UPDATE % (team, 'name: "x"'), token["vera"])) == denied
    assert refused(await asked(server, UPDATE % (own, "shared: true"), token["vera"])) == denied
    assert refused(await asked(server, DELETE % team, token["vera"])) == denied
    for text in (UPDATE % (own, 'name: "x"'), DELETE % own):
        assert refused(await asked(server, text, token["otto"])) == [("NOT_FOUND", ["id"])]
    changed = await asked(server, UPDATE % (own, 'name: "stuck ones", search: "?state=STUCK"'), token["vera"])
    assert changed["view"] == {"name": "stuck ones", "search": "?state=STUCK", "isShared": False}
    assert (await asked(server, UPDATE % (team, "shared: false"), token["olga"]))["view"]["isShared"] is False
    assert [one["name"] for one in await asked(server, VIEWS, token["olga"])] == ["failed"]
    assert (await asked(server, DELETE % own, token["vera"]))["view"] == {"name": "stuck ones"}
    assert await asked(server, VIEWS, token["vera"]) == []


async def test_a_name_is_there_once_for_a_person_and_once_for_the_team(server: Protected) -> None:
    token = await people(server)
    await saved(server, token["otto"], "a")
    await saved(server, token["olga"], "a")
    await saved(server, token["otto"], "a", shared=True)
    other = await saved(server, token["otto"], "b")
    taken = [("ALREADY_EXISTS", ["name"])]
    assert refused(await asked(server, SAVE % ("/runs", "a", "", "false"), token["otto"])) == taken
    assert refused(await asked(server, SAVE % ("/runs", "a", "", "true"), token["olga"])) == taken
    assert refused(await asked(server, UPDATE % (other, 'name: "a"'), token["otto"])) == taken
    answer = await asked(server, SAVE % ("/log", "a", "", "false"), token["otto"])
    assert answer["errors"] == []


@pytest.mark.costly
async def test_there_are_so_many_views_at_most(server: Protected) -> None:
    token = await people(server)
    for number in range(MAX_VIEWS):
        await saved(server, token["otto"], str(number))
    (error,) = (await asked(server, SAVE % ("/runs", "x", "", "false"), token["otto"]))["errors"]
    assert error["code"] == "INVALID_STATE"
    assert f"you have {MAX_VIEWS} views" in error["message"]
    team = await saved(server, token["otto"], "x", shared=True)
    assert refused(await asked(server, UPDATE % (team, "shared: false"), token["otto"])) == [("INVALID_STATE", [])]


async def test_changes_of_views_are_in_the_audit_log(server: Protected) -> None:
    token = await people(server)
    await server.account("boss", Role.ADMIN)
    view = await saved(server, token["otto"], "a", shared=True)
    await asked(server, UPDATE % (view, 'search: "?group=b"'), token["olga"])
    await asked(server, DELETE % view, token["olga"])
    boss = await server.token("boss")
    log = await asked(server, "{ auditLog(first: 20) { nodes { actor action subject } } }", boss)
    assert [one for one in log["nodes"] if one["action"].startswith("view.")] == [
        {"actor": "olga", "action": "view.deleted", "subject": "a"},
        {"actor": "olga", "action": "view.changed", "subject": "a"},
        {"actor": "otto", "action": "view.saved", "subject": "a"},
    ]


async def test_ones_own_views_go_with_the_account_and_those_of_the_team_stay(server: Protected) -> None:
    token = await people(server)
    await saved(server, token["otto"], "own")
    await saved(server, token["otto"], "team", shared=True)
    gone = user_account.delete().where(user_account.c.name == "otto")
    assert await server.database.write(lambda tx: tx.conn.execute(gone).rowcount) == 1
    names = select(saved_view.c.name)
    assert await server.database.read(lambda conn: list(conn.execute(names).scalars())) == ["team"]


@pytest.mark.parametrize("page", ["/", "/runs", "/tasks/nightly%20bill", "/jobs"])
@pytest.mark.parametrize("search", ["", "?state=WAITING&text=a%2Fb+c", "?from=2026-01-01T00:00:00Z"])
def test_addresses_of_the_dashboard_can_be_saved(page: str, search: str) -> None:
    assert list(view_faults(page, "a", search)) == []


@pytest.mark.parametrize(
    ("page", "search", "path"),
    [
        ("", "", "page"),
        ("runs", "", "page"),
        ("//evil.example", "", "page"),
        ("/runs/", "", "page"),
        ("/\\evil.example", "", "page"),
        ("https://evil.example", "", "page"),
        ("javascript:alert(1)", "", "page"),
        ("/runs?x=1", "", "page"),
        ("/" + "x" * 200, "", "page"),
        ("/runs", "state=WAITING", "search"),
        ("/runs", "?a b", "search"),
        ("/runs", "?a#b", "search"),
        ("/runs", "?" + "x" * 2_000, "search"),
    ],
)
def test_other_addresses_are_refused(page: str, search: str, path: str) -> None:
    assert [fault.path for fault in view_faults(page, "a", search)] == [(path,)]
