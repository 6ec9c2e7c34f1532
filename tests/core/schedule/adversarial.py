"""Inputs of up to 256 characters that make parsing, searching and describing work as hard as they can."""

from collections.abc import Iterable
from random import Random

from cronograph.jobs.core.schedule import MAX_VALUE_LENGTH, Syntax

Case = tuple[Syntax, str, str]


def adversarial() -> list[Case]:
    """The syntax, value and zone of each input."""
    return [
        *((Syntax.CRON, text, "UTC") for text in _cron()),
        *((Syntax.CALENDAR, text, "UTC") for text in _calendar()),
        *_other(),
    ]


def _cron() -> list[str]:
    return [
        _filled("", "0 0 0 L L ", "*"),
        "0 0 0 29 2 MON#5",
        "0 0 0 30 2 *",
        "59 59 23 31 12 FRI#5",
        f"{_list(range(0, 60, 2), 60)} {_list(range(1, 60, 2), 60)} {_list(range(0, 24, 2), 40)} *,* * *",
        f"0 0 0 {_list([f'{day}W' for day in range(1, 32)], 220)} * *",
        f"0 0 0 * * {_list(['MON-FRI#1', 'SAT#L', '1-7/2#3'] * 20, 230)}",
        f"0 0 0 1 {_list(['JANUARY', 'SEPTEMBER'] * 20, 200)} *",
        "0 0 0 1 1 " + "x" * 240,
        _filled("", "sun", ""),
        _filled("0 0 0 1 1 ", "monday", ""),
        "0 0 0 1 1 " + "0" * 240 + "1",
        "9" * MAX_VALUE_LENGTH,
        "," * 200 + " * * * * *",
        _filled("", "* ", "*"),
        "@" * MAX_VALUE_LENGTH,
        "\U0001f600" * MAX_VALUE_LENGTH,
        "0 0 0 * * " + "#L" * 100,
        "*/1" + ",*/1" * 50 + " * * * * *",
    ]


def _calendar() -> list[str]:
    return [
        "*-02-30",
        "*-02-29 00:00:00",
        "Mon *-02-29 00:00:00",
        "2199-*-* *:*:*",
        "1970/229-1-1",
        "Mon 2199-02-28",
        f"*-*-* *:*:{_list([f'{n % 60}.{n:06}/0.{n + 1:06}' for n in range(20)], 240)}",
        f"*-*-* *:*:{_list([f'{n % 60}.{n:06}' for n in range(40)], 240)}",
        f"*-*-{_list(range(1, 32), 240)} {_list(range(24), 20)}:0",
        _filled("", "Mon..Sun,", "Mon"),
        _filled("Mon ", "Tue ", "Wed"),
        "9" * MAX_VALUE_LENGTH,
        "@" + "9" * 255,
        _filled("*:", "1,", "1"),
        " " * MAX_VALUE_LENGTH,
        "daily " + "z" * 200,
        "x" * MAX_VALUE_LENGTH,
        "daily Europe/" + "Berlin_" * 7,
        "*~" * 128,
        "1.." * 85,
        "*-*-* *:*:0.0000001/0.000001",
        "*:0:0/0.000001",
    ]


def _other() -> list[Case]:
    return [
        (Syntax.INTERVAL, "1s" * 128, "UTC"),
        (Syntax.INTERVAL, "1h" + " " * 253 + "x", "UTC"),
        (Syntax.INTERVAL, "9" * MAX_VALUE_LENGTH, "UTC"),
        (Syntax.INTERVAL, "P" + "1D" * 127, "UTC"),
        (Syntax.INTERVAL, "1." + "0" * 254, "UTC"),
        (Syntax.TIMESTAMP, "9" * MAX_VALUE_LENGTH, "UTC"),
        (Syntax.TIMESTAMP, "2030-01-01T00:00:00." + "9" * 235 + "Z", "UTC"),
        (Syntax.CRON, "0 0 0 1 1 *", "A" * 10_000),
        (Syntax.CRON, "0 0 0 1 1 *", "Europe/Berlim"),
        (Syntax.CRON, "0 0 0 1 1 *", "America/" + "a" * 50),
        (Syntax.CRON, "0 0 0 1 1 *", "../" * 20),
        (Syntax.CRON, "0 0 * 29 2 MON", "Australia/Lord_Howe"),
        (Syntax.CRON, "0 0 0 29 2 MON", "Pacific/Apia"),
        (Syntax.CALENDAR, "Mon *-02-29 *:59", "America/Sao_Paulo"),
        (Syntax.CALENDAR, "*-02-30 *:*", "America/Sao_Paulo"),
    ]


def noise(count: int) -> list[Case]:
    """Random texts of the longest allowed length in the alphabets of the four syntaxes."""
    alphabets = {
        Syntax.CRON: "0123456789*?/,-#LW @MONJAFRIYsun",
        Syntax.CALENDAR: "0123456789*/.,-~: @MonTuedFriUTCZ+",
        Syntax.INTERVAL: "0123456789.,wdhmsPTinours ",
        Syntax.TIMESTAMP: "0123456789-:TZ+. ",
    }
    random = Random(20260514)
    return [
        (syntax, "".join(random.choices(alphabet, k=MAX_VALUE_LENGTH)), "UTC")
        for syntax, alphabet in alphabets.items()
        for _ in range(count)
    ]


def _list(items: Iterable[object], length: int) -> str:
    """A comma-separated list of the items, cut at a comma to at most `length` characters."""
    text = ",".join(str(item) for item in items)
    return text if len(text) <= length else text[: text.rindex(",", 0, length)]


def _filled(head: str, piece: str, tail: str) -> str:
    """`head`, as many pieces as fit into the longest value, `tail`."""
    return head + piece * ((MAX_VALUE_LENGTH - len(head) - len(tail)) // len(piece)) + tail
