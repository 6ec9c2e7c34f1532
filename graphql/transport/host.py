"""The name in the ``Host`` of a request: exactly one header with exactly one name, or none at all."""

import re
from typing import Final

from starlette.datastructures import Headers

_HOST: Final = re.compile(r"(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)


def host_name(headers: Headers) -> str | None:
    """The name without its port, lower-case, IPv6 addresses in brackets.

    None when there is no such header, more than one, or one that is not a name with or without a port: what stands
    behind a comma or a second colon might be read as the name by somebody else.
    """
    values = headers.getlist("host")
    if len(values) != 1:
        return None
    found = _HOST.fullmatch(values[0].lower())
    return None if found is None else found["name"]
