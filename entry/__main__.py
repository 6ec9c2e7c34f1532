"""``python -m cronograph`` is the command ``cronograph``."""

from cronograph.server.cli import main

if __name__ == "__main__":
    main()
