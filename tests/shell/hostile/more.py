"""What the runner's author found besides: operation names, outputs inside the board, the board's own two files."""

from tests.shell.hostile.model import DAMAGED, HELD, NO, OPEN, T1, UNUSABLE, Kind, Made, Place, Row, Want, row

_CONFIG, _META = "config.toml", "board.json"
_PLANTED: tuple[tuple[str, str, bytes, str, Want, str], ...] = (
    ("config-unknown", _CONFIG, b"x = 1\n", "list", NO, "an unknown key is refused by name"),
    ("config-escape", _CONFIG, b'x = "\x1b[2J"\n', "list", NO, "its text is quoted, never raw"),
    ("config-not-utf8", _CONFIG, b"\xff", "claim t1", NO, "no TOML"),
    ("config-lease-0", _CONFIG, b'[lease]\ndefault = "0s"\n', "claim t1", NO, "a lease of no length holds nothing"),
    ("config-long", _CONFIG, b"#" * 70_000 + b"\nx = 1\n", "list", NO, "read whole, or refused; never cut off"),
    ("config-doctor", _CONFIG, b"x = 1\n", "doctor", 1, "a finding"),
    ("meta-empty", _META, b"", "list", DAMAGED, "no description of a board"),
    ("meta-newer", _META, b'{"board": 2}', "add x", DAMAGED, "a newer board is refused"),
    ("meta-true", _META, b'{"board": true}', "add x", DAMAGED, "true == 1 in Python"),
    ("meta-doctor", _META, b"[]", "doctor", 1, "a finding"),
)
_ODD: tuple[tuple[str, str, Kind, str, str, Want, str], ...] = (
    ("config-fifo", _CONFIG, Kind.FIFO, "", "list", UNUSABLE, "opening it would wait for ever; it isn't an empty one"),
    ("config-folder", _CONFIG, Kind.FOLDER, "", "list", UNUSABLE, "can't be read"),
    ("config-fifo-doctor", _CONFIG, Kind.FIFO, "", "doctor", 1, "a finding"),
    ("meta-fifo", _META, Kind.FIFO, "", "list", DAMAGED, "opening it would wait for ever"),
    ("meta-zero", _META, Kind.SYMLINK, "/dev/zero", "list", DAMAGED, "reading it would never end"),
    ("claims-link", "claims", Kind.SYMLINK, "/tmp", "add x", DAMAGED, "writes never follow a link out of the board"),
    ("claims-link-list", "claims", Kind.SYMLINK, "/tmp", "list", DAMAGED, "nor do reads"),
    ("claims-link-doctor", "claims", Kind.SYMLINK, "/tmp", "doctor", 1, "doctor works on a broken board: a finding"),
    ("beats-link-doctor", "beats", Kind.SYMLINK, "/tmp", "doctor", 1, "doctor works on a broken board: a finding"),
    ("verified-file-doctor", "verified", Kind.FIFO, "", "doctor", 1, "doctor works on a broken board: a finding"),
)

MORE: tuple[Row, ...] = (
    row("op-id-not-utf8", ("add", "x", "--op-id", "\udcff"), NO, "can't be stored as JSON; no encoding defect"),
    row("op-id-not-utf8-claim", ("claim", "t1", "--op-id", "\udcff"), NO, "can't be stored as JSON", setup=T1),
    row("op-id-escape", ("add", "x", "--op-id", "\x1b[2J"), OPEN, "refused, or never raw"),
    row("done-around-board", "done t1 --output .", NO, "the board is no output of its own: it changes", setup=HELD),
    row("done-board", "done t1 --output .repokernel", NO, "its log and beats change with every write", setup=HELD),
    row("done-own-record", "done t1 --output .repokernel/claims/t1.00000001.json", NO, "no work", setup=HELD),
    *(row(f"own-{n}", command, want, why, setup=T1, plant={name: content})
      for n, name, content, command, want, why in _PLANTED),
    *(row(f"own-{n}", command, want, why, setup=T1,
          made=(Made(place=Place.BOARD, kind=kind, name=name, target=target),))
      for n, name, kind, target, command, want, why in _ODD),
)  # fmt: skip
