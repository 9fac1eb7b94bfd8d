"""A board's folder: finding it from anywhere inside, making it, reading its configuration.

In a Git repository the board is `repokernel/` in the common Git folder, so that all worktrees share
it; in a plain folder it is `.repokernel/`. The search goes up from the working folder and stops at
the first board, or at the top of the first repository.
"""

from __future__ import annotations

import os
import stat

from repokernel.adapters.git_dir import common_dir
from repokernel.adapters.publish import ASIDE, link_new, shut, store_error, sync_folder
from repokernel.adapters.store_file import CLAIMS, FOLDERS, FileStore
from repokernel.core import jsontext
from repokernel.core.errors import RkError, error
from repokernel.core.ids import Key
from repokernel.core.settings import Settings, commented_defaults, read_settings
from repokernel.core.times import format_instant

BOARD_FORMAT = 1
META = "board.json"
CONFIG = "config.toml"
_META_BYTES_MAX = 65_536
_LITTER_S = 3600.0


class Place:
    """A board's folder, and whether it belongs to a Git repository."""

    __slots__ = ("repository", "root")

    def __init__(self, root: str, *, repository: bool) -> None:
        """Name a folder; it need not exist."""
        self.root = root
        self.repository = repository


def folder_of_url(url: str, cwd: str) -> str:
    """The folder that a board URL names: `file:PATH`, `file:///PATH` or just a path.

    Raises:
        UsageError: `bad_value` for any other scheme.
    """
    scheme, colon, rest = url.partition(":")
    if colon and scheme == "file":
        url = rest[2:] if rest.startswith("///") else rest
        if url.startswith("//"):
            raise error("bad_value", f"the board {scheme}:{rest:.200} names another host", field="board")
    elif colon and rest.startswith("//"):
        raise error(
            "bad_value",
            f"boards of kind {scheme:.40}: are not supported by this version",
            hint="use a path or file:PATH",
            field="board",
        )
    if not url or "\0" in url:
        raise error("bad_value", "the board's URL is empty", hint="use a path or file:PATH", field="board")
    return os.path.normpath(os.path.join(cwd, url))


def _is_there(path: str) -> bool:
    """Whether something has this name; a disk that can't say is no reason to take a board further up."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError as cause:
        raise store_error(cause, "can't look at", path) from cause
    return True


def inside(folder: str) -> Place | None:
    """The place for a board of `folder` itself (not of its parents), or None if it has neither sign."""
    if _is_there(os.path.join(folder, ".repokernel", META)):
        return Place(os.path.join(folder, ".repokernel"), repository=False)
    common = common_dir(folder)
    return None if common is None else Place(os.path.join(common, "repokernel"), repository=True)


def find(cwd: str) -> Place:
    """The board that `cwd` lies in.

    Raises:
        BrokenError: `board_missing`.
    """
    folder = os.path.abspath(cwd)
    while True:
        place = inside(folder)
        if place is not None:
            check_meta(place.root)
            return place
        parent = os.path.dirname(folder)
        if parent == folder:
            raise _no_board(cwd)
        folder = parent


def _no_board(where: str) -> Exception:
    return error("board_missing", f"there is no board in {where} or above it", hint="`rk init` makes one here")


def at_url(url: str, cwd: str) -> Place:
    """The board that `url` names, which must exist."""
    root = folder_of_url(url, cwd)
    check_meta(root)
    repository = os.path.basename(root) == "repokernel" and common_dir(os.path.dirname(root)) is not None
    return Place(root, repository=repository)


def _read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise store_error(cause, "can't read", path) from cause
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _META_BYTES_MAX:
            what = "is too large" if stat.S_ISREG(info.st_mode) else "is not a file"
            raise error("record_invalid", f"{path} {what}; it was left as it is", path=path)
        return os.read(fd, _META_BYTES_MAX)
    except OSError as cause:
        raise store_error(cause, "can't read", path) from cause
    finally:
        shut(fd)


def check_meta(root: str) -> None:
    """Pass if `root` holds a board of a format that this version knows.

    Raises:
        BrokenError: `board_missing`.
        RefusedError: `record_invalid` or `schema_newer`.
    """
    path = os.path.join(root, META)
    data = _read(path)
    if data is None:
        raise _no_board(root)
    try:
        meta = jsontext.parse(data)
    except ValueError as cause:
        raise error("record_invalid", f"{path}: {cause}", hint="`rk doctor` looks closer") from None
    version = meta.get("board") if isinstance(meta, dict) else None
    if type(version) is not int or version < 1:
        raise error("record_invalid", f"{path} doesn't describe a board", hint="`rk doctor` looks closer")
    if version > BOARD_FORMAT:
        said = f"{path} has format {version}; this version knows {BOARD_FORMAT}"
        raise error("schema_newer", said, hint="use the newer version of rk")


def make(place: Place, entropy: bytes, now_ms: int) -> bool:
    """Make the board's folder; False if it is there already (what is missing in it is put back).

    Raises:
        BrokenError: the folder can't be made, or `store_unfit`.
    """
    path = os.path.join(place.root, META)
    existed = os.path.lexists(path)
    if existed:
        check_meta(place.root)
    if existed and not os.path.isdir(os.path.join(place.root, CLAIMS)):
        raise error(
            "board_missing",
            f"{place.root} was a board, and its {CLAIMS} folder is gone",
            hint="restore it from a backup, or remove the whole board",
        )
    try:
        for folder in FOLDERS:
            _make_folders(os.path.join(place.root, folder))
        _publish(place.root, CONFIG, commented_defaults().encode())
        store = FileStore(place.root)
        if not existed:
            probe(store, entropy.hex())
            sync_folder(place.root)  # what a board consists of is durable before it is called one
            meta = {"board": BOARD_FORMAT, "id": entropy.hex(), "created_at": format_instant(now_ms)}
            _publish(place.root, META, jsontext.canonical(meta))
        _sync_up(place.root)
    except OSError as cause:
        raise store_error(cause, "can't make", place.root) from cause
    return not existed


def _publish(root: str, name: str, data: bytes) -> None:
    """Write a new file of the board's folder whole; one that is there already stays."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not os.path.lexists(os.path.join(root, name)):
            link_new(fd, name, data)
    finally:
        shut(fd)


