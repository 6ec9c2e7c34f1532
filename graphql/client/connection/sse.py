"""Server-Sent Events as bytes become messages (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import json
import re
from codecs import getincrementaldecoder
from dataclasses import dataclass
from typing import Final

LINE_END: Final = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Message:
    """One event of the stream."""

    event: str
    data: str

    def json(self) -> object:
        """The text as JSON.

        Raises:
            ValueError: it is none.
        """
        return json.loads(self.data)


class MessageParser:
    """Takes the bytes of one stream, in pieces of any size."""

    def __init__(self) -> None:
        """Start at the beginning of a stream."""
        self._decoder = getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Message]:
        """The messages that are complete with these bytes."""
        text = self._decoder.decode(chunk)
        if not LINE_END.search(text):
            # A long line comes in many pieces: they are joined once, when it ends.
            self._rest.append(text)
            return []
        text = "".join([*self._rest, text])
        # The second half of a line end may still be on its way.
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = LINE_END.split(text[: len(text) - len(held)])
        self._rest = [rest + held]
        return [message for line in lines if (message := self._line(line)) is not None]

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
        # A comment keeps the connection alive; `id` is in the data too, `retry` is for browsers.
        return None

    def _dispatch(self) -> Message | None:
        event, data = self._event, self._data
        self._event, self._data = "", []
        return Message(event or "message", "\n".join(data)) if event or data else None
