"""Whether what a person or worker says is fit for a record."""

from __future__ import annotations

from repokernel.core.entry import line_problem, text_problem
from repokernel.core.errors import error


def said(text: str, what: str, *, line: bool = False) -> str:
    """`text` itself, once it is fit for a record.

    Raises:
        UsageError: `bad_value`.
    """
    problem = line_problem(text) if line else text_problem(text) or (None if text.strip() else "must not be empty")
    if problem is not None:
        raise error("bad_value", f"the {what} {problem}", field=what)
    return text
