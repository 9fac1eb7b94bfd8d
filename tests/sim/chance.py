"""Chance that can be told again: every draw of a schedule, recorded, replayed and made smaller.

A draw is a whole number below a bound, and 0 always means the dullest thing that can happen: go on, no
fault, the first of a list. So a shorter list of draws, or one with smaller numbers, is a simpler schedule.
"""

from collections.abc import Callable, Sequence
from random import Random


class Chance:
    """Draws from a seed, or from a list (0 once that is used up); what was drawn is kept.

    Attributes:
        drawn: every draw so far.
    """

    def __init__(self, seed: int | None = None, replay: Sequence[int] = ()) -> None:
        self._random = None if seed is None else Random(seed).random
        self._replay = replay
        self.drawn: list[int] = []

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1."""
        if self._random is not None:
            value = int(self._random() * bound)
        else:
            place = len(self.drawn)
            value = self._replay[place] if place < len(self._replay) else 0
            if value >= bound:
                value = bound - 1
        self.drawn.append(value)
        return value

    def once_in(self, count: int) -> bool:
        """True once in so many draws on average, never for a draw of 0."""
        return self.below(count) == count - 1


def shrink(draws: Sequence[int], fails: Callable[[Sequence[int]], bool], tries_max: int = 2000) -> list[int]:
    """A simpler list of draws that still fails: pieces left out, numbers made 0 or halved.

    Args:
        draws: a list that fails.
        fails: whether a list does.
        tries_max: how many lists to try at most.
    """
    best, tries = list(draws), 0

    def better(candidate: list[int]) -> bool:
        nonlocal best, tries
        tries += 1
        if candidate == best or not fails(candidate):
            return False
        best = candidate
        return True

    size = max(len(best) // 2, 1)
    while tries < tries_max:
        changed, place = False, 0
        while place < len(best) and tries < tries_max:
            end = place + size
            if better(best[:place] + best[end:]) or (
                any(best[place:end]) and better([*best[:place], *([0] * len(best[place:end])), *best[end:]])
            ):
                changed = True
                continue
            if size == 1 and best[place] > 1 and better([*best[:place], best[place] // 2, *best[end:]]):
                changed = True
            place = end
        if size == 1 and not changed:
            break
        size = max(size // 2, 1)
    return best
