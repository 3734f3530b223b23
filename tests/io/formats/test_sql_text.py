"""Where the statements of a query end."""

from __future__ import annotations

import pytest

from penstock.io.formats.sql_text import statements


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "SELECT ';'",
        "SELECT 'it''s; so'",
        'SELECT "a;b" FROM t',
        'SELECT "a""b;" FROM t',
        "SELECT `a;b` FROM t",
        "SELECT [a;b] FROM t",
        "SELECT a[1] FROM t",
        "SELECT j['a]; b'] FROM t",
        "SELECT 1 -- one; two",
        "SELECT /* one; two */ 1",
        r"SELECT E'it\'s; so'",
        r"SELECT e'\\', 1",
        "SELECT $$a;b$$",
        "SELECT $tag$a;$$;b$tag$",
        "SELECT '\n;\n'",
        "SELECT $1 + $2",
    ],
)
def test_given_one_statement_then_no_semicolon_inside_ends_it(text: str) -> None:
    whole = text.removesuffix(" -- one; two")
    assert statements(text) == [whole]
    assert statements(f" \n;{text}\n; ;-- end; of it\n") == [whole]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        (" ;\n; -- SELECT 1;", []),
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';';;SELECT 2 ;", ["SELECT ';'", "SELECT 2"]),
        ("SELECT 1 -- one\n; DROP TABLE t", ["SELECT 1", "DROP TABLE t"]),
        (r"SELECT '\'; SELECT '2'", [r"SELECT '\'", "SELECT '2'"]),
        ("SELECT 'never closed; SELECT 2", ["SELECT 'never closed; SELECT 2"]),
        ("SELECT type'a'; x", ["SELECT type'a'", "x"]),
        ("SELECT a$b$; SELECT c$b$", ["SELECT a$b$", "SELECT c$b$"]),
    ],
)
def test_given_several_statements_then_each_comes_without_what_ends_it(
    text: str, expected: list[str]
) -> None:
    assert statements(text) == expected
