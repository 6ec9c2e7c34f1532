"""Python's garbage collector in a process that serves: it looks at what comes and goes, not at what stays.

Each run makes some twenty objects that the collector counts. By its defaults it then looks through all modules, types
and statements of the process again and again: a third of the processor time of a node under load.
"""

import gc
from typing import Final

YOUNG: Final = 20_000
"""So many more containers than were given back begin a collection of the young ones (Python: 700 or 2,000)."""
_OLDER: Final = 20
"""So many collections of one generation begin one of the next older."""


def leave_out_what_stays() -> None:
    """Collect once, look at nothing again that is there now, and collect less often; for the whole process.

    To be called when everything is imported. What is there now and becomes part of a cycle is not given back.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, _OLDER, _OLDER)
