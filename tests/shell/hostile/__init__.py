"""Hostile input for `rk`, as tables: what is asked, what may be answered, and why.

Written from the contract alone (DESIGN.md 2, 4, 5, 6, 11, 13; issue 2, Shows 4). Data only; a runner
gives each row a fresh folder and keeps to this order: `rk init` (unless `board` is false), `files` and
the `made` things of the working folder, `setup` (each command exits 0; without the row's `env`), `later`,
then `plant`, `grafts` and the `made` things of the board (what is in their way is removed), then `argv`
with `env` and `stdin`. Where `code` is set the runner appends `--json`.

Holds for every row, whatever its exit status:
- It ends (60 s), and nothing of `NEVER_RAW` is in stderr, nor in stdout where that isn't JSON.
  After a row of `SHOWN_SAFELY` that was accepted the same holds for `list`, `status`, `show t1` and `history`.
- The status is `exit`, or one of `among` where the contract leaves it open. 3 is in `among` only where
  the store or the environment is at fault: elsewhere 3 would be a defect.
- A status other than 0 says so in one sentence, names what and where, and leaves the board as it was,
  byte for byte, names and link targets included (`may_write` rows excepted). A command of `READS` leaves
  it so with status 0 too. For other commands only planted names count below `beats/` and `verified/`: a
  holder's own commands may renew, and what a verification found is remembered for `rk list`.
- What was planted is still there, unchanged.
- stdout contains each text of `shows`; each task of `status_after` that `rk show` finds has that status.
"""

from tests.shell.hostile.faults import FAULTS
from tests.shell.hostile.from_file import FROM_FILE
from tests.shell.hostile.ids import IDS_AND_TITLES
from tests.shell.hostile.more import MORE
from tests.shell.hostile.option_values import OPTION_VALUES
from tests.shell.hostile.planted import PLANTED
from tests.shell.hostile.shown_safely import SHOWN_SAFELY
from tests.shell.hostile.transitions import TRANSITIONS
from tests.shell.hostile.works import WORKS

__all__ = ["FAULTS", "PLANTED", "ROWS", "SHOWN_SAFELY"]

ROWS = (
    *IDS_AND_TITLES, *SHOWN_SAFELY, *OPTION_VALUES, *FROM_FILE, *TRANSITIONS, *WORKS, *MORE, *PLANTED,
)  # fmt: skip
