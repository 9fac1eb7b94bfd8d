"""One worker process on the board: `python -m repokernel.demo.agent BOARD FAULTS`."""

from __future__ import annotations

import sys
from pathlib import Path

from repokernel.api.board import Board, Claim
from repokernel.core.errors import RkError
from repokernel.demo.faults import KILL, PAUSE, UPLOAD, Faults
from repokernel.demo.summarise import documents, page

LEASE = "2s"
TOPICS = 26
POISON = "poison"


def _handle(claim: Claim, faults: Faults, texts: dict[str, str]) -> Path | None:
    path = claim.output_path("summary.md")
    for kind in (KILL, PAUSE):
        if faults.strikes(claim.id, kind):
            path.write_text(f"# {claim.id}\n\nhalf a summ", encoding="utf-8")
            faults.stand(claim.id, kind)
    if claim.id == POISON:
        raise ValueError("the document can't be understood")
    try:
        where = Path("/dev/full") if faults.strikes(claim.id, UPLOAD) else path
        where.write_text(page(claim.id, texts[claim.id]), encoding="utf-8")
    except OSError as cause:
        claim.fail("upload_failed", f"{cause.strerror} while writing the summary")
        return None
    try:
        claim.complete(path)  # even if `claim.lost` is set: the demo wants to see the refusal
    except RkError as cause:
        if cause.code == "lease_lost":
            faults.note("refused", claim.id)
        raise
    return None


def main(url: str, folder: str) -> None:
    """Work until the board is drained."""
    faults, texts = Faults(folder), documents(TOPICS)
    Board.open(url, role="summariser").work(lambda claim: _handle(claim, faults, texts), lease=LEASE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
