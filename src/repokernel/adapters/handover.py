"""The files between `rk work` and the program that it runs, in a temporary folder of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from repokernel.adapters.publish import shut
from repokernel.core import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Entry

_RESULT_BYTES_MAX = 1 << 20


class FolderHandover:
    """The `Handover` port: `task.json` in, `result.json` out."""

    def __init__(self) -> None:
        """Make the folder."""
        self._folder = tempfile.mkdtemp(prefix="rk-work-")
        self._place = ""

    def give(self, entry: Entry, place: str) -> dict[str, str]:
        """See `ports.system.Handover.give`."""
        self._place = place
        os.makedirs(place, exist_ok=True)
        task_file = os.path.join(self._folder, "task.json")
        with open(task_file, "wb") as stream:
            stream.write(jsontext.canonical(entry))
        return {
            "RK_TASK_FILE": task_file,
            "RK_RESULT_FILE": os.path.join(self._folder, "result.json"),
            "RK_OUTPUT_DIR": place,
        }

    def result(self) -> bytes | None:
        """See `ports.system.Handover.result`."""
        try:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(os.path.join(self._folder, "result.json"), flags)
        except OSError:
            return None
        try:
            data = b""
            while len(data) <= _RESULT_BYTES_MAX and (more := os.read(fd, _RESULT_BYTES_MAX)):
                data += more
        except OSError:  # a folder, or a pipe that nobody writes: not a result
            return b""
        finally:
            shut(fd)
        return data

    def produced(self) -> str | None:
        """See `ports.system.Handover.produced`."""
        try:
            names = os.listdir(self._place)
        except OSError:
            return None
        if len(names) == 1 and os.path.isfile(os.path.join(self._place, names[0])):
            return os.path.join(self._place, names[0])
        return self._place if names else None

    def close(self) -> None:
        """See `ports.system.Handover.close`."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # it holds an output, or the program has removed it
            os.rmdir(self._place)


class FolderWorkshop:
    """The `Workshop` port."""

    def handover(self) -> FolderHandover:
        """See `ports.system.Workshop.handover`."""
        return FolderHandover()
