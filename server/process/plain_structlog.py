"""structlog without what it imports wherever that is installed: Rich with a third of a highlighter, and greenlet.

Nothing here shows what Rich makes of a traceback: it prints every local variable, secrets among them. greenlet is for
contexts of structlog that are bound to a greenlet (``structlog.threadlocal``); here they are bound to the thread.
"""

from .lean_imports import replaced_modules

__all__ = ["structlog"]

with replaced_modules({"rich": None, "greenlet": None}):
    import structlog
