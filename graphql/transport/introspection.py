"""Answers about the schema, which are long in the making and always the same: made once, outside the event loop."""

import asyncio
from collections import OrderedDict
from typing import Any, Final

from ...jobs.own.threads import briefly_in_thread
from ..guard.document import Prepared
from ..guard.metered import Meter
from .engine import Answer, Engine

KEPT: Final = 4
"""Answers that are kept: the explorer and each kind of client asks in its own words, again and again in the same."""


class Introspections:
    """Answers operations that ask for the schema alone (``Prepared.is_introspection``).

    The schema as the explorer asks for it takes half a second of a processor. On the event loop nothing else would be
    answered meanwhile.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[str, str | None], Answer] = OrderedDict()

    async def answer(self, prepared: Prepared, context: Any, meter: Meter) -> Answer:  # noqa: ANN401 - the schema's own type
        """The answer; the time of a new one is charged to its client as that of any other."""
        key = (prepared.document.text, prepared.operation_name)
        known = self._kept.pop(key, None)
        if known is None:
            began = meter.clock()
            known = await briefly_in_thread(self._made, prepared, context)
            meter.end(began)
            if "errors" in known.content:
                return known
        self._kept[key] = known
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return known

    def _made(self, prepared: Prepared, context: Any) -> Answer:  # noqa: ANN401
        content = asyncio.run(self._engine.execute(prepared, context))
        return Answer(content, self._engine.encode(content))
