"""The planted bugs: what each breaks, and the test that is named as the one that catches it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from tests.planted import core_bugs as core, registry_bugs as registry, store_bugs as store

SIMULATION = "tests/sim"
_CRASH = "tests/faults/test_crash_states.py::test_a_power_loss_leaves_an_operation_whole_or_undone"
_STORE = "tests/contract/test_store_file.py::test_a_failing_disk_never_gives_a_false_answer"
_HISTORIES = "tests/races/test_histories.py::test_every_history_of_eight_processes_on_one_board_is_linearizable[0]"
_LAWS = "tests/property/test_registry.py"
_BETWEEN = "tests/integration/test_interleavings.py"


class Patch(Protocol):
    """What puts something in another's place; pytest's MonkeyPatch is one."""

    def setattr(self, target: object, name: str, value: object) -> None:
        """Replace an attribute."""


class Setter:
    """Replaces for good, in a process that is there for one bug."""

    def setattr(self, target: object, name: str, value: object) -> None:
        """Replace an attribute."""
        setattr(target, name, value)


class Bug(NamedTuple):
    """How to plant it, and which test catches it (`SIMULATION`, or a test by its node id)."""

    plant: Callable[[Patch], None]
    caught_by: str

    @property
    def what(self) -> str:
        """What goes wrong, in a sentence."""
        return (self.plant.__doc__ or "").strip()


_CAUGHT: Mapping[Callable[[Patch], None], str] = {
    store.file_not_synced: f"{_CRASH}[claim]",
    store.folder_not_synced: f"{_CRASH}[claim]",
    store.create_then_write: f"{_CRASH}[claim]",
    store.beat_in_place: f"{_CRASH}[next renew]",
    store.output_not_synced: f"{_CRASH}[done with a file]",
    store.sync_failure_swallowed: f"{_STORE}[fsync:error=EIO:when=2]",
    store.interrupted_link_given_up: f"{_STORE}[linkat:error=EINTR:when=1]",
    store.last_writer_wins: "tests/contract/test_store.py::test_of_eight_threads_one_wins_every_round",
    store.lost_answer_is_a_loss: "tests/contract/test_store.py::"
    "test_the_same_bytes_published_before_are_ours_since_an_answer_may_be_lost",
    store.gap_is_filled: "tests/contract/test_store.py::test_a_gap_is_a_finding_that_names_the_task_and_hides_no_other",
    store.names_freed_by_archiving: "tests/integration/test_archiving.py::test_no_name_becomes_free_for_a_late_writer",
    store.output_not_looked_at: f"{_BETWEEN}::test_an_output_that_vanishes_before_the_task_is_done_is_missing",
    core.no_nonce: SIMULATION,
    core.takeover_keeps_token: SIMULATION,
    core.fence_by_clock: SIMULATION,
    core.fence_by_owner: SIMULATION,
    core.fence_by_adjacency: SIMULATION,
    core.renew_without_reread: SIMULATION,
    core.hold_steals_the_slot: SIMULATION,
    core.old_beat_honoured: "tests/integration/test_fencing.py::"
    "test_a_beat_of_an_old_token_does_not_lengthen_a_successors_lease",
    core.lost_race_is_won: SIMULATION,
    core.decided_once: SIMULATION,
    core.repeated_twice: SIMULATION,
    core.attempts_not_counted: SIMULATION,
    core.exhausted_is_left: SIMULATION,
    core.dead_is_never_noticed: SIMULATION,
    core.reopen_in_the_same_epoch: SIMULATION,
    core.claim_through_a_hold: SIMULATION,
    core.memory_is_trusted: SIMULATION,
    core.takeover_from_the_living: _HISTORIES,
    core.first_claimant_is_the_last: _HISTORIES,
    core.drained_from_a_torn_view: f"{_BETWEEN}::test_drained_is_not_said_of_a_board_that_never_was",
    core.exhausted_is_hopeless: f"{_BETWEEN}::test_drained_is_not_said_while_a_late_holder_may_still_be_done",
    registry.our_value_wins: f"{_LAWS}::test_the_order_of_the_sides_makes_no_difference",
    registry.removal_wins: f"{_LAWS}::test_nothing_that_a_side_added_or_progressed_is_lost",
    registry.failed_outranks_done: "tests/unit/test_registry_policy.py::test_the_right_side_wins[more progress wins]",
    registry.ours_is_left_standing: "tests/integration/test_registry_git.py::"
    "test_a_case_merges_in_a_repository_as_listed[RM-090]",
}
BUGS: Mapping[str, Bug] = {plant.__name__: Bug(plant, test) for plant, test in _CAUGHT.items()}
