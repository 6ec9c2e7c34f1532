"""Measure how much of the public names pyright knows the types of: `make check-public-types`.

`pyright --verifytypes` judges each package as an installed one that has `py.typed`. A name counts as unknown if its
type is inferred in a way in which type checkers differ, or is made from such a name.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.support.sources import ROOT

LEAST: Final[Mapping[str, float]] = {"cronograph.jobs": 94.0, "cronograph.graphql.client": 93.0}
"""The share of public names, in percent, whose types have to be known, by package; it may rise and never fall."""


def report(package: str) -> dict[str, Any]:
    """Return what pyright says of a package."""
    environment = {
        **os.environ,
        # Pyright asks the first Python that it finds for the libraries.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT / ".links"),
        "PYRIGHT_PYTHON_GLOBAL_NODE": "off",
    }
    command = [sys.executable, "-m", "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", package]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said: dict[str, Any] = json.loads(answer.stdout)["typeCompleteness"]
    return said


def main() -> int:
    """Print the share of each package after the names that are not known; return 1 if a share has fallen."""
    status = 0
    for package, least in LEAST.items():
        said = report(package)
        known = round(100 * said["completenessScore"], 1)
        for symbol in said["symbols"]:
            if symbol["isExported"] and not symbol["isTypeKnown"]:
                print(symbol["name"])  # noqa: T201
        print(f"{package}: the types of {known:g} % are known, at least {least:g} % must be")  # noqa: T201
        status |= known < least
    return status


if __name__ == "__main__":
    sys.exit(main())
