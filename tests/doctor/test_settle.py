"""What is one and the same leak is told once."""

from __future__ import annotations

import pytest

from penstock.doctor.diagnose import _histories, _names, settle, weigh
from penstock.doctor.findings import Axis, Curve, Finding
from penstock.doctor.paths import BYTES, MEMBERS, NODES
from penstock.doctor.places import Place
from penstock.doctor.remedies import remedies
from penstock.doctor.verdict import Growth

AXIS = Axis("steps", "a step", (0.0, 1.0))


def finding(
    kind: str, tier: int, slope: float, line: int | None = None, unit: str = "", **more: object
) -> Finding:
    place = None if line is None else Place("train.py", line)
    growth = Growth(slope, slope, slope, 100 * slope)
    return Finding(remedies()[kind], kind, unit, AXIS, growth, tier, place, **more)  # type: ignore[arg-type]


def kinds(findings: list[Finding]) -> list[tuple[str, int | None]]:
    return [(one.kind, one.place.line if one.place else None) for one in findings]


def test_given_arrays_and_the_container_that_keeps_them_then_it_is_one_and_the_line_is_the_containers() -> (
    None
):
    made = finding("jax-arrays", 2, 1.0, line=17)
    kept = finding("jax-arrays", 3, 1.0, line=18, exact=True, bytes_each=1e6)
    assert kinds(settle([made, kept])) == [("jax-arrays", 18)]


def test_given_a_container_of_each_of_several_then_they_keep_what_is_counted_together() -> None:
    def told(count: int) -> list[tuple[str, int | None]]:
        more = {"exact": True, "bytes_each": 1e4, "things": 2}
        kept = [finding("jax-arrays", 3, 0.25, line=18, **more) for _ in range(count)]
        return kinds(settle([finding("jax-arrays", 2, 2.0, line=20), *kept]))

    assert told(4) == told(5) == [("jax-arrays", 18)]  # a fifth is one of them under another name
    assert told(1) == [("jax-arrays", 20), ("jax-arrays", 18)]


@pytest.mark.parametrize(("things", "told"), [(6, [18]), (1, [17, 18])])
def test_given_a_member_with_several_arrays_then_it_keeps_as_many_as_are_counted(
    things: int, told: list[int]
) -> None:
    made = finding("jax-arrays", 2, 6.0, line=17)
    kept = finding("jax-arrays", 3, 1.0, line=18, exact=True, bytes_each=1e6, things=things)
    assert kinds(settle([made, kept])) == [("jax-arrays", line) for line in told]


@pytest.mark.parametrize(("streams", "first"), [(2, 14), (1, 35)])
def test_given_members_of_which_each_has_a_text_that_grows_then_the_container_comes_first(
    streams: int, first: int
) -> None:
    way = ("train.py", "main", "log", ".handlers")
    texts = [
        finding("growing-buffer", 3, 1e5, 35, unit=BYTES, way=(*way, f"[{i}]", ".stream"), bytes_each=1e5)
        for i in range(streams)
    ]
    handlers = finding("growing-container", 3, 40.0, 14, unit=MEMBERS, way=way, bytes_each=3e4)
    assert [one.place.line for one in settle([*texts, handlers]) if one.place] == [first, 49 - first]


def test_given_models_and_the_functions_that_each_has_then_the_models_are_told() -> None:
    functions = finding("tf-retracing", 2, 8.0)
    models = finding("keras-models", 2, 2.0, line=5)
    assert kinds(settle([functions, models])) == [("keras-models", 5)]


def test_given_memory_that_fills_a_container_with_a_bound_then_nothing_is_told() -> None:
    full = finding("growing-container", 3, 1.0, line=4, bytes_each=400.0)
    memory = finding("native-memory", 5, 390.0, line=9, bytes_each=390.0)
    objects = finding("python-objects", 4, 3.0, line=9)
    assert settle([memory, objects], [full]) == []


def test_given_memory_that_grows_faster_than_the_container_with_a_bound_then_it_is_told() -> None:
    full = finding("growing-container", 3, 1.0, line=4, bytes_each=400.0)
    memory = finding("native-memory", 5, 40_000.0, line=9, bytes_each=40_000.0)
    assert kinds(settle([memory], [full])) == [("native-memory", 9)]


