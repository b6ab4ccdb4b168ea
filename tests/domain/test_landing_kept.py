"""What pages keep for the next time is bounded."""

from dunwell.landing.render.kept import Kept


def test_so_many_are_kept_and_the_oldest_goes_first() -> None:
    kept: Kept[int] = Kept(3)

    for number in range(100):
        kept.keep(number, number)

    assert list(kept) == [97, 98, 99]


def test_what_is_kept_is_made_once() -> None:
    kept: Kept[object] = Kept(3)

    first = kept.find("page", object)

    assert kept.find("page", object) is first
    assert kept.find("other", object) is not first
