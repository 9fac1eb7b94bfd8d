"""`rk archive`."""

from __future__ import annotations

from repokernel.cli import context
from repokernel.cli.screen import line, table
from repokernel.cli.spec import Call, Command, Opt, Result
from repokernel.core.ids import task_id
from repokernel.ops.archive import archive

_OLDER_MS = 30 * 24 * 3600 * 1000


def _archive(call: Call) -> Result:
    older_ms = call.duration_ms("--older")
    dry_run = call.flag("--dry-run")
    tasks = [task_id(name) for name in call.args]
    put = archive(context.world(call), tasks, _OLDER_MS if older_ms is None else older_ms, dry_run=dry_run)
    outcome = "unchanged" if not put else "would_archive" if dry_run else "archived"
    rows = [{"id": one.id, "records": one.records, "bytes": one.bytes} for one in put]

    def text() -> str:
        if not put:
            return "there is nothing to archive"
        total = f"{sum(one.records for one in put):,} records, {sum(one.bytes for one in put):,} bytes"
        lines = table([(one.id, f"{one.records:,} records", f"{one.bytes:,} bytes") for one in put])
        return f"{lines}\n{'would put away' if dry_run else 'put away'} {line(total)}"

    return Result({"outcome": outcome, "archived": rows}, text)


commands = {
    "archive": Command(
        "archive",
        _archive,
        args="[ID...]",
        count=(0, 10_000),
        opts=(
            Opt("--older", "TIME", "without ID: what has been settled for longer than this, such as 12h or 7d (30d)"),
            Opt("--dry-run", "", "only say what would be put away"),
        ),
        about=(
            "Puts the old records of settled tasks away, into one file a task in the board's folder `archive`, and\n"
            "leaves a tombstone with its hash in the place of each. The newest record stays, so every answer is as\n"
            "before; the files in `archive` may be compressed or moved elsewhere."
        ),
        examples=["rk archive --dry-run", "rk archive --older 7d", "rk archive topic-7 topic-8"],
    ),
}
