"""`python -m secondface` is the command line."""

import sys

from secondface.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
