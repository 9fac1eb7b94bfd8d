"""Texts with control characters: refused, or accepted and never raw on a terminal (`show`, `list`, `status`)."""

from tests.shell.hostile.model import HELD, OPEN, T1, Row, from_text, item, row

_ODD: tuple[tuple[str, str, str], ...] = (
    ("clear", "a\x1b[2Jb", "clears the screen"),
    ("colour", "\x1b[31mred", "leaves the terminal red"),
    ("osc-title", "\x1b]0;owned\x07", "renames the window"),
    ("osc-52", "\x1b]52;c;cm0gLXJm\x07", "writes the clipboard"),
    ("c1-csi", "a\u009b2Jb", "CSI as one 8-bit control"),
    ("backspace", "safe\b\b\b\bevil", "overprints what stands before it"),
    ("delete", "a\x7fb", "a control above ASCII's printables"),
    ("return", "a\rb", "overwrites its own line"),
    ("newline", "a\nt9  done  forged row", "forges a row of `list`"),
    ("bidi", "a\u202egnp.exe", "shows in another order than it is"),
    ("line-separator", "a\u2028b", "a line break to str.splitlines()"),
)
SHOWN_SAFELY: tuple[Row, ...] = (
    *(row(f"odd-title-{n}", ("add", v, "--id", "t1"), OPEN, why) for n, v, why in _ODD),
    *(row(f"odd-note-{n}", ("note", "t1", v), OPEN, why, setup=T1) for n, v, why in _ODD[:3]),
    *(row(f"odd-hold-{n}", ("hold", "t1", "--reason", v), OPEN, why, setup=T1) for n, v, why in _ODD[:3]),
    *(
        row(f"odd-detail-{n}", ("fail", "t1", "--code", "c", "--detail", v), OPEN, why, setup=HELD)
        for n, v, why in _ODD[:3]
    ),
    *(row(f"odd-question-{n}", ("ask", "t1", v), OPEN, why, setup=HELD) for n, v, why in _ODD[:2]),
    *(row(f"odd-role-{n}", ("claim", "t1", "--role", v), OPEN, why, setup=T1) for n, v, why in _ODD[:2]),
    *(row(f"odd-label-{n}", ("add", "x", "--label", v), OPEN, why) for n, v, why in _ODD[:2]),
    *(row(f"odd-epic-{n}", ("add", "x", "--epic", v), OPEN, why) for n, v, why in _ODD[:2]),
    *(row(f"odd-input-{n}", ("add", "x", "--input", f"{v}=1"), OPEN, why) for n, v, why in _ODD[:2]),
    *(row(f"odd-command-{n}", (v,), 2, f"an echoed unknown command {why}") for n, v, why in _ODD[:5]),
    *(row(f"odd-option-{n}", ("list", f"--{v}"), 2, f"an echoed option {why}") for n, v, why in _ODD[:5]),
    item("odd-title-nul", {"title": "a\0b"}, OPEN, "NUL ends a string elsewhere"),
    item("odd-title-surrogate", {"title": "a\ud800b"}, OPEN, "can't be encoded when shown"),
    item("odd-body-escapes", {"body": "\x1b[2J\x07"}, OPEN, "a body is prose, and shown by `show`"),
    item("odd-unknown-key", {"\x1b[2J": 1}, OPEN, "the name of an unknown field is data too"),
    from_text("odd-json-position", '[{"id": "t1", "title": "\x1b[2J"}]', OPEN, "a raw control in JSON, echoed?"),
    row("odd-instance", "claim t1", OPEN, "the owner is shown by `status`", setup=T1,
         env={"RK_INSTANCE": "a\x1b[2Jb"}),
    row("odd-output", ("done", "t1", "--output", "\x1b[2J.txt"), OPEN, "the URI is shown", setup=HELD,
         files={"\x1b[2J.txt": b"x"}),
)  # fmt: skip
