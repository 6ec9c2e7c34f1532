"""Addresses by which somebody without an account answers a job: each works once, and tells strangers nothing."""

import json
from typing import Any

import httpx
import pytest

from cronograph.jobs import AnswerPage
from cronograph.jobs.accounts.rules.credentials import stored_form
from cronograph.jobs.actions.runs import cancel_runs
from cronograph.jobs.actions.signals import MAX_LINKS, make_link, signal_run
from cronograph.jobs.core.actor import RANK, Role
from cronograph.jobs.core.base.errors import InvalidState
from cronograph.jobs.core.outcome import Succeeded, Suspended
from cronograph.jobs.core.states import RunState
from cronograph.jobs.core.steps import StepKind, StepState
from cronograph.jobs.core.waits import AwaitedKind, Awaits, Signal, Wait
from cronograph.jobs.queue.claims.claim import Started
from cronograph.jobs.queue.waits import wait
from cronograph.jobs.store.schema import tables
from cronograph.server.http.signals import MAX_BODY
from tests.server.auth.serving import Protected
from tests.support.storage import Stored, Worker

FORM = {"type": "object", "properties": {"by": {"type": "string"}}, "required": ["by"]}


class Asking:
    """A run whose job has an address for the answer that it waits for."""

    def __init__(
        self,
        stored: Stored,
        node: str = "node-b",
        *,
        form: dict[str, Any] | None = FORM,
        suspended: bool = True,
        role: Role = Role.OPERATOR,
        page: dict[str, Any] | None = None,
    ) -> None:
        self.stored = stored
        self.worker: Worker = stored.node(node)
        self.run_id = stored.enqueue().id
        self.started: Started = self.worker.start()
        self.token = stored.do(make_link, self.started.run, "approved", page) or ""
        if suspended:
            stored.do(wait, self.started.run, Wait("approved", StepKind.SIGNAL, form=form, role=role))
            self.worker.end(self.started, Suspended(Awaits(AwaitedKind.SIGNAL, "approved")))

    @property
    def path(self) -> str:
        return f"/signal/{self.token}"


async def refused(server: Protected, path: str, **sent: Any) -> tuple[int, str, str]:
    answer = await server.browser.post(path, **sent)
    (error,) = answer.json()["errors"]
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code, error["extensions"]["code"], error["message"]


async def test_an_outsider_answers_once(server: Protected, stored: Stored) -> None:
    asking = Asking(stored)
    answer = await server.browser.post(asking.path, json={"by": "eve"})
    assert (answer.status_code, answer.json()) == (200, {"run": str(asking.run_id), "state": "WAITING"})
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.value) == ("done", {"by": "eve"})
    (entry,) = stored.rows(tables.audit_log, action="signal_run")
    assert (entry.actor, entry.address, entry.subject) == ("(signal address)", "127.0.0.1", str(asking.run_id))
    status, code, message = await refused(server, asking.path, json={"by": "mallory"})
    assert (status, code) == (410, "INVALID_STATE")
    assert message.startswith("This address was used at ")


async def test_only_a_hash_is_stored(server: Protected, stored: Stored) -> None:
    del server
    asking = Asking(stored)
    (link,) = stored.rows(tables.signal_link)
    assert link.token_hash == stored_form(asking.token)
    assert asking.token not in str(tuple(link))


async def test_to_look_changes_nothing_and_a_button_answers(server: Protected, stored: Stored) -> None:
    asking = Asking(stored, form=None)
    looked = [await server.browser.get(asking.path) for _ in range(2)]
    for page in looked:
        assert page.status_code == 200
        assert "waits for <strong>approved</strong>" in page.text
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-robots-tag"] == "noindex"
        assert "set-cookie" not in page.headers
    html = {"accept": "text/html"}
    thanks = await server.browser.post(asking.path, data={"answer": "yes"}, headers=html)
    assert (thanks.status_code, "Thank you" in thanks.text) == (200, True)
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.value) == ("done", None)
    again = await server.browser.get(asking.path, headers=html)
    assert (again.status_code, "works once" in again.text) == (410, True)


