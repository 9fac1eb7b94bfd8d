"""Outputs that are files or folders of this machine: `file:` URIs.

A folder is described by a manifest of its files. What can't be read again as it was (a FIFO, a device,
a symbolic link inside a folder) is refused. What is recorded is synced first: a `done` that outlives
its output in a power cut would be a phantom.
"""

from __future__ import annotations

import errno
import os
import stat

from repokernel.adapters.publish import full_sync, shut, sync_folder
from repokernel.core.chars import ALNUM, HEX, made_of
from repokernel.core.errors import error
from repokernel.core.output import FILES_MAX, Depth, Problem, digest_problem, folder_output, size_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from repokernel.core.entry import Output, OutputFile
    from repokernel.core.ids import Key

# no such name, and no name that could be: a link to itself, a name longer than any
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_CHUNK = 1 << 20
_SCHEME = ALNUM + "+.-"
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~+,=@")


def to_uri(path: str) -> str:
    """The `file:` URI of an absolute path, byte for byte (RFC 8089)."""
    return "file://" + "".join(chr(b) if b in _PLAIN else f"%{b:02X}" for b in os.fsencode(path))


def _byte(digits: str) -> bytes:
    if digits.strip(HEX + "ABCDEF") or len(digits) != 2:  # noqa: PLR2004 - two digits are a byte
        raise ValueError(digits)
    return bytes.fromhex(digits)


def from_uri(uri: str) -> str:
    """The absolute path of a `file:` URI of this machine.

    Raises:
        RefusedError: `output_refused`.
    """
    rest = uri[len("file:") :]
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise error("output_refused", f"{uri:.200} names another host", uri=uri)
        rest = slash + tail
    head, *coded = rest.split("%")
    try:
        raw = os.fsencode(head) + b"".join(_byte(part[:2]) + os.fsencode(part[2:]) for part in coded)
    except ValueError:
        raise error("output_refused", f"{uri:.200} is not a file URI", uri=uri) from None
    if not raw.startswith(b"/") or b"\0" in raw:
        raise error("output_refused", f"{uri:.200} is not the URI of an absolute path", uri=uri)
    return os.fsdecode(raw)


def _missing(path: str) -> Exception:
    return error("output_missing", f"{path:.300} is not there", hint="write it first, then say done", path=path[:300])


