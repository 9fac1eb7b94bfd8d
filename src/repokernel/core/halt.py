"""Why a task or a run has stopped: a closed list, and what goes on from each.

`auto` reasons are claimable again by themselves; `person` reasons wait for the named command;
`run` reasons belong to a whole run, never to a task.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Who(StrEnum):
    """Who may go on from a halt."""

    AUTO = "auto"
    PERSON = "person"
    RUN = "run"


# reason -> (who may go on, the command to go on with, the evidence that the halt carries)
HALTS: Mapping[str, tuple[Who, str, str]] = {
    "no_changes": (Who.AUTO, "rk retry {id}", "the attempt's last lines"),
    "agent_failed": (Who.AUTO, "rk retry {id}", "exit status and log"),
    "agent_timeout": (Who.AUTO, "rk retry {id}", "the limit and the log"),
    "agent_limited": (Who.AUTO, "rk retry {id}", "the provider's answer"),
    "crashed": (Who.AUTO, "rk retry {id}", "the owner that is gone"),
    "interrupted": (Who.AUTO, "rk retry {id}", "who interrupted"),
    "environment": (Who.AUTO, "rk retry {id}", "what the machine lacked"),
    "store_unavailable": (Who.AUTO, "rk retry {id}", "the store's error"),
    "target_moved": (Who.AUTO, "rk retry {id}", "the two commits"),
    "check_failed": (Who.PERSON, "rk retry {id}", "the check's log"),
    "scope_violation": (Who.PERSON, "rk retry {id}", "the stray paths"),
    "changes_requested": (Who.PERSON, "rk retry {id}", "the findings"),
    "rejected": (Who.PERSON, "rk retry {id}", "the findings"),
    "review_required": (Who.PERSON, "rk show {id}", "what is to be reviewed"),
    "needs_input": (Who.PERSON, "rk answer {id} TEXT", "the question"),
    "held": (Who.PERSON, "rk unhold {id}", "the reason of the hold"),
    "paused": (Who.PERSON, "rk retry {id}", "who paused"),
    "merge_conflict": (Who.PERSON, "rk retry {id}", "the conflicting paths"),
    "target_dirty": (Who.PERSON, "rk retry {id}", "the uncommitted paths"),
    "dependency_failed": (Who.PERSON, "rk why {id}", "the failed tasks"),
    "dependency_unusable": (Who.PERSON, "rk verify", "the outputs that don't verify"),
    "spec_changed": (Who.PERSON, "rk retry {id}", "both versions of the spec"),
    "budget_exhausted": (Who.PERSON, "rk retry {id}", "budget and use"),
    "lease_lost": (Who.PERSON, "rk show {id}", "the token that replaced this one"),
    "attempts_exhausted": (Who.PERSON, "rk retry {id}", "the last error"),
    "output_missing": (Who.PERSON, "rk retry {id}", "the URI"),
    "untrusted_config": (Who.PERSON, "rk trust", "the command's text"),
    "limit_reached": (Who.RUN, "rk list --ready", "the limit"),
    "nothing_ready": (Who.RUN, "rk status", "what waits for what"),
    "drained": (Who.RUN, "rk status", "the board's counts"),
}


def auto_resumable(reason: str) -> bool:
    """Whether a worker may claim a task that halted for `reason` without a person's word."""
    known = HALTS.get(reason)
    return known is not None and known[0] is Who.AUTO
