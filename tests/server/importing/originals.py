"""Asks cronie when its schedules fire over two years, and keeps what it says beside this module.

``python -m tests.server.importing.originals CRONIE``, where ``CRONIE`` prints the instants of five fields, made of
cronie's own parser: it takes the fields, and the first and last second. The tests compare with what is kept.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_name("originals.json")
START = datetime(2026, 11, 23, 12, 34, 56, tzinfo=UTC)
END = START + timedelta(days=731)
ZONES = ("UTC", "Europe/Berlin")
CRONTAB = (
    "0 3 * * *", "*/15 2 * * *", "0 0 13 * 5", "0 0 */2 * 1", "30 4 1,15 * 5", "0 9 * * 7", "0 9 * * sat-sun",
    "0 9 * * 0-7/2", "59 23 31 12 Mon-Fri", "0 0 1-31 * 5", "7 */6 * jan-mar,OCT *", "0 12 * * */2",
    "10-50/20 0,12 31 * *", "22-3 * * * *", "5/15 * * * *", "0 0 * * fri-mon", "0 8 * * 5-0",
)  # fmt: skip


def digest(times: list[datetime]) -> str:
    """A short word for these times."""
    return sha256(" ".join(str(int(one.timestamp())) for one in times).encode()).hexdigest()[:16]


def of_cronie(program: str, fields: str, zone: str) -> list[datetime] | None:
    first = int(START.timestamp()) // 60 * 60 + 60
    words = [program, f"{fields} x", str(first), str(int(END.timestamp()))]
    done = subprocess.run(words, env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=False)
    return None if done.returncode else [datetime.fromtimestamp(int(one), UTC) for one in done.stdout.split()]


def asked(cronie: str) -> Iterator[dict[str, Any]]:
    for given in CRONTAB:
        for zone in ZONES:
            found = of_cronie(cronie, given, zone)
            row = {"count": None} if found is None else {"count": len(found), "digest": digest(found)}
            yield {"given": given, "zone": zone, **row}


if __name__ == "__main__":
    KEPT.write_text("[\n" + ",\n".join(json.dumps(one) for one in asked(sys.argv[1])) + "\n]\n")
