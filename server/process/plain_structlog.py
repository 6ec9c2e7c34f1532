"""structlog without Rich, which it imports wherever that is installed, with a third of a highlighter of source code.

Nothing here shows what Rich makes of a traceback: it prints every local variable, secrets among them. Where the code of
a job has imported Rich before, nothing is hidden from anybody.
"""

import sys
from typing import Any, cast

__all__ = ["structlog"]

_RICH = "rich"
_HIDDEN = _RICH not in sys.modules

if _HIDDEN:
    # Python's own way to say that there is no such module.
    cast("dict[str, Any]", sys.modules)[_RICH] = None
try:
    import structlog
finally:
    if _HIDDEN:
        del sys.modules[_RICH]
