"""structlog without what it imports wherever that is installed: Rich with a third of a highlighter, and greenlet.

Nothing here shows what Rich makes of a traceback: it prints every local variable, secrets among them. greenlet is for
contexts of structlog that are bound to a greenlet (``structlog.threadlocal``); here they are bound to the thread. Where
the code of a job has imported one of them before, that is hidden from nobody.
"""

import sys
from typing import Any, Final, cast

__all__ = ["structlog"]

_HIDDEN: Final = {"rich", "greenlet"}.difference(sys.modules)

for one in _HIDDEN:
    # Python's own way to say that there is no such module.
    cast("dict[str, Any]", sys.modules)[one] = None
try:
    import structlog
finally:
    for one in _HIDDEN:
        del sys.modules[one]
