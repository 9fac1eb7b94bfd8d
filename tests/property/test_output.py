"""Laws of outputs."""

from hypothesis import given, strategies as st

from repokernel.core.entry import OutputFile, field_problems
from repokernel.core.output import digest_problem, folder_output, size_problem
from tests.property.strategies import sha256s, task_ids
from tests.unit.builders import NOW, entry


def _file(path: str, size: int, sha256: str) -> OutputFile:
    return {"path": path, "bytes": size, "sha256": sha256}


files = st.lists(st.builds(_file, task_ids, st.integers(0, 3), sha256s), unique_by=lambda one: one["path"], max_size=4)


@given(files, st.randoms(use_true_random=False))
def test_a_folder_is_described_the_same_whatever_the_order_of_its_files(
    there: list[OutputFile], random: object
) -> None:
    described = folder_output("file:out", there, NOW)
    shuffled = list(there)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert folder_output("file:out", shuffled, NOW) == described
    assert described["bytes"] == sum(one["bytes"] for one in there)
    assert field_problems({**entry(), "output": described}) == {}


@given(files, files)
def test_folders_have_the_same_digest_exactly_where_they_hold_the_same_files(
    one: list[OutputFile], other: list[OutputFile]
) -> None:
    same = sorted(one, key=lambda f: f["path"]) == sorted(other, key=lambda f: f["path"])
    digests = {folder_output("file:out", there, NOW)["sha256"] for there in (one, other)}
    assert (len(digests) == 1) is same


@given(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["aa" * 32, "ab" * 32]), st.sampled_from(["aa" * 32]))
def test_only_what_differs_is_a_problem(size: int, size_seen: int, sha256: str, sha256_seen: str) -> None:
    assert (size_problem("x", size, size_seen) is None) is (size == size_seen)
    assert (digest_problem("x", sha256, sha256_seen) is None) is (sha256 == sha256_seen)
