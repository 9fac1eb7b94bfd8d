"""The demo's agent: summarises one topic. `rk work … -- python -m repokernel.demo.agent MARKS` runs it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from repokernel.demo.job import Fault, documents, fault_of
from repokernel.demo.marks import Marks
from repokernel.demo.summarise import page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROOM_BYTES = 100
_READING_S_PER_CHAR = 2e-6  # so that, as with any real agent, the work takes longer than keeping the queue


class AgentError(Exception):
    """The agent can't do its task: a code and what it has to say."""

    def __init__(self, code: str, detail: str) -> None:
        """Keep both."""
        super().__init__(detail)
        self.code = code
        self.detail = detail


def write_summary(task: str, attempt: int, path: Path, stand: Callable[[Fault], None]) -> None:
    """Write the page about a topic to `path`; half-way `stand` is called where a signal is to strike.

    Raises:
        AgentError: `no_such_topic`, `upload_failed`.
    """
    text = documents().get(task)
    if text is None:
        raise AgentError("no_such_topic", f"Python's reference has no topic {task!r}")
    fault = fault_of(task, attempt)
    time.sleep(len(text) * _READING_S_PER_CHAR)
    data = page(task, text).encode()
    half = len(data) // 2
    try:
        with _little_room() if fault is Fault.FULL else contextlib.nullcontext(), path.open("wb") as stream:
            stream.write(data[:half])
            stream.flush()
            if fault in (Fault.KILL, Fault.PAUSE):
                stand(fault)
            stream.write(data[half:])
    except OSError as cause:
        raise AgentError("upload_failed", f"{path.name}: {cause.strerror}") from cause


@contextlib.contextmanager
def _little_room() -> Iterator[None]:
    """Let no file of this process grow further than a little, as on a full disk: writing really fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def main(folder: str) -> int:
    """Do the task that `rk work` hands over; the exit status."""
    entry = json.loads(Path(os.environ["RK_TASK_FILE"]).read_text(encoding="utf-8"))
    path = Path(os.environ["RK_OUTPUT_DIR"], "summary.md")
    marks, worker = Marks(Path(folder)), os.getppid()
    try:
        write_summary(entry["id"], entry["attempts"], path, lambda fault: marks.stand(fault, worker))
    except AgentError as cause:
        result = {"error": {"code": cause.code, "detail": cause.detail}}
        Path(os.environ["RK_RESULT_FILE"]).write_text(json.dumps(result), encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
