"""Plants the bug that PLANTED_BUG names in every interpreter that is started with this folder on its path."""

import os

if name := os.environ.get("PLANTED_BUG"):
    from tests.planted.table import BUGS, Setter

    BUGS[name].plant(Setter())
