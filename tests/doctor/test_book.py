"""What was counted, moment by moment: of thousands of types, those that have grown."""

from __future__ import annotations

from penstock.doctor.book import MOST, Book


def book_of(*moments: dict[str, int] | None) -> Book:
    """A book with the counts of so many moments; None where nobody looked."""
    book = Book()
    for number, counts in enumerate(moments):
        book.open(float(number), "loop", {})
        if counts is not None:
            book.follow_types(counts)
        book.close()
    return book


def points(book: Book, name: str) -> list[tuple[int, float]]:
    series = book.series[f"type {name}"]
    return list(zip(series.moments, series.values, strict=True))


def test_given_a_type_that_grows_late_then_it_is_known_since_when_it_was_as_it_was() -> None:
    book = book_of({"a": 5}, {"a": 5}, {"a": 5}, {"a": 7}, {"a": 7})
    assert points(book, "a") == [(0, 5.0), (2, 5.0), (3, 7.0), (4, 7.0)]


def test_given_types_that_stay_or_fall_then_no_series_is_kept() -> None:
    book = book_of({"a": 5, "b": 9}, {"a": 5, "b": 8}, {"a": 5, "b": 3})
    assert book.series == {}


def test_given_a_type_that_fell_before_it_grew_then_it_begins_where_it_had_fallen_to() -> None:
    book = book_of({"a": 9}, {"a": 3}, {"a": 3}, {"a": 4})
    assert points(book, "a") == [(1, 3.0), (2, 3.0), (3, 4.0)]


def test_given_a_type_that_comes_later_then_it_begins_there() -> None:
    book = book_of({}, {}, {"a": 2}, {"a": 3})
    assert points(book, "a") == [(2, 2.0), (3, 3.0)]


def test_given_moments_at_which_nobody_looked_then_they_are_left_out() -> None:
    book = book_of({"a": 1}, None, {"a": 1}, None, {"a": 2}, None, {"a": 2})
    assert points(book, "a") == [(0, 1.0), (2, 1.0), (4, 2.0), (6, 2.0)]


def test_given_a_type_that_has_grown_and_falls_then_that_is_seen() -> None:
    book = book_of({"a": 1}, {"a": 5}, {"a": 2}, {})
    assert points(book, "a") == [(0, 1.0), (1, 5.0), (2, 2.0)]


def test_when_every_second_moment_is_forgotten_then_the_rest_keep_their_order() -> None:
    book = book_of(*({"a": 1} for _ in range(MOST)))
    assert book.thin()
    book.open(1e6, "loop", {})
    book.follow_types({"a": 2})
    assert points(book, "a") == [(0, 1.0), ((MOST - 1) // 2, 1.0), (MOST // 2, 2.0)]
