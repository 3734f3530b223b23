"""`Dataset.from_generator`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import FAILED, events


def count_up(stop: int = 20) -> Iterator[int]:
    yield from range(stop)


def records(count: int) -> Iterator[dict[str, Any]]:
    for i in range(count):
        yield {"image": np.full((i % 3, 2), i, np.uint8), "name": b"n" * i}


def large() -> Iterator[Any]:
    for i in range(8):
        yield np.full(100_000, i)


class TestFromGenerator(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        signature = {"image": ps.TensorSpec((None, 2), "uint8"), "name": ps.TensorSpec((), bytes)}
        return {
            "numbers": lambda: ps.Dataset.from_generator(count_up),
            "args": lambda: ps.Dataset.from_generator(records, args=(7,)),
            "signature": lambda: ps.Dataset.from_generator(records, args=(7,), output_signature=signature),
            "large": lambda: ps.Dataset.from_generator(large).map(np.sum),
            "empty": lambda: ps.Dataset.from_generator(count_up, args=(0,)),
        }

    def test_given_a_generator_then_each_iteration_calls_it_anew(self) -> None:
        ds = ps.Dataset.from_generator(count_up, args=(3,))
        assert [events(ds), events(ds)] == [[0, 1, 2]] * 2
        assert events(ps.Dataset.from_generator(lambda: [4, 5])) == [4, 5]

    def test_given_a_signature_then_elements_have_its_dtypes(self) -> None:
        def mixed() -> Iterator[Any]:
            yield 1, "a"
            yield np.float64(2), b"b"

        signature = (ps.TensorSpec((), "float32"), ps.TensorSpec((), bytes))
        got = list(ps.Dataset.from_generator(mixed, output_signature=signature))
        assert same(got, [(np.float32(1), b"a"), (np.float32(2), b"b")])
        text = ps.Dataset.from_generator(lambda: [[b"a", "b"]], output_signature=ps.TensorSpec((2,), str))
        assert events(text) == [["a", "b"]]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    @pytest.mark.parametrize(
        "spec, elements, came",
        [
            (ps.TensorSpec((1,), "int64"), [[1], [1, 2], [3]], r"int64 of shape \(1,\).*\(2,\)"),
            (ps.TensorSpec((), "uint8"), [1, 300, 3], r"uint8 of shape \(\).*300"),
            (ps.TensorSpec((), "int64"), [1, "x", 3], r"int64 of shape \(\).*str of shape \(\)"),
            (ps.TensorSpec((), bytes), [b"x", 5, "y"], r"bytes of shape \(\).*no string"),
            ((ps.TensorSpec((), int),), [(1,), (1, 2), (3,)], r"\(leaf,\), got \(leaf, leaf\)"),
        ],
    )
    def test_given_an_element_that_disagrees_then_only_it_fails_and_says_so(
        self, spec: Any, elements: list[Any], came: str, rows: int
    ) -> None:
        ds = ps.Dataset.from_generator(lambda: iter(elements), output_signature=spec)
        it = iter(ds.with_options(ps.Options(block_rows=rows)))
        next(it)
        with pytest.raises(ps.errors.DataError, match=rf"element 1 .*expected.*{came}"):
            next(it)
        next(it)
        with pytest.raises(StopIteration):
            next(it)

    def test_given_no_signature_then_another_structure_fails_alone(self) -> None:
        ds = ps.Dataset.from_generator(lambda: iter([(1, 2), 3, (4, 5)]))
        assert events(ds) == [(1, 2), FAILED, (4, 5)]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_a_generator_that_raises_then_it_has_ended_after_the_error(self, rows: int) -> None:
        def broken() -> Iterator[int]:
            yield 1
            yield 2
            raise KeyError("no more")

        ds = ps.Dataset.from_generator(broken)
        assert events(ds, block_rows=rows) == [1, 2, FAILED]
        with pytest.raises(
            ps.errors.FunctionError,
            match=r"from_generator at .*element 2: KeyError.*test_from_generator\.py:\d+ in broken",
        ):
            list(ds)

    def test_given_a_function_that_raises_or_gives_nothing_to_iterate_then_it_has_ended(
        self,
    ) -> None:
        def broken() -> Iterator[int]:
            raise ValueError("at once")

        assert events(ps.Dataset.from_generator(broken)) == [FAILED]
        assert events(ps.Dataset.from_generator(lambda: 3)) == [FAILED]  # type: ignore[arg-type]

    def test_given_an_iterator_that_could_go_on_after_an_error_then_it_has_ended_too(self) -> None:
        class Stubborn:
            def __iter__(self) -> Iterator[int]:
                return self  # type: ignore[return-value]

            def __next__(self) -> int:
                raise ValueError("again")

        assert events(ps.Dataset.from_generator(Stubborn)) == [FAILED]

    def test_when_the_run_is_closed_then_the_generator_is_too(self) -> None:
        generator = (i for i in range(1000))
        with ps.Dataset.from_generator(lambda: generator).iterate() as it:
            next(it)
            assert generator.gi_frame is not None
        assert generator.gi_frame is None

    def test_when_the_run_has_ended_then_what_the_generator_held_is_freed(self) -> None:
        class Held:
            pass

        refs = []

        def holding() -> Iterator[int]:
            held = Held()
            refs.append(weakref.ref(held))
            yield 1
            yield 2

        with ps.Dataset.from_generator(holding).iterate() as it:
            next(it)
        assert len(list(ps.Dataset.from_generator(holding))) == 2
        gc.collect()
        assert [ref() for ref in refs] == [None, None]

    def test_given_large_elements_then_a_block_stops_at_its_bytes(self) -> None:
        made = []

        def images() -> Iterator[Any]:
            for i in range(64):
                made.append(i)
                yield np.zeros(1 << 19, np.uint8)

        with ps.Dataset.from_generator(images).batch(64).iterate(memory="256MiB") as it:
            next(it)
            # So many rows of 512 KiB make a block, however many the batch asks for.
            rows = it._run.plan.block_bytes >> 19
            assert 1 < rows < 64
            assert it._run.meters["from_generator"].blocks == 64 // rows

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"generator=\) at .*test_from_generator\.py:\d+"):
            ps.Dataset.from_generator([1, 2])  # type: ignore[arg-type]
        with pytest.raises(
            TypeError, match=r"test_from_generator\.py:\d+: .*function count_up, not count_up\(\)"
        ):
            ps.Dataset.from_generator(count_up())  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"function gen, not gen\(\)"):
            ps.Dataset.from_generator(i for i in range(3))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"expected args to be a tuple.*got 3"):
            ps.Dataset.from_generator(count_up, args=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"output_signature=\) at .*ps\.TensorSpec, got 'int'"):
            ps.Dataset.from_generator(count_up, output_signature="int")

    def test_given_any_generator_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.from_generator(count_up).cardinality() == ps.UNKNOWN

    @pytest.mark.parametrize(
        "spec, leaf, agrees",
        [
            (ps.TensorSpec((None, 2), "uint8"), np.zeros((3, 2), np.uint8), True),
            (ps.TensorSpec((None, 2), "uint8"), np.zeros((3, 3), np.uint8), False),
            (ps.TensorSpec((None,), "uint8"), np.zeros((3, 3), np.uint8), False),
            (ps.TensorSpec((), "uint8"), np.uint8(1), True),
            (ps.TensorSpec((), "uint8"), np.asarray(1, np.uint8), True),
            (ps.TensorSpec((1,), "uint8"), np.uint8(1), False),
            (ps.TensorSpec(None, "uint8"), np.zeros(2, np.uint8), True),
            (ps.TensorSpec((), bytes), b"x", True),
            (ps.TensorSpec((1,), bytes), b"x", False),
            (ps.TensorSpec((2,), "int64"), np.ma.masked_array([1, 2], mask=[0, 1]), False),
        ],
    )
    def test_given_a_signature_then_a_leaf_agrees_or_fails(self, spec: Any, leaf: Any, agrees: bool) -> None:
        got = events(ps.Dataset.from_generator(lambda: iter([leaf]), output_signature=spec))
        assert (got != [FAILED]) == agrees
