"""What the launcher answers in numbers."""

from typing import Final

NOT_FORKED: Final = 1000
"""The status of a child that could not be forked; no process ends by itself with such a one."""
FAILED: Final = 1
"""Why a module is not preloaded: its import failed."""
NOT_FOUND: Final = 3
"""Why a module is not preloaded: a job is not found in it."""
STARTS_THREADS: Final = 2
"""Why a module is not preloaded: its import starts a thread."""
