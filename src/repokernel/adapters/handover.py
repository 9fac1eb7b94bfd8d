"""The files between `rk work` and the program that it runs, in a temporary folder of their own."""

from __future__ import annotations

import os
import shutil
import tempfile

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
        with open(fd, "rb") as stream:
            return stream.read(_RESULT_BYTES_MAX + 1)

    def produced(self) -> str | None:
        """See `ports.system.Handover.produced`."""
        names = os.listdir(self._place)
        if len(names) == 1 and os.path.isfile(os.path.join(self._place, names[0])):
            return os.path.join(self._place, names[0])
        return self._place if names else None

    def close(self) -> None:
        """See `ports.system.Handover.close`."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._place and not os.listdir(self._place):
            os.rmdir(self._place)


class FolderWorkshop:
    """The `Workshop` port."""

    def handover(self) -> FolderHandover:
        """See `ports.system.Workshop.handover`."""
        return FolderHandover()