async def test_the_page_asks_for_json_where_no_form_can_and_takes_a_no(server: Protected, stored: Stored) -> None:
    asking = Asking(stored, form={"type": "array", "items": {"type": "string"}})
    page = await server.browser.get(asking.path)
    assert 'name="payload"' in page.text
    assert "&quot;items&quot;" in page.text
    no = await server.browser.post(asking.path, data={"reject": "too expensive"})
    assert no.status_code == 200
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.error) == ("rejected", "too expensive")


HTML = {"accept": "text/html"}


async def test_a_form_is_made_from_the_model_and_what_is_refused_stays_filled_in(
    server: Protected, stored: Stored
) -> None:
    form = {
        "type": "object",
        "properties": {"by": {"type": "string"}, "most": {"type": "integer", "maximum": 9}},
        "required": ["by", "most"],
    }
    asking = Asking(stored, form=form)
    shown = await server.browser.get(asking.path)
    assert '<input id="f1" name="f.most" value="" required type="number"' in shown.text
    for most, says in (("ten", "Most: must be a whole number, got &#x27;ten&#x27;"), ("10", "10 is greater than")):
        again = await server.browser.post(asking.path, data={"f.by": "<Ada>", "f.most": most}, headers=HTML)
        assert again.status_code == 400
        assert says in again.text
        assert f'name="f.most" value="{most}"' in again.text
        assert 'value="&lt;Ada&gt;"' in again.text
    status, code, message = await refused(server, asking.path, data={"f.by": "Ada", "f.most": "ten"})
    assert (status, code, message.startswith("Most:")) == (400, "INVALID_INPUT", True)
    assert (await refused(server, asking.path, data={"f.other": "x"}))[1] == "INVALID_REQUEST"
    assert (await server.browser.post(asking.path, data={"f.by": "Ada", "f.most": "7", "answer": "yes"})).is_success
    (step,) = stored.rows(tables.run_step)
    assert (step.state, step.value) == ("done", {"by": "Ada", "most": 7})


async def test_the_page_is_that_of_the_job_and_leads_on(server: Protected, stored: Stored) -> None:
    page = AnswerPage(
        title="Invoice <7>",
        text="First.\n\nSecond.",
        shows={"total": "<b>5</b>"},
        confirm="Pay",
        reject=None,
        redirect="https://shop.example.com/thanks?a=1",
    )
    asking = Asking(stored, suspended=False, page={**page.to_json(), "form": FORM})
    shown = await server.browser.get(asking.path)
    for part in (
        "<h1>Invoice &lt;7&gt;</h1>",
        "<p>First.</p><p>Second.</p>",
        "<dt>total</dt><dd>&lt;b&gt;5&lt;/b&gt;</dd>",
        'value="yes">Pay</button>',
        'name="f.by"',
        "<title>Invoice &lt;7&gt; · ACME</title>",
        "<header><span>ACME</span></header>",
    ):
        assert part in shown.text, part
    assert 'name="reject"' not in shown.text
    assert "form-action 'self' https://shop.example.com;" in shown.headers["content-security-policy"]
    answer = await server.browser.post(asking.path, data={"f.by": "eve"}, headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "https://shop.example.com/thanks?a=1")
    begun = stored.do(wait, asking.started.run, Wait("approved", StepKind.SIGNAL, form=FORM))
    assert begun is not None
    assert begun.value == {"by": "eve"}


async def test_an_answer_may_come_before_the_wait(server: Protected, stored: Stored) -> None:
    asking = Asking(stored, suspended=False)
    answer = await server.browser.post(asking.path, json={"by": "eve"})
    assert answer.json()["state"] == "RUNNING"
    begun = stored.do(wait, asking.started.run, Wait("approved", StepKind.SIGNAL, form=FORM))
    assert begun is not None
    assert begun.value == {"by": "eve"}