@pytest.mark.parametrize(("bytes_each", "told"), [(300.0, []), (30.0, [9])])
def test_given_memory_that_bookkeeping_takes_then_it_is_not_told(bytes_each: float, told: list[int]) -> None:
    rows = finding("growing-container", 3, 1.0, line=4, bytes_each=bytes_each)
    memory = finding("native-memory", 5, 390.0, line=9, bytes_each=390.0)
    assert kinds(settle([memory], small=[rows])) == [("native-memory", line) for line in told]
    objects = finding("python-objects", 4, 1.0, line=9)
    assert kinds(settle([objects], small=[rows])) == [("python-objects", 9)]


def test_given_two_leaks_then_both_are_told() -> None:
    files = finding("file-descriptors", 1, 1.0, line=3)
    cache = finding("growing-container", 3, 7.0, line=8, exact=True, bytes_each=1e5)
    assert kinds(settle([files, cache])) == [("file-descriptors", 3), ("growing-container", 8)]


def test_given_a_list_inside_of_a_librarys_object_then_its_line_is_not_the_one() -> None:
    grown = finding("tf-graph", 2, 1.0, line=24)
    inside = finding("tf-graph", 3, 1.0, line=11, inside=True)
    assert kinds(settle([grown, inside])) == [("tf-graph", 24)]


def test_given_threads_and_the_container_of_what_starts_them_on_one_line_then_the_container_is_told() -> None:
    started = finding("threads", 1, 4.0, line=15)
    kept = finding("tf-datasets", 3, 1.0, line=15)
    assert kinds(settle([started, kept])) == [("tf-datasets", 15)]


def test_given_threads_and_a_plain_container_on_one_line_then_the_threads_are_told() -> None:
    started = finding("threads", 1, 1.0, line=15)
    kept = finding("growing-container", 3, 1.0, line=15)
    assert kinds(settle([started, kept])) == [("threads", 15)]


def test_given_what_a_library_notes_of_each_thing_that_is_kept_then_the_users_container_is_told() -> None:
    kept = finding("torch-tensors", 3, 1.0, line=8, exact=True, bytes_each=10.0)
    noted = finding("growing-container", 3, 2.0, line=9, exact=True, inside=True, bytes_each=1e6)
    assert kinds(settle([noted, kept])) == [("torch-tensors", 8)]
    unlike = finding("growing-container", 3, 7.3, line=9, exact=True, inside=True, bytes_each=1e6)
    assert len(settle([unlike, kept])) == 2


def test_given_memory_then_a_container_of_which_the_bytes_are_a_guess_explains_it() -> None:
    memory = finding("native-memory", 5, 40_000.0, line=9, bytes_each=40_000.0)
    guess = finding("keras-models", 3, 1.0, line=8, bytes_each=10.0)
    assert kinds(settle([memory, guess])) == [("keras-models", 8)]


def test_given_memory_then_a_container_of_which_the_bytes_are_known_explains_as_much_as_that() -> None:
    memory = finding("native-memory", 5, 40_000.0, line=9, bytes_each=40_000.0)
    much = finding("growing-container", 3, 1.0, line=8, exact=True, bytes_each=30_000.0)
    little = finding("growing-container", 3, 1.0, line=8, exact=True, bytes_each=300.0)
    assert kinds(settle([memory, much])) == [("growing-container", 8)]
    assert kinds(settle([memory, little])) == [("growing-container", 8), ("native-memory", 9)]


@pytest.mark.parametrize(("exact", "told"), [(False, 99_000.0), (True, 100.0)])
def test_given_memory_that_grows_by_more_than_a_guess_then_it_says_how_much_that_is(
    exact: bool, told: float
) -> None:
    box = finding("growing-container", 3, 1.0, 7, bytes_each=100.0, exact=exact)
    other = finding("growing-container", 3, 1.0, 9, bytes_each=1_000.0, exact=True)
    memory = finding("native-memory", 5, 100_000.0, key="memory.heap")
    weigh([box, other], [box, other, memory])
    assert box.bytes_each == told
    assert other.bytes_each == 1_000.0


def test_given_a_registry_of_a_framework_then_a_container_without_a_line_is_left_out() -> None:
    functions = finding("tf-retracing", 2, 8.0, line=4)
    nowhere = finding("growing-container", 3, 1.3, exact=True)
    assert kinds(settle([functions, nowhere])) == [("tf-retracing", 4)]


def test_given_containers_that_one_line_makes_longer_then_the_bytes_of_all_explain_the_memory() -> None:
    lists = [finding("growing-container", 3, 3.0, line=14, exact=True, bytes_each=1e3) for _ in range(10)]
    memory = finding("native-memory", 5, 1e4, line=25, bytes_each=1e4)
    assert kinds(settle([*lists, memory])) == [("growing-container", 14)]
    assert len(settle([lists[0], memory])) == 2  # of one alone it is too much


