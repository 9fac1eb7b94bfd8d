"""Every command by name: where it lives, its group, and one line about it; loaded only when it runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from repokernel.cli.spec import Command

EVERYDAY, BOARD, REGISTRY, DEV = "Everyday", "Board", "Registry", "Development"

# name -> (module of `repokernel.cli`, group, summary)
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "init": ("cmd_init", EVERYDAY, "make a board here"),
    "add": ("cmd_add", EVERYDAY, "put a task, or a file of tasks, on the board"),
    "list": ("cmd_list", EVERYDAY, "list tasks"),
    "status": ("cmd_list", EVERYDAY, "who does what, what waits for what"),
    "show": ("cmd_show", EVERYDAY, "one task, whole"),
    "why": ("cmd_list", EVERYDAY, "why a task isn't ready, step by step"),
    "claim": ("cmd_claim", EVERYDAY, "become the owner of a task, or of the next one"),
    "done": ("cmd_carry", EVERYDAY, "complete a task with its output"),
    "fail": ("cmd_carry", EVERYDAY, "end an attempt with an error"),
    "work": ("cmd_work", EVERYDAY, "run a command for every task until the board is drained"),
    "verify": ("cmd_verify", EVERYDAY, "check that what is done is really there"),
    "doctor": ("cmd_doctor", EVERYDAY, "find what is wrong with the board or this machine"),
    "renew": ("cmd_carry", BOARD, "extend the lease of a task you hold"),
    "release": ("cmd_carry", BOARD, "give a task back, unharmed"),
    "ask": ("cmd_carry", BOARD, "halt a task with a question to a person"),
    "answer": ("cmd_steer", BOARD, "answer a question; the task is pending again"),
    "note": ("cmd_steer", BOARD, "add a remark to a task"),
    "hold": ("cmd_steer", BOARD, "keep a task from being claimed"),
    "unhold": ("cmd_steer", BOARD, "take a hold back"),
    "open": ("cmd_steer", BOARD, "offer a planned task"),
    "retry": ("cmd_steer", BOARD, "clear back-off and halt; one more attempt for a failed task"),
    "reopen": ("cmd_steer", BOARD, "start a settled task anew"),
    "cancel": ("cmd_steer", BOARD, "end an open task; its holder loses it"),
    "evict": ("cmd_steer", BOARD, "free what an owner or a deployment holds"),
    "history": ("cmd_show", BOARD, "the log of a task, or of the whole board"),
    "archive": ("cmd_archive", BOARD, "put the old records of settled tasks away"),
    "trust": ("cmd_doctor", BOARD, "allow the commands that the board's configuration names"),
    "registry-merge-driver": ("cmd_registry", REGISTRY, "merge two versions of the registry; Git calls it"),
    "schema": ("cmd_show", DEV, "the task entry as a JSON Schema"),
    "completion": ("cmd_help", DEV, "print the completion script of a shell"),
    "bench": ("cmd_bench", DEV, "measure what the board's store can do"),
    "demo": ("cmd_demo", DEV, "show the board at work on a real job with real faults"),
}


def load(name: str) -> Command:
    """The command of that name, its module loaded."""
    module = __import__(f"repokernel.cli.{COMMANDS[name][0]}", fromlist=["commands"])
    found: Command = module.commands[name]
    return found
