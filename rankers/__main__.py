"""``python -m rankers``."""

import sys

from rankers.cli import main

if __name__ == "__main__":
    sys.exit(main())
