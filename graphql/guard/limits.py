"""The limits of the GraphQL front door, and the error that names the one which was passed.

Every limit of a request, a document, a socket or a process is a field of :class:``Limits`` with its unit and default.
The limits of a single argument stand at the argument.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from graphql import GraphQLError, Node

from ..base.errors import classify

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limit one request, one socket and one process.

    Attributes:
        body_bytes: Largest request body and largest WebSocket message, in bytes.
        wide_body_bytes: Largest body of a mutation by POST, from somebody who may change things.
        wide_bodies: Most bodies beyond ``body_bytes`` that are read at once.
        document_bytes: Largest GraphQL document, in bytes of UTF-8.
        tokens: Most lexical tokens (comments included) of a document.
        nesting: Deepest nesting of brackets in a document and of selections across its fragments. Keeps the
            recursive parser, the validation and the execution far away from the interpreter's stack limit.
        depth: Deepest nesting of fields, introspection excepted.
        introspection_depth: Deepest nesting of fields below ``__schema`` and ``__type``, these included.
        fields: Most fields of an operation once its fragments are written out.
        aliases: Most aliased fields of an operation once its fragments are written out.
        root_fields: Most fields at the root of a query or subscription.
        mutation_root_fields: Most fields at the root of a mutation.
        cost: Highest estimated number of field values of an operation (see ``cost``).
        introspection_factor: An operation may cost this many times the cost of the standard introspection query.
        unsized_list: Rows assumed for a list that declares no size.
        json_depth: Deepest nesting of brackets in a JSON body.
        number_digits: Most digits of an integer in JSON or in a document.
        errors: Most errors listed in an answer to an invalid document.
        error_characters: Longest error message, in characters; the rest is cut.
        operations_per_socket: Most operations (subscriptions first of all) open at once on one WebSocket.
        open_streams: Most WebSockets and event streams open at once in this process.
        client_streams: Most of them for one account, or for one network address where there are no accounts.
        unready_sockets: Most WebSockets that have not sent ``connection_init``; they are no part of the others.
        init_seconds: Time a WebSocket has to send ``connection_init``.
        send_seconds: Time a reader may stall before its socket or stream is cut off.
        body_seconds: Time a client has to send its request body.
        answer_bytes: Most characters that the texts of one answer have together; other values count 8 each.
        operation_seconds: Time a query or mutation may run.
        cheap_cost: Operations that cost no more are executed at once, on connections of its own.
        budget: Operations that cost more may cost so much altogether at a time.
        client_budget: The same for one client.
        queued_operations: Most operations that wait for this; a quarter of them for one client.
        queue_seconds: Time an operation may wait for this.
        loop_share: Part of the event loop's time that one client may use and still pass by others at once.
        paced_documents: Documents at a time of the clients who use more than that.
        queued_documents: Most documents of theirs that wait; half of them for one client.
        rest: An operation that is not cheap gives its share of this back only after so many times the processor time
            that the process used meanwhile: so costly work takes a part of the interpreter and leaves most to jobs.
        rest_seconds: But after so many seconds at the latest.
        search_seconds: Time that a search for rows which no index finds may take in the database.
        search_budget: Seconds of searching that one client may use at once.
        search_share: So much of it comes back in a second.
        sorted_rows: Most rows that are sorted for an order which no index has.
        keepalive_seconds: An idle event stream sends a comment this often.
        queue_events: Most events waiting for one subscriber of a shared execution.
        queue_bytes: Most bytes of events waiting for one subscriber of a shared execution.
        cached_nodes: Syntax nodes held by the cache of parsed documents (about 0.5 kB of memory each).
        persisted_documents: Most documents registered by clients under their hash.
        persisted_bytes: Most bytes of documents registered by clients under their hash.
    """

    body_bytes: int = 512 * 1024
    wide_body_bytes: int = 8 * MIB
    wide_bodies: int = 4
    document_bytes: int = 64 * 1024
    tokens: int = 2_000
    nesting: int = 64
    depth: int = 12
    introspection_depth: int = 20
    fields: int = 1_500
    aliases: int = 50
    root_fields: int = 20
    mutation_root_fields: int = 10
    cost: int = 20_000
    introspection_factor: int = 2
    unsized_list: int = 10
    json_depth: int = 64
    number_digits: int = 40
    errors: int = 10
    error_characters: int = 1_000
    operations_per_socket: int = 20
    open_streams: int = 5_000
    client_streams: int = 500
    unready_sockets: int = 250
    init_seconds: float = 5.0
    send_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_bytes: int = 16 * MIB
    operation_seconds: float = 30.0
    cheap_cost: int = 1_000
    budget: int = 20_000
    client_budget: int = 15_000
    queued_operations: int = 100
    queue_seconds: float = 10.0
    loop_share: float = 0.1
    paced_documents: int = 2
    queued_documents: int = 1_000
    rest: float = 3.0
    rest_seconds: float = 2.0
    search_seconds: float = 0.5
    search_budget: float = 2.0
    search_share: float = 0.25
    sorted_rows: int = 200_000
    keepalive_seconds: float = 15.0
    queue_events: int = 1_000
    queue_bytes: int = MIB
    cached_nodes: int = 100_000
    persisted_documents: int = 500
    persisted_bytes: int = 4 * MIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"Limits.{field.name} must be greater than 0, got {value!r}")


class LimitExceeded(GraphQLError):  # noqa: N818 - a decision, not a fault
    """A request passed a limit.

    The message names the limit, its maximum and the requested value; ``extensions`` carries the same as
    ``code`` ("LIMIT_DEPTH"), ``classification``, ``limit``, ``maximum`` and ``requested``.
    """

    def __init__(
        self,
        limit: str,
        maximum: int,
        requested: int,
        what: str,
        nodes: list[Node] | None = None,
        *,
        advice: str = "",
    ) -> None:
        """Describe the refusal.

        Args:
            limit: Name of the limit, as a field of ``Limits`` names it, e.g. "depth".
            maximum: The highest value accepted.
            requested: The requested value; saturated counts say "at least" by ``SATURATED``.
            what: The counted thing in words, e.g. "The fields of this operation are nested".
            nodes: The syntax nodes the refusal points at.
            advice: A sentence on the remedy, if there is something better than the figures to say.
        """
        got = f"at least {SATURATED:,}" if requested >= SATURATED else f"{requested:,}"
        extensions: Mapping[str, Any] = {
            "code": f"LIMIT_{limit.upper()}",
            "classification": classify(f"LIMIT_{limit.upper()}").value,
            "limit": limit,
            "maximum": maximum,
            "requested": min(requested, SATURATED),
        }
        message = f"{what}: the limit is {maximum:,}, got {got}." + (f" {advice}" if advice else "")
        super().__init__(message, nodes=nodes, extensions=dict(extensions))


SATURATED: Final = 1_000_000_000
"""Counts stop here: fragments that double each other would otherwise make numbers of hundreds of digits."""