def test_given_objects_one_inside_of_the_other_then_the_outermost_is_told_and_no_plain_one() -> None:
    lists = finding("python-objects", 4, 3.0, line=16, key="type builtins.list")
    inner = finding("python-objects", 4, 1.0, line=14, key="type logging.Formatter", chain=("a", "b", "c"))
    outer = finding("python-objects", 4, 1.0, line=13, key="type logging.Handler", chain=("a", "b"))
    assert kinds(settle([lists, inner, outer])) == [("python-objects", 13)]


def history(line: int | None, tier: int = 3, **more: object) -> Finding:
    one = finding("torch-graph", tier, 4.0, line, **more)
    one.unit = NODES
    return one


def test_given_tensors_that_come_from_one_with_a_longer_and_longer_history_then_that_one_is_told() -> None:
    total = history(7, itself=True)
    average, deepest = history(8), history(12, tier=2)
    assert kinds(_histories([average, total, deepest])) == [("torch-graph", 7)]
    assert kinds(_histories([average, deepest])) == [("torch-graph", 8)]
    assert kinds(_histories([deepest])) == [("torch-graph", 12)]


def test_given_two_of_which_each_is_made_from_itself_then_both_are_told() -> None:
    both = [history(7, itself=True), history(8, itself=True)]
    assert _histories(both) == both


def test_given_threads_of_what_has_some_of_its_own_then_what_is_kept_is_told_however_many_each_has() -> None:
    started = finding("threads", 1, 5.0, line=14, key="process.threads")
    kept = finding("tf-datasets", 3, 1.0, line=13)
    assert kinds(settle([started, kept])) == [("tf-datasets", 13)]
    by_python = finding("threads", 1, 5.0, line=14, key="process.python_threads")
    assert len(settle([by_python, kept])) == 2


def test_given_functions_of_datasets_that_pile_up_then_the_datasets_are_told() -> None:
    functions = finding("tf-retracing", 2, 1.0, line=9)
    behind = finding("tf-datasets", 3, 2.0, line=8)
    assert kinds(settle([functions, behind])) == [("tf-datasets", 8)]


def test_given_containers_of_a_library_that_grow_alike_then_the_one_that_the_line_names_is_told() -> None:
    state = finding("torch-tensors", 3, 2.0, line=28, inside=True, bytes_each=9e3)
    heads = finding("torch-tensors", 3, 1.0, line=21, inside=True, bytes_each=3e3, named=True)
    assert kinds(settle([state, heads])) == [("torch-tensors", 21)]


def buffer(line: int, xs: tuple[float, ...], **more: object) -> Finding:
    one = finding("growing-buffer", 3, 2048.0, line, curve=Curve(xs, xs), **more)
    one.unit = BYTES
    return one


def test_given_a_buffer_under_two_names_then_the_one_that_lasts_is_told() -> None:
    attribute, local = buffer(15, (1.0, 4.0)), buffer(11, (2.0, 3.0), local=True)
    assert _names([local, attribute]) == [attribute]
    together = buffer(11, (1.0, 2.0), local=True)
    assert len(_names([together, attribute])) == 2


def test_given_data_that_become_longer_then_memory_that_grows_with_them_is_no_leak_and_objects_are() -> None:
    longer = finding("growing-buffer", 3, 64.0, line=4, bytes_each=64.0, anew=True)
    memory = finding("native-memory", 5, 6000.0, line=9, bytes_each=6000.0)
    objects = finding("python-objects", 4, 3.0, line=9)
    assert settle([memory], [longer]) == []
    assert kinds(settle([objects], [longer])) == [("python-objects", 9)]
    episode = finding("growing-container", 3, 1.0, line=4, bytes_each=64.0, anew=True)
    episode.unit = MEMBERS
    assert settle([objects], [episode]) == []


def test_given_objects_of_a_kind_of_their_own_then_they_are_told_and_not_what_they_have() -> None:
    frames = finding("python-objects", 4, 1.0, line=19, key="type builtins.frame", chain=("a", "b"))
    errors = finding("kept-exceptions", 4, 0.5, line=21, key="type builtins.OSError", chain=("a", "b", "c"))
    assert kinds(settle([frames, errors])) == [("kept-exceptions", 21)]
