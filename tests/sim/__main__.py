"""`python -m tests.sim SEED [COUNT]`: tell the schedule of a seed, or run so many and tell the first that fails."""

import sys
import time

from tests.sim.schedule import explain, simulate


def main() -> int:
    """The exit status: 1 if a schedule fails."""
    seed, count = int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1
    began = time.monotonic()
    for number in range(seed, seed + count):
        if simulate(number).problems or count == 1:
            print(explain(number))
            return 1
    print(f"{count:,} schedules from seed {seed}, nothing is wrong, {time.monotonic() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
