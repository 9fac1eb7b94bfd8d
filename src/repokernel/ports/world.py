"""All ports of one board, as operations receive them."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from repokernel.core.ids import Key
    from repokernel.core.record import Record
    from repokernel.core.settings import Settings
    from repokernel.ports.store import Store
    from repokernel.ports.system import Outputs, System


class World:
    """What the operations of one board work with.

    Attributes:
        store: the board's records.
        system: clock, chance, processes.
        outputs: where outputs are.
        settings: the configuration in force.
        repository: whether the board belongs to a Git repository.
        lasting: whether this process will claim more than once.
        lock: held while `offers` is used, for threads of one program share them.
        offers: what `claim_next` remembers between two calls.
        decoded: records that were read, by folded id; immutable, so never stale, only behind.
    """

    __slots__ = ("_settings", "decoded", "lasting", "lock", "offers", "outputs", "repository", "store", "system")

    def __init__(
        self,
        store: Store,
        system: System,
        outputs: Outputs,
        settings: Callable[[], Settings],
        *,
        repository: bool,
        lasting: bool = False,
    ) -> None:
        """Join the ports; `settings` is asked when a setting is first needed."""
        self.store = store
        self.system = system
        self.outputs = outputs
        self._settings: Callable[[], Settings] | Settings = settings
        self.repository = repository
        self.lasting = lasting
        self.lock = allocate_lock()
        self.decoded: dict[Key, Record] = {}
        self.offers: object = None

    @property
    def settings(self) -> Settings:
        """The configuration in force, read once."""
        if callable(self._settings):
            self._settings = self._settings()
        return self._settings
