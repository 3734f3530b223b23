"""The code in README and docs runs, and the links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import charts

import penstock as ps

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def python_blocks(text: str) -> list[tuple[int, str]]:
    """The Python blocks of a document, each with the line it starts at."""
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(text[: match.start(1)].count("\n"), match[1]) for match in found]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_given_a_document_then_its_blocks_run_one_after_another(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for line, block in python_blocks(path.read_text()):
        if block.lstrip().startswith(">>> "):
            example = doctest.DocTestParser().get_doctest(block, scope, path.name, str(path), line)
            runner.run(example, clear_globs=False)
            scope.update(example.globs)
            assert runner.summarize(verbose=False).failed == 0
        else:
            exec(compile("\n" * line + block, str(path), "exec"), scope)


def test_given_the_tree_of_errors_then_the_guide_draws_the_same() -> None:
    drawn = (ps.errors.__doc__ or "").split("```")[1].strip()
    assert drawn in (ROOT / "docs" / "errors.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_given_a_link_to_a_file_then_the_file_is_there(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []


def test_given_the_results_then_the_pictures_show_them() -> None:
    drawn = charts.pictures((ROOT / "benchmarks" / "RESULTS.md").read_text())
    assert sorted(drawn) == sorted(path.name for path in (ROOT / "docs" / "pictures").iterdir())
    for name, picture in drawn.items():
        assert (ROOT / "docs" / "pictures" / name).read_text() == picture, "python -m benchmarks.charts"


def test_given_a_table_then_its_numbers_are_in_the_picture() -> None:
    text = """
## Memory

| pipeline   | budget | tf.data peak | penstock peak | verdict              |
| ---------- | ------ | ------------ | ------------- | -------------------- |
| `a` < b    | 16     | 1,234        | 17            | within               |
| not tf.data| 16     | -            | 5             | within               |
| too large  | 16     | 90           | 5             | within (BudgetError) |
"""
    chart = charts.memory(text)
    assert [(bar.first, bar.second, bar.mark) for bar in chart.bars] == [
        (17, 1234, 16),
        (5, None, 16),
        (None, 90, 16),
    ]
    picture = ElementTree.fromstring(charts.draw(chart))
    words = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "1,234", "17", "5", "not tf.data", "too large: refused by Penstock"} <= set(words)


def anchors(text: str) -> set[str]:
    """What the headings of a document are called in links."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_given_a_link_to_a_heading_then_the_heading_is_there(path: Path) -> None:
    for file, heading in re.findall(r"\]\(([^)#\s:]*)#([^)\s]*)\)", path.read_text()):
        target = path.parent / file if file else path
        assert heading in anchors(target.read_text()), f"{file}#{heading}"
