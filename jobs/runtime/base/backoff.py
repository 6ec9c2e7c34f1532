"""How long to wait before something that failed is tried again."""


class Backoff:
    """Seconds to wait: doubled after each failure, up to a limit.

    Args:
        first: The first wait.
        longest: The limit.
    """

    def __init__(self, first: float, longest: float = 5.0) -> None:
        self._first = first
        self._longest = longest
        self.seconds = first

    def fail(self) -> float:
        """The seconds to wait now; the next wait is twice as long."""
        now, self.seconds = self.seconds, min(self._longest, self.seconds * 2)
        return now

    def succeed(self) -> None:
        """Begin with the first wait again."""
        self.seconds = self._first
