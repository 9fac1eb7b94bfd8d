"""Run the measurements that are named, or all; exit 1 if a gate is broken."""

from __future__ import annotations

import sys

from bench.drain import drain
from bench.hot import hot
from bench.listing import listing
from bench.registry import registry

PARTS = {"hot": (hot, 25), "drain": (drain, 5), "list": (listing, 5), "registry": (registry, 25)}


def main() -> int:
    """The exit status."""
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"bench: {unknown[0]!r} is none of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    results = [PARTS[name][0](PARTS[name][1]) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
