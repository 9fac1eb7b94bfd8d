"""Which beats can be read; the others are findings."""

import pytest

from repokernel.core.lease import beat_bytes, beat_problem


@pytest.mark.parametrize("beat", [beat_bytes(1, 2_000, 1_000), b'{"beat": 2, "until": "later"}'])
def test_a_beat_of_this_or_another_format_is_no_problem(beat: bytes) -> None:
    assert beat_problem(beat) is None


@pytest.mark.parametrize(
    ("beat", "said"),
    [
        (b"", "can't be read"),
        (b"\xff", "can't be read"),
        (b"[]", "is no JSON object"),
        (b'{"token": 1}', "has no format"),
        (b'{"beat": 1, "lease_expires": "2026-01-01T00:00:00Z"}', "has no token"),
        (b'{"beat": 1, "token": 1}', "can't be read"),
        (b'{"beat": 1, "token": 1, "lease_expires": 7}', "can't be read"),
        (b'{"beat": 1, "token": 1, "lease_expires": "soon"}', "can't be read"),
    ],
)
def test_what_cannot_be_read_is_a_problem(beat: bytes, said: str) -> None:
    assert beat_problem(beat) == said