class FileOutputs:
    """The `Outputs` port for this machine's files."""

    def __init__(self, root: str, cwd: str) -> None:
        """Keep where the board's own outputs go, and what relative paths are relative to."""
        self._root = root
        self._cwd = cwd

    def place(self, key: Key, token: int) -> str:
        """See `ports.system.Outputs.place`."""
        return os.path.join(self._root, "outputs", key, f"t{token}")

    def _resolve(self, where: str) -> str:
        if where.startswith("file:"):
            return from_uri(where)
        scheme, colon, _ = where.partition(":")
        if colon and made_of(scheme, _SCHEME, 40) and where[len(scheme) + 1 :].startswith("//"):
            raise error(
                "output_refused",
                f"{where:.200}: outputs of kind {scheme}: can't be checked by this version",
                hint="give a path or a file: URI",
                uri=where[:200],
            )
        if "\0" in where or not where:
            raise error("output_refused", f"{where!r:.80} is no path")
        return os.path.normpath(os.path.join(self._cwd, where))

    def describe(self, where: str, written_at: str) -> Output:
        """See `ports.system.Outputs.describe`."""
        path = self._resolve(where)
        self._check_apart(path)
        try:
            info = os.stat(path)
            if stat.S_ISDIR(info.st_mode):
                files = self._manifest(path, sync=True)
                self._sync_above(path)
                return folder_output(to_uri(path), files, written_at)
            if not stat.S_ISREG(info.st_mode):
                raise error("output_refused", f"{path} is neither a file nor a folder", path=path)
            count, sha256 = _measure(path, sync=True)
            self._sync_above(path)
        except OSError as cause:
            if cause.errno in _ABSENT:
                raise _missing(path) from None
            raise error("output_io", f"{path}: {os.strerror(cause.errno or 0)}", path=path) from cause
        return {"uri": to_uri(path), "bytes": count, "sha256": sha256, "written_at": written_at}

    def _check_apart(self, path: str) -> None:
        """Refuse the board itself: its files change with every write, this very one included."""
        real, board = os.path.realpath(path), os.path.realpath(self._root)
        around = f"{board}/".startswith(real.rstrip("/") + "/")
        within = f"{real}/".startswith(f"{board}/") and not real.startswith(os.path.join(board, "outputs", ""))
        if around or within:
            raise error(
                "output_refused",
                f"{path} holds the board itself, or is a part of it",
                hint="put the output into a folder or file of its own",
                path=path,
            )

    def _sync_above(self, path: str) -> None:
        """Make the output's name durable, and those of the folders that were made for it."""
        folder = os.path.dirname(path)
        sync_folder(folder)
        while folder.startswith((os.path.join(self._root, "outputs", ""), os.path.join(self._cwd, ""))):
            folder = os.path.dirname(folder)
            sync_folder(folder)

    def _manifest(self, root: str, *, sync: bool) -> list[OutputFile]:
        files: list[OutputFile] = []
        for folder, folders, names in os.walk(root, onerror=_raise):
            for name in [*names, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]:
                path = os.path.join(folder, name)
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    raise error("output_refused", f"{path} is not a plain file", path=path)
                count, sha256 = _measure(path, sync=sync)
                relative = os.path.relpath(path, root)
                try:
                    relative.encode()
                except UnicodeEncodeError:
                    raise error("output_refused", f"{path!r} has a name that isn't UTF-8") from None
                files.append({"path": relative, "bytes": count, "sha256": sha256})
                if len(files) > FILES_MAX:
                    raise error("output_refused", f"{root} holds more than {FILES_MAX:,} files; pack them", path=root)
            if sync:
                sync_folder(folder)
        if not files:
            raise error("output_missing", f"{root} is an empty folder", path=root)
        return files

    def probe(self, output: Output, depth: Depth) -> Problem | None:
        """See `ports.system.Outputs.probe`."""
        uri = output["uri"]
        if not uri.startswith("file:"):
            return Problem("unverifiable", f"{uri}: outputs of this kind can't be checked by this version")
        path = from_uri(uri)
        files = output.get("files")
        if files is None:
            return self._probe_file(path, output["bytes"], output["sha256"], depth)
        for one in files:
            problem = self._probe_file(os.path.join(path, one["path"]), one["bytes"], one["sha256"], depth)
            if problem is not None:
                return problem
        return None

    @staticmethod
    def _probe_file(path: str, count: int, sha256: str, depth: Depth) -> Problem | None:
        try:
            info = os.stat(path)
            if not stat.S_ISREG(info.st_mode):
                return Problem("output_mismatch", f"{path} is not a file")
            problem = None if depth is Depth.EXISTS else size_problem(path, count, info.st_size)
            if problem is None and depth is Depth.SHA256:
                problem = digest_problem(path, sha256, _measure(path, sync=False)[1])
        except (FileNotFoundError, NotADirectoryError):
            return Problem("output_missing", f"{path} is not there")
        except OSError as cause:
            return Problem("unverifiable", f"{path}: {os.strerror(cause.errno or 0)}")
        return problem


def _raise(cause: OSError) -> None:
    raise cause


def _measure(path: str, *, sync: bool) -> tuple[int, str]:
    """(bytes, sha256) of a file, read in pieces; made durable on request."""
    from hashlib import sha256  # OpenSSL: worth its start for a large file

    count, hasher = 0, sha256()
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while piece := os.read(fd, _CHUNK):
            count += len(piece)
            hasher.update(piece)
        if sync:
            full_sync(fd)
    finally:
        shut(fd)
    return count, hasher.hexdigest()
