"""Chance that can be told again, and made smaller."""

from tests.sim.chance import Chance, shrink


def test_a_list_of_draws_says_again_what_its_seed_said() -> None:
    first = Chance(seed=7)
    said = [first.below(bound) for bound in (2, 10, 64, 3)]
    again = Chance(replay=first.drawn)
    assert [again.below(bound) for bound in (2, 10, 64, 3)] == said


def test_a_list_that_is_used_up_says_the_dullest() -> None:
    chance = Chance(replay=[5])
    assert [chance.below(10), chance.below(10), chance.once_in(1)] == [5, 0, True]


def test_a_draw_beyond_its_bound_is_the_last_one() -> None:
    assert Chance(replay=[99]).below(4) == 3


def test_shrinking_keeps_what_makes_it_fail_and_nothing_else() -> None:
    draws = [9, 3, 0, 7, 4, 8, 1, 6, 40, 2]
    assert shrink(draws, lambda tried: 7 in tried and 40 in tried) == [7, 40]


def test_shrinking_makes_numbers_smaller() -> None:
    assert shrink([3, 61], lambda tried: any(draw >= 10 for draw in tried)) == [15]