def _make_folders(path: str) -> None:
    """Make a folder and those above it, each durable."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    _make_folders(above)
    os.makedirs(path, exist_ok=True)
    sync_folder(above)


def _sync_up(root: str) -> None:
    for folder in (root, os.path.dirname(root), os.path.dirname(os.path.dirname(root))):
        sync_folder(folder)


def probe(store: FileStore, unique: str) -> None:
    """Pass if the file system keeps the one promise: a name is created once, whole.

    Raises:
        BrokenError: `store_unfit`.
    """
    key, first, second = Key(f"{ASIDE}probe-{unique[:16]}"), b"first\n", b"second\n"
    path = os.path.join(store.root, CLAIMS, f"{key}.00000001.json")
    try:
        verdicts = (store.append(key, 1, first), store.append(key, 1, second), store.read(key, 1))
    finally:
        if os.path.lexists(path):
            os.unlink(path)
    if verdicts != (True, False, first):
        raise error(
            "store_unfit",
            f"the file system of {store.root} lets two writers create one name",
            hint="put the board on a local disk: --board file:PATH",
        )


def settings(root: str) -> Settings:
    """The board's configuration; a file with nothing but comments costs nothing.

    Raises:
        UsageError: `bad_input`, `unknown_key`, `bad_value`.
    """
    path = os.path.join(root, CONFIG)
    data = _read(path) or b""
    if all(not line.strip() or line.lstrip().startswith(b"#") for line in data.splitlines()):
        return Settings({})
    import tomllib

    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise error("bad_input", f"{path} can't be read: {cause}", hint="mend the line, or remove the file") from None
    return read_settings(document, path)


def look_at(place: Place, fixed: list[str] | None) -> list[dict[str, object]]:
    """Findings about the folder itself: missing parts, litter, a file system that breaks its promise.

    With a list for `fixed`, missing folders are put back and old litter is swept, each named there.
    """
    findings = [found for folder in FOLDERS if (found := _look_at_folder(place, folder, fixed)) is not None]
    try:
        check_meta(place.root)
        litter = [] if findings else FileStore(place.root).litter(older_than_s=_LITTER_S)
    except RkError as cause:
        return [*findings, {"id": None, "code": cause.code, "detail": cause.message}]
    if litter and fixed is not None:
        FileStore(place.root).sweep(litter)
        fixed.append(f"swept {len(litter)} files that killed writers had left aside")
    elif litter:
        detail = f"{len(litter)} files that killed writers left aside (harmless; `rk doctor --fix` sweeps them)"
        findings.append({"id": None, "code": "litter", "detail": detail})
    return findings


def _look_at_folder(place: Place, folder: str, fixed: list[str] | None) -> dict[str, object] | None:
    path = os.path.join(place.root, folder)
    if os.path.isdir(path) and not os.path.islink(path):
        return None
    # a lost log is never put back empty: its names would be free again
    if fixed is None or os.path.lexists(path) or folder == CLAIMS:
        return {"id": None, "code": "board_missing", "detail": f"{path} is missing or is no folder"}
    os.makedirs(path)
    fixed.append(f"made {path}")
    return None
