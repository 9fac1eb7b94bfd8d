"""RepoKernel: a task board for agents that work in parallel, whose `done` can be checked.

from repokernel import Board
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Board", "BrokenError", "BusyError", "Claim", "RefusedError", "RkError", "UsageError", "__version__"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.api.board import Board as Board, Claim as Claim
    from repokernel.core.errors import (
        BrokenError as BrokenError,
        BusyError as BusyError,
        RefusedError as RefusedError,
        RkError as RkError,
        UsageError as UsageError,
    )


def __getattr__(name: str) -> object:
    """Load on first use (PEP 562): a command that needs none of it doesn't pay for it."""
    if name in ("Board", "Claim"):
        from repokernel.api import board

        return getattr(board, name)
    if name in __all__:
        from repokernel.core import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'repokernel' has no attribute {name!r}")
