"""What tests cost is counted once, and what costs too much of a turn is named."""

import os
import threading
from itertools import pairwise

from tests.support.choosing import COSTLY, COSTLY_IN_A_BROWSER
from tests.support.costs import SHARE_OF_OTHERS, Cost, over
from tests.support.processor import processor_seconds


def test_threads_that_end_meanwhile_hide_nothing_of_a_process() -> None:
    seen: list[float] = []
    for _ in range(200):
        threads = [threading.Thread(target=int) for _ in range(5)]
        for thread in threads:
            thread.start()
        seen.append(processor_seconds(os.getpid()))
        for thread in threads:
            thread.join()
    assert all(earlier <= later for earlier, later in pairwise(seen))


def test_what_takes_too_much_of_a_turn_is_named() -> None:
    costs = {
        "tests/core/test_a.py::test_cheap": Cost(COSTLY, COSTLY, COSTLY, 1),
        "tests/e2e/test_c.py::test_cheap": Cost(1, COSTLY_IN_A_BROWSER, COSTLY_IN_A_BROWSER, 1),
        "tests/e2e/test_c.py::test_dear": Cost(2, COSTLY_IN_A_BROWSER + 0.1, COSTLY_IN_A_BROWSER + 0.1, 1),
        "tests/core/test_a.py::test_dear[one]": Cost(1.5, 1.5, 1.5, 1),
        "tests/core/test_a.py::test_dear[two]": Cost(1.5, 1.5, 1.5, 1),
        "tests/core/test_a.py::test_in_turns": Cost(9, 9, 3, 1),
        "tests/new/test_b.py::test_much": Cost(90, 3 * (SHARE_OF_OTHERS + 1), SHARE_OF_OTHERS + 1, 1),
    }
    said = "\n".join(over(costs))
    assert "tests/core/test_a.py::test_dear\n" in said
    assert "tests/e2e/test_c.py::test_dear\n" in said
    assert "test_cheap" not in said
    assert "test_in_turns" not in said
    assert said.endswith(f"new: {SHARE_OF_OTHERS + 1} s of {SHARE_OF_OTHERS} s")
