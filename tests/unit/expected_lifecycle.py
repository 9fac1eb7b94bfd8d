"""The lifecycle as DESIGN section 4 has it, written down a second time and independently of core.

`*` marks what a worker may do only where the task has no halt, or one that needs no person.
"""

PHASES = """
open     planned      pending
claim    pending      in_progress
claim    in_progress  in_progress
renew    in_progress  in_progress
done     in_progress  done
fail     in_progress  pending failed
release  in_progress  pending
ask      in_progress  in_progress
answer   in_progress  pending
evict    in_progress  in_progress
exhaust  in_progress  failed
retry    pending      pending
retry    in_progress  pending
retry    failed       pending
reopen   done         pending
reopen   failed       pending
reopen   cancelled    pending
cancel   planned      cancelled
cancel   pending      cancelled
cancel   in_progress  cancelled
cancel   in_review    cancelled
hold     planned      planned
hold     pending      pending
hold     in_progress  in_progress
hold     in_review    in_review
unhold   planned      planned
unhold   pending      pending
unhold   in_progress  in_progress
unhold   in_review    in_review
note     planned      planned
note     pending      pending
note     in_progress  in_progress
note     in_review    in_review
note     done         done
note     failed       failed
note     cancelled    cancelled
"""

WHO = """
planned    worker
planned    owner
planned    person  note hold unhold cancel open
pending    worker  claim
pending    owner
pending    person  note hold unhold cancel retry
orphan     worker  claim exhaust
orphan     owner
orphan     person  note hold unhold cancel retry
halted     worker  claim* exhaust*
halted     owner
halted     person  note hold unhold cancel retry answer
held       worker
held       owner   renew done fail release ask note
held       person  note hold unhold cancel evict
stale      worker  claim* exhaust*
stale      owner   renew done fail release ask note
stale      person  note hold unhold cancel evict retry
in_review  worker
in_review  owner
in_review  person  note hold unhold cancel
done       worker
done       owner
done       person  note reopen
failed     worker
failed     owner
failed     person  note reopen retry
cancelled  worker
cancelled  owner
cancelled  person  note reopen
"""

# what an event that doesn't apply is refused with
REFUSED = """
planned    not_open
pending    not_claimed
orphan     not_claimed
halted     needs_person
held       wrong_phase
stale      wrong_phase
in_review  wrong_phase
done       settled
failed     settled
cancelled  settled
"""

# reason -> who may go on (DESIGN section 10)
HALTS = """
auto    no_changes agent_failed agent_timeout agent_limited crashed interrupted environment store_unavailable
auto    target_moved
person  check_failed scope_violation changes_requested rejected review_required needs_input held paused
person  merge_conflict target_dirty dependency_failed dependency_unusable spec_changed budget_exhausted
person  lease_lost attempts_exhausted output_missing untrusted_config
run     limit_reached nothing_ready drained
"""


def phases_after() -> dict[tuple[str, str], set[str]]:
    """(phase, event) -> the phases that the task may be in afterwards."""
    rows = [line.split() for line in PHASES.strip().splitlines()]
    return {(before, event): set(after) for event, before, *after in rows}


def allowed(*, resumable: bool) -> dict[tuple[str, str], set[str]]:
    """(cell, actor) -> events, for a task whose halt a worker may resume or may not."""
    rows = [line.split() for line in WHO.strip().splitlines()]
    return {
        (cell, actor): {event.rstrip("*") for event in events if resumable or not event.endswith("*")}
        for cell, actor, *events in rows
    }


def refusals() -> dict[str, str]:
    """Cell -> the code that an event which doesn't apply is refused with."""
    rows = [line.split() for line in REFUSED.strip().splitlines()]
    return {row[0]: row[1] for row in rows}


def halts() -> dict[str, str]:
    """Halt reason -> who may go on."""
    rows = [line.split() for line in HALTS.strip().splitlines()]
    return {reason: who for who, *reasons in rows for reason in reasons}
