"""The decision to end a WebSocket."""


class CloseSocket(Exception):  # noqa: N818 - a decision, not a fault
    """Ends the socket with a code and a reason; a code of None means that the client has gone."""

    def __init__(self, code: int | None, reason: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
