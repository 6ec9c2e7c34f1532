"""``python -m cronograph.remote``: what an executor starts at its engine; it carries out one attempt.

The environment says where the server is and by which token the attempt speaks; started without it, it says so and ends.
It needs what the job itself needs, and nothing of the server.
"""

import sys

from cronograph.jobs.runtime.remote.process import main

if __name__ == "__main__":
    sys.exit(main())
