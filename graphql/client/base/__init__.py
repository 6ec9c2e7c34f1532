"""Share the client's errors, and the shapes of records and of open enums.

Imported before anything that sends: so the one library of the client is missed here, with the way to get it.
"""

from importlib.util import find_spec

if find_spec("httpx") is None:
    raise ModuleNotFoundError(
        "cronograph.graphql.client needs httpx, which is not installed: pip install 'cronograph[client]'", name="httpx"
    )
