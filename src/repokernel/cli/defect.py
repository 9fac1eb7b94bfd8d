"""A bug of ours leaves a report file and one line, never a traceback on the screen."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback

from repokernel import __version__
from repokernel.core.errors import RkError, error


def report() -> RkError:
    """Write the exception being handled to a report file; the refusal that names it."""
    kind, value, _ = sys.exc_info()
    name = kind.__name__ if kind else "error"
    words = [word if word.startswith("-") or place == 1 else "…" for place, word in enumerate(sys.argv)][1:]
    text = f"repokernel {__version__}, Python {sys.version}\nrk {' '.join(words)}\n\n{traceback.format_exc()}"
    hint = "`rk doctor` says whether the board is well"
    path = ""
    try:
        fd, path = tempfile.mkstemp(prefix="rk-defect-", suffix=".txt")
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(text)
        hint = f"please report it with the file {path}; {hint}"
    except OSError:  # no room for a report either
        path = ""
    return error("defect", f"a bug in rk ({name}: {str(value)[:120]})", hint=hint, report=path)
