"""The Python and the JavaScript library of Standard Webhooks take our signatures, and sign as we do."""

import json
import socket
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from standardwebhooks import Webhook

from cronograph.jobs.accounts.actions.secrets import set_secret
from cronograph.jobs.delivery import actions
from cronograph.jobs.delivery.messages import signed_headers
from cronograph.jobs.delivery.rules import DeliveryState
from node_tools import Node, NodeError
from tests.delivery.conftest import KEYS, SECRET, Alarms
from tests.delivery.test_webhooks import Hooks, hooks
from tests.docs.blocks import all_blocks
from tests.graphql_api.clients.npm_packages import INSTALLED, install
from tests.support.ports import free_port
from tests.support.requirements import unavailable
from tests.support.waiting import wait_until

__all__ = ["hooks"]

# The first of them has to install the packages where `make test` has not.
pytestmark = [pytest.mark.costly, pytest.mark.timeout(600)]

NEW = "whsec_" + "A" * 32


class Vector(NamedTuple):
    """A message, and the signature that a specification or a library has for it."""

    secret: str
    message_id: str
    at: int
    body: str
    signature: str | None


VECTORS = [
    # The example of the specification, which the tests of both libraries have.
    Vector(
        SECRET,
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        '{"test": 2432232314}',
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
    Vector(NEW, "msg_1", 1_780_000_000, '{"sentence":"Ärger mit „Köln“ 🙂","id":"1"}', None),
    Vector(SECRET, "msg_" + "f" * 32, 1, "", None),
    Vector("whsec_" + "+/" * 42 + "+A==", "msg_.dots.in.it", 1_780_000_000, "{}\n", None),
]


@pytest.fixture(scope="module")
def node() -> Node:
    """The Node to use, with the packages that are locked beside the programs."""
    try:
        return install()
    except NodeError as error:
        unavailable("Node with npm packages", str(error))


def asked(node: Node, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the JavaScript library makes of messages."""
    command = [node.program, str(INSTALLED / "verify.mjs")]
    done = subprocess.run(command, input=json.dumps(messages), capture_output=True, text=True, timeout=60, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.message_id)
def test_all_sign_a_message_alike(node: Node, vector: Vector) -> None:
    secret, message_id, at, body, known = vector
    headers = signed_headers([secret], message_id, datetime.fromtimestamp(at, UTC), body.encode())
    (ours,) = headers["webhook-signature"].split(" ")
    assert ours == Webhook(secret).sign(message_id, datetime.fromtimestamp(at, UTC), body)
    (theirs,) = asked(node, [{"secret": secret, "headers": headers, "body": body}])
    assert theirs["signed"] == ours
    assert known in (None, ours)


def test_javascript_takes_what_we_sign_and_refuses_what_was_changed(node: Node) -> None:
    body = '{"count":1}'
    now = datetime.now(UTC)
    headers = signed_headers([NEW, SECRET], "msg_1", now, body.encode())
    long_ago = signed_headers([SECRET], "msg_1", datetime.fromtimestamp(1614265330, UTC), body.encode())
    good = {"secret": SECRET, "headers": headers, "body": body}
    changed: list[dict[str, Any]] = [
        {**good, "body": '{"count":2}'},
        {**good, "headers": {**headers, "webhook-id": "msg_2"}},
        {**good, "secret": "whsec_" + "B" * 32},
        {**good, "headers": long_ago},
    ]
    # While a secret is exchanged, both sign.
    answers = asked(node, [good, {**good, "secret": NEW}, *changed])
    assert [one["verified"] for one in answers] == [{"count": 1}, {"count": 1}, None, None, None, None]
    assert [one["error"] for one in answers[2:]] == [*["No matching signature found"] * 3, "Message timestamp too old"]


@pytest.fixture
def receiver(node: Node) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The receiver of the guide, which listens at a port."""
    (block,) = (one for one in all_blocks() if one.document == "docs/webhooks.md" and one.language == "javascript")
    assert SECRET in block.text
    port = free_port()
    program = Path(INSTALLED, f"receiver-{port}.mjs")
    program.write_text(block.text.replace("9000", str(port)))
    with subprocess.Popen([node.program, str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            wait_until(lambda: listens(port), message="the receiver to listen")
            yield port, process
        finally:
            process.kill()
            program.unlink()


def listens(port: int) -> bool:
    """Return whether somebody takes connections at a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_the_receiver_of_the_guide_in_javascript_prints_each_event_once(
    receiver: tuple[int, subprocess.Popen[bytes]], hooks: Hooks, alarms: Alarms
) -> None:
    port, process = receiver
    alarms.stored.do(set_secret, "hook", SECRET, KEYS)
    hooks.create(port, secrets=("hook",))
    made = hooks.runs(2)
    await hooks.reader.look()
    alarms.stored.now = datetime.now(UTC)
    (sent,) = await alarms.send()
    alarms.acting(lambda tx: actions.redeliver(tx, sent.id))
    (again,) = await alarms.send()
    assert (sent.error, again.state, again.attempts) == (None, DeliveryState.SENT, 2)
    process.kill()
    printed = process.communicate()[0].decode()
    assert [printed.count(f"runId: '{run_id}'") for run_id in made] == [1, 1]