async def test_what_does_not_fit_is_refused_and_uses_nothing_up(server: Protected, stored: Stored) -> None:
    asking = Asking(stored)
    status, code, message = await refused(server, asking.path, json={"by": 7})
    assert (status, code) == (400, "INVALID_INPUT")
    assert "payload.by" in message
    assert (await refused(server, asking.path))[0] == 400
    assert (await refused(server, asking.path, params={"reject": "x" * 1001}))[1] == "INVALID_INPUT"
    content = {"content-type": "application/json"}
    assert (await refused(server, asking.path, content=b"{", headers=content))[1] == "INVALID_JSON"
    assert (await refused(server, asking.path, content=b"\xff", headers=content))[1] == "INVALID_UTF8"
    wrong = await refused(server, asking.path, content=b"by=eve", headers={"content-type": "text/plain"})
    assert wrong == (415, "UNSUPPORTED_MEDIA_TYPE", "The Content-Type must be application/json, got 'text/plain'.")
    big = await refused(server, asking.path, json={"by": "x" * MAX_BODY})
    assert big[:2] == (413, "LIMIT_BODY_BYTES")
    assert stored.rows(tables.run, id=asking.run_id)[0].state == "suspended"
    assert (await server.browser.post(asking.path, json={"by": "eve"})).status_code == 200


FORM_TYPE = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("body", "query", "named"),
    [
        (b'{"approved": false}', "", """'{"approved": false}'"""),
        (b'{"by": "a&b=c"}', "", "application/json"),
        (b"approved=false", "", "'approved'"),
        (b"answer=no", "", "'answer'"),
        (b"answer=yes&answer=no", "", "'answer'"),
        (b"answer=yes&reject=no+money", "", "'reject'"),
        (b"&".join(b"f%d=1" % number for number in range(21)), "", "20 fields"),
        (b"", "?approved=false", "'approved'"),
        (b"", "?reject=a&reject=b", "'reject'"),
    ],
)
async def test_an_answer_that_is_not_understood_is_no_yes(
    server: Protected, stored: Stored, body: bytes, query: str, named: str
) -> None:
    """`curl -d` calls everything a form: JSON as well, which would be a field of that name."""
    asking = Asking(stored, form=None)
    status, code, message = await refused(server, asking.path + query, content=body, headers=FORM_TYPE)
    assert (status, code) in {(400, "INVALID_REQUEST"), (415, "UNSUPPORTED_MEDIA_TYPE")}
    assert named in message
    assert stored.rows(tables.run, id=asking.run_id)[0].state == "suspended"
    json_kind = {"content-type": "application/json"}
    assert (await server.browser.post(asking.path, content=b"true", headers=json_kind)).status_code == 200


async def test_json_that_is_called_a_form_is_told_how_to_come(server: Protected, stored: Stored) -> None:
    asking = Asking(stored, form=None)
    status, code, message = await refused(server, asking.path, content=b'{"approved": false}', headers=FORM_TYPE)
    assert (status, code) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert "send it with 'Content-Type: application/json'" in message


async def test_an_empty_form_is_a_bare_yes(server: Protected, stored: Stored) -> None:
    asking = Asking(stored, form=None)
    assert (await server.browser.post(asking.path, content=b"", headers=FORM_TYPE)).status_code == 200


