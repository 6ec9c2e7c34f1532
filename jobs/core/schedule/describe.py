"""English for wall-clock patterns, from the parsed masks and never from the text."""

from .wall import WallPattern


def describe_pattern(pattern: WallPattern, zone: str) -> str:
    return ""
