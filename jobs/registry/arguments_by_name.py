"""Options of ``@job`` name arguments; those must exist."""

from collections.abc import Mapping
from difflib import get_close_matches


def known_argument(option: str, name: str, names: Mapping[str, str]) -> str:
    """The name in JSON of an argument that an option names.

    Args:
        option: The option, for the message.
        name: What it names.
        names: The arguments by the names of their parameters, with those that they have in JSON.

    Raises:
        ValueError: the job has no such argument.
    """
    if name in names:
        return names[name]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(names) or 'none'}"
    raise ValueError(f"{option}: the job has no argument '{name[:60]}'; {hint}")