async def test_a_wait_for_administrators_is_answered_by_no_address(server: Protected, stored: Stored) -> None:
    """Neither one that waits, nor one that begins after the answer has come."""
    asking, early = Asking(stored, role=Role.ADMIN), Asking(stored, "node-c", suspended=False)
    for request in (
        server.browser.post(asking.path, json={"by": "eve"}),
        server.browser.get(asking.path),
        server.browser.post(asking.path, data={"reject": "no"}),
    ):
        answer = await request
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["extensions"]["code"]) == (403, "FORBIDDEN")
        assert error["message"].startswith(
            f"Run {asking.run_id} takes 'approved' only from accounts with the role admin, so no address answers it"
        )
    assert stored.rows(tables.run, id=asking.run_id)[0].state == "suspended"
    assert (await server.browser.post(early.path, json={"by": "eve"})).status_code == 200
    (sent,) = stored.rows(tables.run_signal)
    assert sent.rank == RANK[Role.OPERATOR]
    begun = stored.do(wait, early.started.run, Wait("approved", StepKind.SIGNAL, form=FORM, role=Role.ADMIN))
    assert begun is not None
    assert begun.state is StepState.WAITING
    # Code of the application may send any signal, in a transaction of its own as well.
    run = stored.do(signal_run, run_id=asking.run_id, signal=Signal("approved", {"by": "code"}))
    assert run.state is RunState.WAITING


async def test_it_ends_with_its_wait_and_with_its_run(server: Protected, stored: Stored) -> None:
    answered, cancelled = Asking(stored), Asking(stored, "node-c")
    stored.do(cancel_runs, [cancelled.run_id], reason="no need")
    status, code, message = await refused(server, cancelled.path, json={"by": "eve"})
    assert (status, code) == (410, "INVALID_STATE")
    assert message == f"Run {cancelled.run_id} is cancelled: nobody waits for 'approved' any more"
    await server.database.write(
        lambda tx: tx.conn.execute(
            tables.run_step.update()
            .values(state="timed_out", finished_at=tx.now)
            .where(tables.run_step.c.run_id == answered.run_id)
        )
    )
    message = (await refused(server, answered.path, json={"by": "eve"}))[2]
    assert (
        message == f"Run {answered.run_id} does not wait for 'approved' any more: it was answered, or its time is over"
    )


@pytest.mark.parametrize("token", ["x", "cgn_" + "a" * 38, "cg_" + "a" * 38, "%00", "a" * 5000])
async def test_a_stranger_learns_nothing(server: Protected, stored: Stored, token: str) -> None:
    del stored
    status, code, message = await refused(server, f"/signal/{token}", json={"by": "eve"})
    assert (status, code) == (404, "NOT_FOUND")
    assert message.startswith("This address is not known")


@pytest.mark.costly
async def test_guessing_is_slowed_down_and_good_addresses_do_not_count(server: Protected, stored: Stored) -> None:
    asking = Asking(stored)
    for _ in range(35):
        assert (await server.browser.get(asking.path)).status_code == 200
    found: httpx.Response | None = None
    for _ in range(32):
        found = await server.browser.post("/signal/x")
    assert found is not None
    assert found.status_code == 429
    assert int(found.headers["retry-after"]) >= 1
    assert json.loads(found.text)["errors"][0]["extensions"]["code"] == "TOO_MANY_ATTEMPTS"


async def test_other_methods_are_refused_in_words(server: Protected, stored: Stored) -> None:
    asking = Asking(stored)
    answer = await server.browser.put(asking.path)
    assert (answer.status_code, answer.text) == (405, "Method Not Allowed")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_run_makes_no_more_than_so_many(stored: Stored) -> None:
    asking = Asking(stored, suspended=False)
    same = {"run_id": asking.run_id, "step": "approved", "created_at": stored.now}
    rows = [{**same, "token_hash": f"{number:064}"} for number in range(MAX_LINKS - 2)]
    stored.do(lambda tx: tx.conn.execute(tables.signal_link.insert(), rows))
    assert stored.do(make_link, asking.started.run, "approved")
    with pytest.raises(InvalidState, match="has made 1,000 addresses; make each inside the step that sends it"):
        stored.do(make_link, asking.started.run, "approved")
    asking.worker.end(asking.started, Succeeded())
    assert stored.do(make_link, asking.started.run, "approved") is None
