"""What looks hostile and must work."""

from tests.shell.hostile.model import DONE, GOOD, HELD, OTHER, OUT, T1, WORK_FILES, Row, from_text, item, row

_UNICODE = "\u65e5\u672c\u8a9e \U0001f389 e\u0301"
_CWIDE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"}
WORKS: tuple[Row, ...] = (
    from_text("works-bom", b"\xef\xbb\xbf" + GOOD.encode(), 0, "editors write a BOM",
          status_after={"t1": "pending", "t2": "pending"}),
    from_text("works-crlf", GOOD.replace(" {", "\r\n{") + "\r\n", 0, "editors write CRLF",
          status_after={"t1": "pending", "t2": "pending"}),
    item("works-schema-1", {"schema": 1}, 0, "the schema of this version"),
    item("works-id-number", {"id": 7}, 0, "a number becomes its text"),
    from_text("works-depends-number", '[{"id": 7, "title": "a"}, {"id": "b", "title": "b", "depends_on": [7]}]', 0,
          "so does a dependency's"),
    from_text("works-order-free", '[{"id": "b", "title": "b", "depends_on": ["a"]}, {"id": "a", "title": "a"}]', 0,
          "a file is read whole before dependencies are looked up"),
    *(row(f"works-id-{i[:12]}", ("add", "x", "--id", i), 0, "allowed by the rule for ids", setup=T1)
      for i in ("b" * 64, "com10", "console", "null", "0", "a.locks", "lock", "HEAD", "t1.00000002", "t1.json")),
    row("works-record-like-id", "claim t1", 0, "an id that looks like a record's name is another task",
         setup="add one --id t1; add two --id t1.00000002; add three --id t1.00000002.json"),
    row("works-unicode", ("add", _UNICODE, "--id", "t1"), 0, "titles are in people's languages"),
    row("works-ascii-terminal", "list", 0, "a C locale mustn't end in an encoding error", env=_CWIDE,
         setup=f"add '{_UNICODE}' --id t1", shows=("t1",)),
    *(row(f"works-env-{n}", "list", 0, "no environment breaks a read", env=env, setup=T1, shows=("t1",))
      for n, env in (("tz", {"TZ": "No/Where"}), ("columns-word", {"COLUMNS": "abc"}), ("columns-0", {"COLUMNS": "0"}),
                     ("home", {"HOME": "/nonexistent"}), ("term", {"TERM": ""}))),
    row("works-stdin", "add x", 0, "what nobody asked for isn't read", stdin="\x00junk\n"),
    row("works-claim-own", "claim t1", 0, "claiming what you hold returns it", setup=HELD),
    row("works-token", "done t1 --output out.txt --token 1", 0, "the current token is enough", setup=HELD,
         files=OUT, env=OTHER, status_after={"t1": "done"}),
    row("works-held-in-work", "done t1 --output out.txt --token 1", 0, "a person's hold costs the worker nothing",
         setup=f"{HELD}; hold t1 --reason r", files=OUT, status_after={"t1": "done"}),
    row("works-note-in-work", "done t1 --output out.txt --token 1", 0, "nor does a remark",
         setup=f"{HELD}; note t1 hello", files=OUT, status_after={"t1": "done"}),
    row("works-release-again", "release t1 --token 1", 0, "its answer was lost: safe to repeat, and token 2 stands",
        setup="add one --id t1; claim t1; release t1; claim t1", status_after={"t1": "in_progress"}),
    row("works-expects-none", "done t1", 0, "nothing need stand behind it", status_after={"t1": "done"},
         setup="add one --id t1 --expects none; claim t1"),
    row("works-empty-output", "done t1 --output empty.txt", 0, "an empty file is an output (not a non_empty one)",
         setup=HELD, files=WORK_FILES, status_after={"t1": "done"}),
    row("works-folder-output", "done t1 --output folder", 0, "a folder is a manifest", setup=HELD,
         files={"folder/a.txt": b"a", "folder/b/c.txt": b"c"}, status_after={"t1": "done"}),
    row("works-verify-size", "verify t1", 0, "depth `size` never reads: other bytes of one size pass",
         setup=DONE, files=OUT, later={"out.txt": b"fake\n"}),
)  # fmt: skip
