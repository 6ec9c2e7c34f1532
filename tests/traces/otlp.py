"""A receiver of traces and log lines: it takes what an exporter sends by OTLP over HTTP, and decodes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Receiver:
    """What was received."""

    port: int = 0
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    lines: dict[str, LogRecord] = field(default_factory=dict[str, LogRecord])
    resource: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, path: str, body: bytes) -> int:
        """Keep what was sent; the status of the answer."""
        if path == "/v1/logs":
            logs = ExportLogsServiceRequest.FromString(body)
            scopes = [scope for one in logs.resource_logs for scope in one.scope_logs]
            self.lines |= {line.body.string_value: line for scope in scopes for line in scope.log_records}
            return 200
        if path != "/v1/traces":
            return 404
        request = ExportTraceServiceRequest.FromString(body)
        for one in request.resource_spans:
            self.resource |= {each.key: each.value.string_value for each in one.resource.attributes}
            self.spans |= {span.name: span for scope in one.scope_spans for span in scope.spans}
        return 200


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver at a free port, while the block runs."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(receiver.take(self.path, body))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.port = server.server_port
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield receiver
        server.shutdown()
        thread.join()
