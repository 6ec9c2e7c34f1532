"""The secrets that jobs of this process were given: cut out of its own output, no matter who writes it and when."""

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from .redaction import Redactor

MOST: Final = 200
"""Values that are remembered, the latest: what is written after a job has ended may still tell of its secrets."""
_LABEL: Final = re.compile(r"[\"\\]")
"""What a name must not have within a line of JSON."""


class SecretsInUse:
    """Remembers values of secrets; safe from any thread."""

    def __init__(self) -> None:
        self._values: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._redactor = Redactor()
        self._lock = threading.Lock()

    def add(self, values: Mapping[str, str]) -> None:
        """Hide these from now on."""
        with self._lock:
            is_new = False
            for one in values.items():
                is_new |= one not in self._values
                self._values[one] = None
                self._values.move_to_end(one)
            while len(self._values) > MOST:
                self._values.popitem(last=False)
            if is_new:
                redactor = Redactor()
                for name, value in self._values:
                    redactor.learn(_LABEL.sub("?", name), value)
                self._redactor = redactor

    def text(self, text: str) -> str:
        """``text`` with ``[secret NAME]`` in the place of values."""
        return self._redactor.text(text)


IN_USE: Final = SecretsInUse()
"""Those of this process."""
