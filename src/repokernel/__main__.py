"""The commands `rk` and `repokernel`, and `python -m repokernel`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process; its exit status."""
    from repokernel.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
