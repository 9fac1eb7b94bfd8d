"""The only place that joins operations to adapters: from a board's URL to a `World`, and who we are."""

from __future__ import annotations

import os

from repokernel.adapters.board_folder import Place, at_url, find, folder_of_url, inside, make, settings
from repokernel.adapters.outputs_file import FileOutputs
from repokernel.adapters.store_file import FileStore
from repokernel.adapters.system import Machine
from repokernel.core.errors import error
from repokernel.core.owner import login_instance, make_owner, process_instance
from repokernel.ports.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from repokernel.core.lease import Alive
    from repokernel.core.settings import Settings
    from repokernel.ops.bench import Report
    from repokernel.ops.bench_part import Stretch
    from repokernel.ops.run_command import Shop


def locate(url: str | None, cwd: str) -> Place:
    """The board that `url` names, else the one that `cwd` lies in.

    Raises:
        BrokenError: `board_missing`.
        UsageError: `bad_value`.
    """
    return at_url(url, cwd) if url else find(cwd)


def open_world(url: str | None, cwd: str, *, lasting: bool = False) -> World:
    """The ports of a board that exists; nothing is written and no program is started.

    `lasting` says that the process will claim more than once.
    """
    return world_at(locate(url, cwd), cwd, lasting=lasting)


def world_at(place: Place, cwd: str, *, lasting: bool = False) -> World:
    """The ports of the board in `place`."""
    known: list[Settings] = []

    def configured() -> Settings:
        if not known:
            known.append(settings(place.root))
        return known[0]

    store, machine = FileStore(place.root), Machine(_asker(configured, place.root))
    outputs = FileOutputs(place.root, cwd)
    return World(store, machine, outputs, configured, repository=place.repository, lasting=lasting)


def _asker(configured: Callable[[], Settings], root: str) -> Callable[[str], Alive]:
    """What answers for owners elsewhere: the configured command, once the user has trusted it."""

    def ask(owner: str) -> Alive:
        from repokernel.core.lease import Alive

        command = configured().liveness
        if command is None:
            return Alive.UNKNOWN
        from repokernel.adapters.trust import ask_liveness

        return ask_liveness(command, owner, root)

    return ask


def make_board(url: str | None, cwd: str) -> tuple[Place, bool]:
    """Make a board where `url` says, else for the repository or folder `cwd`; False if it was there.

    Raises:
        BrokenError: the folder can't be made or doesn't keep a store's promises.
    """
    place = Place(folder_of_url(url, cwd), repository=False) if url else _place_for(os.path.abspath(cwd))
    machine = Machine()
    return place, make(place, machine.entropy(8), FileStore(place.root).now_ms())


def _place_for(cwd: str) -> Place:
    folder = cwd
    while True:
        place = inside(folder)
        if place is not None and (place.repository or folder == cwd):
            return place
        parent = os.path.dirname(folder)
        if parent == folder:
            return Place(os.path.join(cwd, ".repokernel"), repository=False)
        folder = parent


def board_above(place: Place) -> str | None:
    """The nearest board above a plain folder's own, which commands in that folder don't see any more."""
    folder = os.path.dirname(place.root)
    if place.repository or os.path.basename(place.root) != ".repokernel":
        return None
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        found = inside(folder)
        if found is not None and os.path.isdir(found.root):
            return found.root
    return None


def identity(env: Mapping[str, str], *, role: str | None, owner_pid: int | None, own_process: bool) -> str:
    """Who is acting: `role@instance[#deployment]`.

    Args:
        env: the environment (`RK_ROLE`, `RK_INSTANCE`, `RK_DEPLOYMENT`).
        role: the role that was said.
        owner_pid: the process that the claim is tied to, if one was said.
        own_process: whether it is tied to this process (a supervisor) rather than to the login.

    Raises:
        UsageError: `bad_value`.
    """
    machine = Machine()
    name = env.get("RK_INSTANCE", "")
    if own_process and owner_pid is None:
        owner_pid = os.getpid()
    if owner_pid is not None:
        process = machine.process(owner_pid) if 0 < owner_pid < 2**31 else None
        if process is None:
            raise error("bad_value", f"there is no process {owner_pid}", field="owner-pid")
        instance = process_instance(process, name)
    else:
        host, boot, _ = machine.place()
        instance = name or login_instance(host, boot, machine.login())
    said = role if role is not None else env.get("RK_ROLE") or machine.login()
    return make_owner(said, instance, env.get("RK_DEPLOYMENT", ""))


