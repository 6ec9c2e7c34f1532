"""``python -m cronograph.remote``: the program that an executor starts at its engine for one attempt.

The environment says where the server is and by which token the attempt speaks; started without it, it says so and ends.
It needs the packages of the job itself, and nothing of the server.
"""

import sys

from cronograph.jobs.runtime.remote.process import main

if __name__ == "__main__":
    sys.exit(main())