class Examined:
    """What a doctor found and mended, and where."""

    __slots__ = ("findings", "fixed", "where")

    def __init__(self, where: str, findings: list[dict[str, object]], fixed: list[str]) -> None:
        """Keep the three."""
        self.where = where
        self.findings = findings
        self.fixed = fixed


def examine(url: str | None, cwd: str, *, fix: bool) -> Examined:
    """Every finding about a board and this machine; `fix` mends what can be mended without touching records.

    Raises:
        BrokenError: `board_missing` if there is nothing to examine.
    """
    from repokernel.adapters.board_folder import check_meta, look_at
    from repokernel.adapters.scratch import left_over
    from repokernel.ops.doctor import examine as examine_records

    place = Place(folder_of_url(url, cwd), repository=False) if url else locate_broken(cwd)
    fixed: list[str] = []
    findings = look_at(place, fixed if fix else None)
    for name in left_over(place.root, sweep=fix):
        detail = f"{name}, which a killed `rk bench` left behind"
        if fix:
            fixed.append(f"swept {detail}")
        else:
            detail += " (harmless; `rk doctor --fix` sweeps it)"
            findings.append({"id": None, "code": "litter", "detail": detail})
    if not findings:
        check_meta(place.root)
    findings += examine_records(world_at(place, cwd))
    return Examined(place.root, findings, fixed)


def locate_broken(cwd: str) -> Place:
    """The board that `cwd` lies in, even where its description can't be read.

    Raises:
        BrokenError: `board_missing`.
    """
    folder = os.path.abspath(cwd)
    while True:
        place = inside(folder)
        if place is not None and os.path.isdir(place.root):
            return place
        if place is not None or os.path.dirname(folder) == folder:
            return find(cwd)
        folder = os.path.dirname(folder)


def trust_commands(place: Place, *, allow: bool) -> tuple[tuple[str, ...] | None, bool]:
    """The command that the configuration names, and whether it was trusted before; `allow` trusts it."""
    from repokernel.adapters.trust import is_trusted, trust

    command = settings(place.root).liveness
    if command is None:
        return None, False
    was = is_trusted(command, place.root)
    if allow and not was:
        trust(command, place.root)
    return command, was


def shop(env: Mapping[str, str], *, out_to_err: bool) -> Shop:
    """What it takes to run a program for a task."""
    from repokernel.adapters.handover import FolderWorkshop
    from repokernel.adapters.process import LocalPrograms
    from repokernel.ops.run_command import Shop

    return Shop(LocalPrograms(), FolderWorkshop(), env, out_to_err)


def bench_store(
    url: str | None, cwd: str, words: Sequence[str], processes: int, seconds: float, tell: Callable[[Stretch], None]
) -> tuple[str, Report]:
    """The store of a board, and what it can do, measured on scratch boards inside the board's folder.

    `words` start one process: `python -m WORDS… FOLDER NUMBER` must end in `bench_part` with the same plan.

    Raises:
        BrokenError: `board_missing`, the store failed, or `command_failed`.
    """
    from repokernel.adapters.scratch import Processes, left_over, scratch
    from repokernel.ops.bench import measure
    from repokernel.ops.bench_part import BOARDS, plan

    place, machine = locate(url, cwd), Machine()
    left_over(place.root, sweep=True)
    with scratch(place.root) as folder:
        stores = {name: FileStore(os.path.join(folder, name)) for name in BOARDS}
        for store in stores.values():
            make(Place(store.root, repository=False), machine.entropy(8), store.now_ms())
        crew = Processes(folder, words, processes)
        report = measure(crew, machine, stores["records"], plan(seconds, processes), tell)
    return FileStore(place.root).url, report


def bench_part(folder: str, number: int, processes: int, seconds: float) -> list[list[int]]:
    """What one process of a bench found, in its scratch folder."""
    from repokernel.adapters.scratch import BareFiles, Meeting, ticks
    from repokernel.ops.bench_part import BOARDS, Kit, Part, plan

    records, held, cycles = (world_at(Place(os.path.join(folder, name), repository=False), folder) for name in BOARDS)
    kit = Kit(records, held, cycles, BareFiles(folder), Meeting(folder, processes), ticks)
    return Part(kit, number).play(plan(seconds, processes))
