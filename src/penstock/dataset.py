"""`Dataset`: the fluent face over ops, one forwarding method an op.

Ops that read or write stores are imported by their methods: importing Penstock stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from penstock.blocks.spec import Spec
from penstock.engine.iterator import Iterator
from penstock.engine.resume import resumed
from penstock.engine.run import Run
from penstock.errors import ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import AUTOTUNE, UNKNOWN, Op
from penstock.graph.passes import plan_of
from penstock.graph.running import Pipeline
from penstock.memory.budget import Memory, resolve_budget
from penstock.ops.assert_cardinality import AssertCardinality
from penstock.ops.batch import Batch
from penstock.ops.bucket_by_sequence_length import BucketBySequenceLength
from penstock.ops.cache import Cache
from penstock.ops.choose_from_datasets import ChooseFromDatasets
from penstock.ops.concatenate import Concatenate
from penstock.ops.counter import Counter
from penstock.ops.enumerate import Enumerate
from penstock.ops.filter import Filter
from penstock.ops.flat_map import FlatMap
from penstock.ops.from_generator import FromGenerator
from penstock.ops.from_tensor_slices import FromTensorSlices
from penstock.ops.from_tensors import FromTensors
from penstock.ops.group_by_reducer import GroupByReducer, Reducer
from penstock.ops.group_by_window import GroupByWindow
from penstock.ops.ignore_errors import IgnoreErrors
from penstock.ops.interleave import Interleave
from penstock.ops.map import Map
from penstock.ops.on_error import OnError, path_of
from penstock.ops.pad_to_cardinality import PadToCardinality
from penstock.ops.padded_batch import PaddedBatch
from penstock.ops.parts.sharding import sharded
from penstock.ops.parts.signature import signature_of
from penstock.ops.parts.terminals import chain, length, no_rows_by_number, single, spec_of_first
from penstock.ops.prefetch import Prefetch
from penstock.ops.ragged_batch import RaggedBatch
from penstock.ops.random import Random
from penstock.ops.range import Range, bounds_of
from penstock.ops.rebatch import Rebatch, sizes_of
from penstock.ops.reduce import Reduce
from penstock.ops.rejection_resample import resampled
from penstock.ops.repeat import Repeat
from penstock.ops.sample_from_datasets import SampleFromDatasets
from penstock.ops.scan import Scan
from penstock.ops.shuffle import Shuffle
from penstock.ops.skip import Skip
from penstock.ops.take import Take
from penstock.ops.take_while import TakeWhile
from penstock.ops.unbatch import Unbatch
from penstock.ops.unique import Unique
from penstock.ops.window import Window
from penstock.ops.zip import Zip, nest_of
from penstock.options import Options
from penstock.report.explain import Explanation, explain
from penstock.site import user_site

if TYPE_CHECKING:
    from penstock.frameworks.jax import JaxDataset
    from penstock.frameworks.torch import TorchDataset
    from penstock.writing.written import Written


class Dataset(Pipeline):
    """A pipeline, declared once and iterated many times. Immutable, cheap, and opens nothing.

    Made by one of the sources (`range`, `from_tensor_slices`, `from_generator`, ...) and extended by
    its methods, each of which gives a new dataset. `for x in ds` is one pass over the elements. A
    `name`, wherever one is taken, is how messages, `explain()` and the report call that op.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(6).map(lambda x: x * x).batch(3)
    >>> for batch in ds:
    ...     print(batch)
    [0 1 4]
    [ 9 16 25]
    """

    op: Op

    def __init__(self, op: Op, options: Options | None = None) -> None:
        if not isinstance(op, Op):
            raise ArgumentTypeError(
                f"Dataset at {user_site()}: expected one of its sources, got a {type(op).__name__}. "
                f"For the rows of arrays, use ps.Dataset.from_tensor_slices."
            )
        self.op = op.with_plain_numbers()
        self._options = options or Options()
        self._epochs = 0
        self._first_spec: Spec | None = None

    # Sources

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Elements of several datasets, in the order that `choice_dataset` says by number.

        A dataset that is chosen after its end ends it all, or with `stop_on_empty_dataset=False`
        the choice is passed over.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 13)
        >>> choices = ps.Dataset.from_tensor_slices([0, 0, 1, 0])
        >>> [int(x) for x in ps.Dataset.choose_from_datasets([a, b], choices)]
        [0, 1, 10, 2]
        """
        found = _datasets(datasets, "choose_from_datasets(datasets=)")
        checks.dataset(choice_dataset, "choose_from_datasets(choice_dataset=)")
        found.append(choice_dataset)
        op = ChooseFromDatasets(
            inputs=tuple(one.op for one in found), stop_on_empty_dataset=stop_on_empty_dataset
        )
        return _joined(op, found)

    @staticmethod
    def counter(start: float = 0, step: float = 1, dtype: Any = np.int64, name: str | None = None) -> Dataset:
        """Numbers without end: `start`, `start + step`, and so on.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter(start=10, step=5).take(3)]
        [10, 15, 20]
        """
        return Dataset(Counter(start_at=start, step=step, dtype=np.dtype(dtype)).named(name))

    @staticmethod
    def from_arrow(
        table: Any, fill_nulls: Mapping[str, Any] | None = None, name: str | None = None
    ) -> Dataset:
        """The rows of a table of pyarrow, or of a data frame, each a dict; nothing is copied.

        `table` is a `pyarrow.Table`, a record batch, or what can be read as one again and again, as the
        data frames of polars and pandas can. Types and nulls are as with `ps.ParquetDataset`. Numbers
        are read-only views.

        >>> import penstock as ps
        >>> import pyarrow as pa
        >>> list(ps.Dataset.from_arrow(pa.table({"x": [1, None], "s": ["a", "b"]}), fill_nulls={"x": 0}))
        [{'x': np.int64(1), 's': 'a'}, {'x': np.int64(0), 's': 'b'}]
        """
        from penstock.ops.from_arrow import FromArrow
        from penstock.ops.parts.file_arguments import fills_of

        return Dataset(FromArrow(table=table, fill_nulls=fills_of(fill_nulls, "from_arrow")).named(name))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        args: tuple[Any, ...] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a Python generator yields; each iteration calls `generator(*args)` anew.

        With an `output_signature`, a nest of `ps.TensorSpec`, every element is converted to its
        dtypes and checked against its shapes. A generator that raises has ended.

        >>> import penstock as ps
        >>> def squares(stop):
        ...     for i in range(stop):
        ...         yield i, i * i
        >>> [(int(x), int(y)) for x, y in ps.Dataset.from_generator(squares, args=(3,))]
        [(0, 0), (1, 1), (2, 4)]
        """
        signature = None
        if output_signature is not None:
            signature = signature_of(output_signature, "from_generator(output_signature=)")
        return Dataset(
            FromGenerator(
                generator=generator,
                args=() if args is None else args,
                signature=signature,
            ).named(name)
        )

    @staticmethod
    def from_sql(
        query: str,
        connection: str | Callable[[], Any],
        batch_rows: int | None = None,
        parameters: Any = None,
        fill_nulls: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The rows of a query, streamed; each is a dict by column.

        `connection` is an address, `postgresql://user@host/database` or `sqlite:///path`, or a function
        that opens a connection of an ADBC driver; each iteration opens one, runs the query anew and closes
        it. Give the query an ORDER BY: a database promises no order without it. `parameters` take the
        places of `$1`, `$2` (PostgreSQL) or `?` (SQLite) in it.

        A NULL is an error unless `fill_nulls` has a value for its column. At most `batch_rows` rows are
        fetched at a time where the database counts in rows (SQLite, and PostgreSQL with `parameters`); on
        SQLite, where values have types of their own, a column has the type of its first `batch_rows`
        values, and a text among numbers after them is an error of its row. By default that suits the size
        of the first rows. Needs the extra `sql`.

        >>> import penstock as ps, sqlite3, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> address = f"sqlite:///{folder.name}/animals.db"
        >>> database = sqlite3.connect(f"{folder.name}/animals.db")
        >>> _ = database.execute("CREATE TABLE animals (name TEXT, legs INTEGER)")
        >>> _ = database.execute("INSERT INTO animals VALUES ('cat', 4), ('emu', 2), ('ant', 6)")
        >>> database.commit(), database.close()
        (None, None)
        >>> query = "SELECT * FROM animals WHERE legs > ? ORDER BY legs"
        >>> ds = ps.Dataset.from_sql(query, address, parameters=(2,))
        >>> [(row["name"], int(row["legs"])) for row in ds]
        [('cat', 4), ('ant', 6)]
        >>> folder.cleanup()
        """
        from penstock.ops.from_sql import FromSql

        op = FromSql(
            query=query,
            connection=connection,
            parameters=parameters,
            batch_rows=batch_rows,
            fill_nulls=fill_nulls,
        )
        return Dataset(op.named(name))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of arrays along their first axis, one element a row; the arrays are never copied.

        `tensors` is an array or a nest of arrays of one length. Elements are read-only views.

        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "y": [b"a", b"b"]})
        >>> for element in ds:
        ...     print(element["x"], element["y"])
        [1 2] b'a'
        [3 4] b'b'
        """
        if isinstance(name, np.ndarray | list | tuple | dict):  # a second array
            raise ArgumentTypeError(
                f"from_tensor_slices at {user_site()}: expected one array, or one tuple or dict of arrays, "
                f"got several arguments. Put them into a tuple: from_tensor_slices((x, y))."
            )
        return Dataset(FromTensorSlices.of(tensors).named(name))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element: these arrays, as they are.

        >>> import penstock as ps
        >>> [x.tolist() for x in ps.Dataset.from_tensors([1, 2, 3])]
        [[1, 2, 3]]
        """
        return Dataset(FromTensors.of(tensors).named(name))

    @staticmethod
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: int | None = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that a pattern, or any of a list of them, matches, as `str`.

        They are sorted, each is there once, and unless `shuffle` is False they are then shuffled, in
        another order in every epoch. `*`, `?` and `[...]` match within a name, `**` also across folders. No
        match at all is an error. The files are looked for when an iteration begins.

        >>> import pathlib, tempfile
        >>> import penstock as ps
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> for part in ("b.txt", "a.txt", "c.csv"):
        ...     (folder / part).touch()
        >>> [pathlib.Path(path).name for path in ps.Dataset.list_files(f"{folder}/*.txt", shuffle=False)]
        ['a.txt', 'b.txt']
        """
        from penstock.ops.list_files import ListFiles, patterns_of

        listed = Dataset(ListFiles(patterns=patterns_of(file_pattern)).named(name))
        if shuffle is not None:
            checks.flag(shuffle, "list_files(shuffle=)")
        checks.seed(seed, "list_files(seed=)")
        return listed if shuffle is False else listed.shuffle(UNKNOWN, seed=seed)

    @staticmethod
    def load(directory: Any, verify: bool = True, name: str | None = None) -> Dataset:
        """The elements that `save` has written, mapped from its files: nothing is parsed, nothing is copied.

        The manifest is read now, so the length and the `element_spec` are known. Elements come in their
        order as read-only views of the files; by their numbers, as for `shuffle()` or `shard`, as copies, and
        then no buffer is needed. With `verify`, each block is checked against its checksum when this dataset
        first touches it, about 1 GB a second; without it, only what says where things are is checked. The
        files must not be cut short while they are in use.

        >>> import tempfile
        >>> import penstock as ps
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = ps.Dataset.range(5).map(lambda x: (x, x * x)).save(folder)
        ...     ds = ps.Dataset.load(folder)
        ...     pairs = [(int(x), int(y)) for x, y in ds]
        >>> len(ds), pairs
        (5, [(0, 0), (1, 1), (2, 4), (3, 9), (4, 16)])
        """
        from penstock.ops.load import Load
        from penstock.ops.parts.saved_arguments import directory_of

        return Dataset(Load.of(str(directory_of(directory, "load")), verify).named(name))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """Random whole numbers from 0 up to 2**32, without end.

        Every iteration gives the same numbers, unless `rerandomize_each_iteration`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.random(seed=1).take(3)
        >>> [int(x) for x in ds] == [int(x) for x in ds]
        True
        """
        return Dataset(Random(seed=seed, rerandomize_each_iteration=rerandomize_each_iteration).named(name))

    @staticmethod
    def range(*args: int, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Whole numbers: `range(stop)`, `range(start, stop)` or `range(start, stop, step)`.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(1, 10, 3)]
        [1, 4, 7]
        """
        start, stop, step = bounds_of(args)
        return Dataset(Range(start_at=start, stop=stop, step=step, dtype=np.dtype(output_type)).named(name))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Elements of several datasets, each drawn from one of them at random.

        `weights` are numbers, one a dataset, or a dataset of such lists, one a draw; without them
        all are alike. A dataset that has ended is drawn no more, or ends it all with
        `stop_on_empty_dataset=True`. The draws are the same in every epoch unless
        `rerandomize_each_iteration=True`.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 13)
        >>> mixed = ps.Dataset.sample_from_datasets([a, b], weights=[0.5, 0.5], seed=1)
        >>> sorted(int(x) for x in mixed)
        [0, 1, 2, 10, 11, 12]
        """
        found = _datasets(datasets, "sample_from_datasets(datasets=)")
        varying = isinstance(weights, Dataset)
        if varying:
            found = [*found, weights]
        op = SampleFromDatasets(
            inputs=tuple(one.op for one in found),
            weights=None if varying else weights,
            varying=varying,
            seed=seed,
            stop_on_empty_dataset=stop_on_empty_dataset,
            rerandomize_each_iteration=rerandomize_each_iteration,
        )
        return _joined(op, found)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of several datasets side by side, until the shortest has ended.

        Takes datasets, or one nest of them: a tuple, a dict or a named tuple, but no list. An
        element that fails takes along its neighbours in the others, which stay in step.

        >>> import penstock as ps
        >>> a, b = ps.Dataset.range(3), ps.Dataset.range(10, 20)
        >>> [(int(x), int(y)) for x, y in ps.Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
        >>> [int(element["n"]) for element in ps.Dataset.zip({"n": a})]
        [0, 1, 2]
        """
        nest, found = nest_of(args, datasets)
        return _joined(Zip(inputs=tuple(one.op for one in found), nest=nest), found, name)

    # Ops

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """The dataset that a function makes of this one.

        >>> import penstock as ps
        >>> def evens(ds):
        ...     return ds.filter(lambda x: x % 2 == 0)
        >>> [int(x) for x in ps.Dataset.range(5).apply(evens)]
        [0, 2, 4]
        """
        checks.function(transformation_func, "apply(transformation_func=)")
        made = transformation_func(self)
        checks.dataset(made, "the result of apply(transformation_func=)")
        return made

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack every `batch_size` consecutive elements into one.

        The last batch has what is left, unless `drop_remainder`. Elements of unequal shapes raise an
        error with both shapes and the element numbers. Batching only reshapes a block: whatever
        `num_parallel_calls` says there is nothing to run in parallel, and the order never changes.

        >>> import penstock as ps
        >>> [batch.tolist() for batch in ps.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        return self._then(
            Batch(
                inputs=(self.op,),
                size=batch_size,
                drop_remainder=drop_remainder,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
            ),
            name,
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements of about one length together, so that little is padded.

        An element goes to the first bucket whose boundary is above its length, and a bucket is
        batched when it has its size; there is one size more than boundaries. Batches are padded to
        the longest element, or to the boundary less one with `pad_to_bucket_boundary=True`. That needs
        `padded_shapes` where the shapes are not known beforehand, as behind a function that Penstock
        cannot look into.

        >>> import numpy as np
        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices([1, 4, 2, 5]).map(lambda n: np.ones(n, int))
        >>> ds = ds.bucket_by_sequence_length(len, bucket_boundaries=[3], bucket_batch_sizes=[2, 2])
        >>> [batch.tolist() for batch in ds]
        [[[1, 0], [1, 1]], [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]]
        """
        return self._then(
            BucketBySequenceLength(
                inputs=(self.op,),
                element_length_func=element_length_func,
                bucket_boundaries=bucket_boundaries,
                bucket_batch_sizes=bucket_batch_sizes,
                padded_shapes=padded_shapes,
                padding_values=padding_values,
                pad_to_bucket_boundary=pad_to_bucket_boundary,
                no_padding=no_padding,
                drop_remainder=drop_remainder,
                wrap=Dataset,
            ),
            name,
        )

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this dataset, then those of another of the same structure and dtypes.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2).concatenate(ps.Dataset.range(5, 7))]
        [0, 1, 5, 6]
        """
        checks.dataset(dataset, "concatenate(dataset=)")
        return _joined(Concatenate(inputs=(self.op, dataset.op)), (self, dataset), name)

    def distribute(self, engine: str = "ray", workers: int = 1, name: str | None = None) -> Dataset:
        """Have the maps right before it run by `workers` actors of a Ray cluster, on other machines.

        What is above the maps runs here, and so does all that comes after: shuffle, batch, prefetch. The
        stream is the same as without it. Rows go out and come back through Ray's object store, in chunks
        whose bytes count to the memory budget while they are on their way. A worker or a machine that is lost
        is replaced, and what it had is done again; so a function may be called more than once for an element.
        An element that kills worker after worker is a `WorkerError` in its place. Arrays are read-only views
        of the object store. Needs the extra `ray`, and `ray.init()` before it is iterated.

        >>> import penstock as ps
        >>> import ray  # doctest: +SKIP
        >>> _ = ray.init()  # doctest: +SKIP
        >>> ds = ps.Dataset.range(6).map(lambda x: x * x).distribute(workers=2).batch(3)  # doctest: +SKIP
        >>> [batch.tolist() for batch in ds]  # doctest: +SKIP
        [[0, 1, 4], [9, 16, 25]]
        """
        from penstock.cluster.distribute import distributed  # importing Penstock is quick

        return self._then(distributed(self.op, engine, workers), name)

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, from `start` on, and an element.

        >>> import penstock as ps
        >>> [(int(i), int(x)) for i, x in ps.Dataset.range(7, 9).enumerate(start=1)]
        [(1, 7), (2, 8)]
        """
        return self._then(Enumerate(inputs=(self.op,), start_at=start), name)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function is true; a tuple's parts are separate arguments.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(6).filter(lambda x: x > 3)]
        [4, 5]
        """
        return self._then(Filter(inputs=(self.op,), predicate=predicate), name)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that a function returns, one dataset after the other.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(4).flat_map(lambda n: ps.Dataset.range(n))
        >>> [int(x) for x in ds]
        [0, 0, 1, 0, 1, 2]
        """
        return self._then(FlatMap(inputs=(self.op,), function=map_func), name)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: int | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Gather elements of one key, and go on with the dataset made of each full group.

        `key_func` gives a whole number for an element. As soon as a key has `window_size`
        elements, or `window_size_func(key)`, `reduce_func(key, dataset)` gives the dataset whose
        elements follow. At the end come the groups that are not full, in the order of their keys.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(7)
        >>> ds = ds.group_by_window(lambda x: x % 2, lambda key, group: group.batch(2), 2)
        >>> [batch.tolist() for batch in ds]
        [[0, 2], [1, 3], [4, 6], [5]]
        """
        return self._then(
            GroupByWindow(
                inputs=(self.op,),
                key_func=key_func,
                reduce_func=reduce_func,
                window_size=window_size,
                window_size_func=window_size_func,
                wrap=Dataset,
            ),
            name,
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out the elements that fail; the report counts them, `log_warning` logs them.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(-1, 3).map(lambda x: 6 // int(x))
        >>> [int(x) for x in ds.ignore_errors()]
        [-6, 6, 3]
        """
        return self._then(IgnoreErrors(inputs=(self.op,), log_warning=log_warning), name)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that a function returns, several datasets in turn.

        `cycle_length` datasets are open at a time (4 unless said, on every machine), and each gives
        `block_length` elements (1) in its turn. One that has ended is replaced in its next turn.

        With `num_parallel_calls`, so many are opened and read ahead at once, within the memory budget;
        the elements and their order are the same. `deterministic=False` takes those that are ready first.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3)
        >>> ds = ds.interleave(lambda n: ps.Dataset.from_tensors(n).repeat(3), 2, block_length=2)
        >>> [int(x) for x in ds]
        [0, 0, 1, 1, 0, 1, 2, 2, 2]
        """
        return self._then(
            Interleave(
                inputs=(self.op,),
                function=map_func,
                cycle_length=cycle_length,
                block_length=block_length,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
            ),
            name,
        )

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        executor: str = "auto",
    ) -> Dataset:
        """Apply a function to every element.

        The parts of a tuple are separate arguments. A function of NumPy operations without side
        effects is called once for a whole block of elements, where that gives the same result to the
        last bit; any other is called element by element. `explain()` tells which, and why. With
        `num_parallel_calls`, or `ps.AUTOTUNE` for as many as there are cores, several calls are made at
        once, within the memory budget; the elements and their order are the same. With
        `deterministic=False` they come as they are ready.

        `executor` says how calls are made: `"block"` for all rows at once, `"threads"`, `"processes"`
        for worker processes, `"jit"` for the function compiled by Numba. `"auto"` takes the block where
        it can, and measures otherwise whether the function holds Python's lock: then worker processes
        call it, else threads. The report says which, and why.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: (x, x * 2))
        >>> [(int(x), int(y)) for x, y in ds]
        [(0, 0), (1, 2), (2, 4)]
        """
        return self._then(
            Map(
                inputs=(self.op,),
                function=map_func,
                num_parallel_calls=num_parallel_calls,
                deterministic=deterministic,
                executor=executor,
            ),
            name,
        )

    def on_error(
        self,
        action: str,
        quarantine: Any = None,
        limit: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """What is done about the elements that fail, here and in the ops before: all but `"raise"` go on.

        `"raise"` raises the error in the element's place, as without it. `"skip"` leaves the element out, as
        `ignore_errors` does. `"quarantine"` leaves it out and adds a line of JSON to the file `quarantine`:
        `op`, `number`, `file`, `offset`, `error`, `cause` and `message`. After `limit` elements of a pass
        the next one that fails raises. The report counts what was left out.

        >>> import json, tempfile
        >>> import penstock as ps
        >>> ds = ps.Dataset.range(-1, 3).map(lambda x: 6 // int(x))
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     print([int(x) for x in ds.on_error("quarantine", file.name, limit=10)])
        ...     [json.loads(line)["number"] for line in file]
        [-6, 6, 3]
        [1]
        """
        op = OnError(inputs=(self.op,), action=action, quarantine=path_of(quarantine), limit=limit)
        return self if action == "raise" else self._then(op, name)

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Stack consecutive elements of unequal shape, the gaps filled.

        `padded_shapes` is a nest of shapes like the elements; None in a shape, or instead of it, is
        the longest of the batch. An element that is longer than its padded shape is an error.
        `padding_values` is one scalar or a nest of them, of the elements' dtypes; without it, zeros
        and empty strings.

        >>> import numpy as np
        >>> import penstock as ps
        >>> ds = ps.Dataset.range(1, 4).map(lambda n: np.full(n, n)).padded_batch(2)
        >>> [batch.tolist() for batch in ds]
        [[[1, 0], [2, 2]], [[3, 3, 3]]]
        """
        return self._then(
            PaddedBatch(
                inputs=(self.op,),
                size=batch_size,
                padded_shapes=padded_shapes,
                padding_values=padding_values,
                drop_remainder=drop_remainder,
            ),
            name,
        )

    def parse_example(
        self,
        features: Mapping[str, Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Serialized `tf.train.Example`s, single ones or batches of them, as dicts of these features.

        The same as a `map` of `ps.io.parse_single_example`, or of `ps.io.parse_example` over batches.

        >>> import penstock as ps
        >>> examples = [ps.io.serialize_example({"x": i, "y": 2.0 * i}) for i in range(3)]
        >>> ds = ps.Dataset.from_tensor_slices(examples)
        >>> ds = ds.parse_example({"x": ps.io.FixedLenFeature([], "int64")})
        >>> [int(element["x"]) for element in ds]
        [0, 1, 2]
        """
        from penstock.io.examples.parse import check_features, parse_example, parse_single_example

        check_features(features, f"parse_example(features=) at {user_site()}")
        leaves = [] if self.op.spec is None else self.op.spec.leaves
        batched = len(leaves) == 1 and bool(leaves[0].shape)
        parse = parse_example if batched else parse_single_example
        return self.map(lambda record: parse(record, features), num_parallel_calls, deterministic, name=name)

    def prefetch(self, buffer_size: int | str | None, name: str | None = None) -> Dataset:
        """Make up to `buffer_size` elements ready ahead of their use, in a thread.

        The size is a number of elements, a number of bytes as text, or `ps.AUTOTUNE` (or None); the memory
        budget bounds each of them. Small elements come in blocks, the last of which may bring more.

        >>> import penstock as ps
        >>> len(list(ps.Dataset.range(100).batch(10).prefetch("16MiB")))
        10
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        return self._then(Prefetch(inputs=(self.op,), buffer_size=size), name)

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> Dataset:
        """Put consecutive elements of unequal shape into one `ps.Ragged`, without padding.

        What is known to have one shape, and scalars, are stacked as `batch` does.

        >>> import numpy as np
        >>> import penstock as ps
        >>> ds = ps.Dataset.range(1, 4).map(lambda n: np.full(n, n)).ragged_batch(3)
        >>> list(ds)
        [Ragged([[1], [2, 2], [3, 3, 3]])]
        """
        return self._then(
            RaggedBatch(
                inputs=(self.op,),
                size=batch_size,
                drop_remainder=drop_remainder,
                row_splits_dtype=row_splits_dtype,
            ),
            name,
        )

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """The rows of batches in batches of another size, or of the sizes of a list in turn.

        >>> import penstock as ps
        >>> [x.tolist() for x in ps.Dataset.range(7).batch(4).rebatch([1, 2])]
        [[0], [1, 2], [3], [4, 5], [6]]
        """
        return self._then(
            Rebatch(inputs=(self.op,), sizes=sizes_of(batch_size), drop_remainder=drop_remainder), name
        )

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Give (class, element), with elements passed over so that the classes get given shares.

        `class_func` gives an element's class, a whole number from 0; `target_dist` the shares that
        the classes are to have, and `initial_dist` those that they have now, estimated on the way
        if it is not given.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(1000)
        >>> ds = ds.rejection_resample(lambda x: int(x < 900), [0.5, 0.5], seed=1)
        >>> classes = [int(found) for found, _ in ds]
        >>> 0.4 < sum(classes) / len(classes) < 0.6
        True
        """
        return self._then(resampled(self.op, class_func, target_dist, initial_dist, seed), name)

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """The dataset `count` times over; `None` or -1 for without end.

        What reshuffles does so in each repetition. Without end, a dataset that turns out to be
        empty ends.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        return self._then(Repeat(inputs=(self.op,), count=count), name)

    def scan(
        self, initial_state: Any, scan_func: Callable[[Any, Any], Any], name: str | None = None
    ) -> Dataset:
        """What `scan_func(state, element)` gives: a pair of the next state and an output.

        An element that is a tuple is one argument. The state keeps the structure and the dtypes of
        `initial_state`.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(5).scan(0, lambda s, x: (s + x, s + x))]
        [0, 1, 3, 6, 10]
        """
        return self._then(Scan(inputs=(self.op,), initial_state=initial_state, scan_func=scan_func), name)

    def shard(
        self,
        num_shards: int,
        index: int,
        name: str | None = None,
        *,
        by: str = "element",
        remainder: str = "keep",
    ) -> Dataset:
        """The part of a dataset that one of several processes reads; each element is in one of them.

        By `"element"`, that is every `num_shards`-th element from number `index` on. By `"file"`, it is what
        comes of every `num_shards`-th file of the source. By `"auto"`, the source is shared out, by file
        where it has enough of them and by element elsewhere, if every op after it can work on a part;
        otherwise this is as by `"element"`. So no process makes elements for another.

        With a `remainder` of `"drop"` or `"pad"` all parts have the same length: elements are left out at the
        end, or some come twice. Elements keep their numbers when one fails. Over arrays the others are not
        read.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(8).shard(3, 2)]
        [2, 5]
        >>> [int(x) for x in ps.Dataset.range(8).shard(3, 2, remainder="pad")]
        [2, 5, 6]
        """
        return self._then(sharded(self.op, num_shards, index, by=by, remainder=remainder), name)

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Make the elements once, and read them again in later epochs.

        They are in memory as far as the budget goes, and the rest in a scratch file; both belong to
        the dataset. An epoch that ends early is not lost: the next one reads what there is, and goes
        on. With a `filename`, a finished epoch is written to `filename + ".rows"`, for later
        processes too; a file that another pipeline wrote is refused.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).map(lambda x: print("made", int(x)) or x).cache()
        >>> [int(x) for x in ds]
        made 0
        made 1
        made 2
        [0, 1, 2]
        >>> [int(x) for x in ds]
        [0, 1, 2]
        """
        return self._then(Cache(inputs=(self.op,), filename=filename), name)

    def shuffle(
        self,
        buffer_size: int | str | None = None,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Put the elements in a random order.

        Every element is drawn from a buffer of the next `buffer_size` elements, or of so many bytes
        (`"64MiB"`), or of all elements: `None` or `ps.UNKNOWN`. The buffer is held to the memory
        budget, and what does not fit is in a scratch file. Over a source with random access, such
        as arrays, only numbers are kept. A `seed` fixes the sequence of the epochs' orders;
        `reshuffle_each_iteration=False` makes every epoch the same.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(6).shuffle(6, seed=1)
        >>> sorted(int(x) for x in ds)
        [0, 1, 2, 3, 4, 5]
        """
        if reshuffle_each_iteration is None:  # as in tf.data
            reshuffle_each_iteration = True
        return self._then(
            Shuffle(
                inputs=(self.op,),
                buffer_size=buffer_size,
                seed=seed,
                reshuffle_each_iteration=reshuffle_each_iteration,
            ),
            name,
        )

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """All but the first `count` elements; -1 skips all of them.

        An element that fails on the way is raised and not counted, as in `take`, so that
        `take(n)` and `skip(n)` always part a dataset in two.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self._then(Skip(inputs=(self.op,), count=count), name)

    def snapshot(self, directory: Any, name: str | None = None) -> Dataset:
        """Write the elements to `directory` in the first complete pass, and read them there in later ones.

        That holds for later processes too: what is above is then not run at all. A pass that ends early, or
        in which an element fails, leaves nothing behind, and the next one begins anew. While one run writes,
        others pass elements on. A folder with the snapshot of another pipeline is refused; so is one whose
        source files have changed since, as with `save`: delete it, and it is written again. What is random
        above is as it was in the pass that was written; shuffle after the snapshot.

        >>> import tempfile
        >>> import penstock as ps
        >>> folder = tempfile.TemporaryDirectory()
        >>> ds = ps.Dataset.range(2).map(lambda x: print("made", int(x)) or x).snapshot(folder.name)
        >>> [int(x) for x in ds]
        made 0
        made 1
        [0, 1]
        >>> [int(x) for x in ds]
        [0, 1]
        >>> folder.cleanup()
        """
        from penstock.ops.parts.saved_arguments import directory_of
        from penstock.ops.snapshot import Snapshot

        folder = str(directory_of(directory, "snapshot"))
        return self._then(Snapshot(inputs=(self.op,), directory=folder), name)

    def take(self, count: int, name: str | None = None) -> Dataset:
        """The first `count` elements; -1 for all. No more than these are read.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter().take(3)]
        [0, 1, 2]
        """
        return self._then(Take(inputs=(self.op,), count=count), name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which a function is false.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.counter().take_while(lambda x: x < 3)]
        [0, 1, 2]
        """
        return self._then(TakeWhile(inputs=(self.op,), predicate=predicate), name)

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of batches as elements of their own.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(5).batch(2).unbatch()]
        [0, 1, 2, 3, 4]
        """
        return self._then(Unbatch(inputs=(self.op,)), name)

    def unique(self, name: str | None = None) -> Dataset:
        """Every element the first time it comes.

        What has come is remembered, in the memory budget: 16 bytes for a number of 64 bits, about
        200 for anything else that can be hashed.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique()]
        [1, 37, 2]
        """
        return self._then(Unique(inputs=(self.op,)), name)

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of `size` consecutive elements, which may overlap.

        A window begins `shift` elements after the one before it (`size` unless said) and takes
        every `stride`th. Of elements with several parts, each part is a dataset of its own. The
        last windows are shorter, or left out with `drop_remainder=True`. A window can be read as
        long as the run goes on that made it.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).window(3, shift=2)
        >>> [[int(x) for x in window] for window in ds]
        [[0, 1, 2], [2, 3, 4], [4]]
        """
        return self._then(
            Window(
                inputs=(self.op,),
                size=size,
                shift=shift,
                stride=stride,
                drop_remainder=drop_remainder,
                wrap=Dataset,
            ),
            name,
        )

    # Running

    def as_keras(self) -> Any:
        """The batches for Keras's `fit`, `evaluate` and `predict`, on any of its backends.

        Elements are batches: `x`, `(x, y)` or `(x, y, sample_weight)`, where each may be a dict. Every epoch
        is a run, which ends with it. Needs the extra `keras` and a backend.

        >>> import numpy as np
        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices((np.ones((64, 4)), np.ones((64, 1)))).batch(16)
        >>> model.fit(ds.as_keras(), epochs=10, validation_data=val.as_keras())  # doctest: +SKIP
        """
        from penstock.frameworks.keras import as_keras  # importing Penstock is quick

        return as_keras(self)

    def as_numpy_iterator(self) -> Iterator:
        """The same as `iter(ds)`: elements are NumPy's already.

        >>> import penstock as ps
        >>> [int(x) for x in ps.Dataset.range(3).as_numpy_iterator()]
        [0, 1, 2]
        """
        return self.iterate()

    def as_tensorflow(self) -> Any:
        """The elements as a `tf.data.Dataset`, with the same structure, dtypes, shapes and length.

        Every iteration over it is a run, which ends with it. `bytes` and `str` are strings there, a
        `ps.Ragged` is a `tf.RaggedTensor`. Needs the extra `tensorflow`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(10).batch(4).as_tensorflow()  # doctest: +SKIP
        >>> ds.element_spec  # doctest: +SKIP
        TensorSpec(shape=(None,), dtype=tf.int64, name=None)
        >>> [batch.numpy().tolist() for batch in ds]  # doctest: +SKIP
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        """
        from penstock.frameworks.tensorflow import as_tensorflow  # importing Penstock is quick

        return as_tensorflow(self)

    def as_jax(
        self,
        sharding: Any = None,
        prefetch: int | str | None = None,
        *,
        shard: str | None = "auto",
        remainder: str = "keep",
        memory: Memory | None = None,
        seed: int | None = None,
    ) -> JaxDataset:
        """This dataset for JAX: its passes give arrays that are on their devices already.

        `sharding` is a sharding or a device of JAX for all leaves, or a nest of them as in the elements;
        without one they go to the default device. Over several devices a batch must have a multiple of
        their number: `batch(n, drop_remainder=True)`. `prefetch` elements, or bytes as text, are there
        before they are asked for: two, but none on the CPU, where an array has NumPy's memory if it can.
        Numbers of 64 bits follow JAX's own rule. bytes and text stay as they are, arrays of them are lists.

        Of several processes each reads the rows that it has by the `sharding`, or else its part by number;
        `shard` and `remainder` are as with `as_torch`, `memory` and `seed` as with `iterate`. Needs
        the extra `jax`.

        >>> import penstock as ps
        >>> for batch in ps.Dataset.range(4).batch(2).as_jax():
        ...     print(batch)
        [0 1]
        [2 3]
        """
        from penstock.frameworks.jax import as_jax  # importing Penstock loads no framework

        return as_jax(
            self,
            sharding=sharding,
            prefetch=prefetch,
            shard=shard,
            remainder=remainder,
            memory=memory,
            seed=seed,
        )

    def as_torch(
        self,
        device: Any = None,
        pin_memory: bool | None = None,
        prefetch: int | str | None = None,
        *,
        shard: str | None = "auto",
        remainder: str = "keep",
        writable: bool = False,
        memory: Memory | None = None,
        seed: int | None = None,
    ) -> TorchDataset:
        """This dataset for torch: an `IterableDataset` whose passes give tensors.

        On the CPU a tensor has the memory of the array, without a copy. torch has no tensors that are
        read-only: do not write to one in place, unless you ask for `writable`, which copies what is
        read-only. bytes and text stay as they are, arrays of them are lists.

        With a GPU as `device`, elements are copied there on a stream of their own, through pinned buffers
        that count to the budget; `prefetch` elements, or bytes as text, are ready there. `pin_memory` alone
        gives tensors in pinned memory.

        In a training of several processes each reads its part, shared out by `shard` as with `ds.shard`, or
        all of it with None; so does each worker of a `DataLoader`. A `remainder` of `"drop"` or `"pad"`
        gives every process the same number of steps. `memory` and `seed` are as with `iterate`; in several
        processes the seed is 0 where none is given. Needs the extra `torch`.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(5).batch(2).as_torch()
        >>> for batch in ds:
        ...     print(batch)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
        """
        from penstock.frameworks.torch import as_torch  # importing Penstock loads no framework

        return as_torch(
            self,
            device=device,
            pin_memory=pin_memory,
            prefetch=prefetch,
            shard=shard,
            remainder=remainder,
            writable=writable,
            memory=memory,
            seed=seed,
        )

    def cardinality(self) -> int:
        """How many elements there are: a number, `ps.INFINITE`, or `ps.UNKNOWN` without reading.

        >>> import penstock as ps
        >>> ps.Dataset.range(10).batch(4).cardinality()
        3
        >>> ps.Dataset.range(10).repeat().cardinality() == ps.INFINITE
        True
        """
        return self.op.cardinality

    @property
    def element_spec(self) -> Any:
        """The nest of `ps.TensorSpec` that the elements agree with.

        Where only the data can tell, as behind a function that is not understood, the first element is
        made to find out, once. It tells dtypes and ranks; every size is then None.

        >>> import penstock as ps
        >>> ps.Dataset.range(10).batch(4).element_spec
        TensorSpec(shape=(None,), dtype=int64)
        """
        if self.op.spec is not None:
            return self.op.spec.nest()
        if self._first_spec is None:
            one = self.with_options(Options(block_rows=1))
            with one.iterate(epoch=0) as it:
                self._first_spec = spec_of_first(it, self.op)
        return self._first_spec.nest()

    def explain(self, memory: Memory | None = None) -> Explanation:
        """What will run: the pipeline as declared, as the optimizer leaves it, and why.

        >>> import numpy as np
        >>> ds = Dataset.from_tensor_slices(np.zeros((100, 8))).batch(10)
        >>> print(ds.explain(memory="64MiB"))  # doctest: +ELLIPSIS
        budget 64 MiB, blocks of about 2 MiB
        ...
        """
        budget = resolve_budget(memory, self._options, call=f"explain(memory=) at {user_site()}")
        return explain(plan_of(self.op, self._options, budget.total), budget.total)

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has exactly one.

        >>> import penstock as ps
        >>> int(ps.Dataset.range(10).batch(10).map(lambda x: x.sum()).get_single_element())
        45
        """
        checks.name(name, "get_single_element(name=)")
        with self.iterate() as it:
            return single(it, self.op)

    def iterate(
        self,
        memory: Memory | None = None,
        seed: int | None = None,
        epoch: int | None = None,
        state: Any = None,
    ) -> Iterator:
        """Start a run: one pass over the dataset, to be closed when it is no longer needed.

        `memory` is the most the run may hold, or a `ps.Budget` that it shares with others; without it
        `Options` decides, or else one budget that all such runs of the process share: the variable
        `PENSTOCK_MEMORY`, or a quarter of what the process may use. `seed` seeds everything random that
        has no seed of its own. `epoch` is the number of the pass, which shuffles differ by; without it
        the passes over this dataset are counted.

        With a `state`, what `it.state()` of another iteration gave, it goes on where that one was, with
        its seed and epoch: also in another process. The pipeline has to be the same.

        >>> import penstock as ps
        >>> with ps.Dataset.range(10).batch(4).iterate(memory="64MiB", seed=1) as it:
        ...     print(next(it))
        [0 1 2 3]
        """
        seed = checks.seed(seed, "iterate(seed=)")
        if epoch is not None:
            epoch = checks.count(epoch, "iterate(epoch=)", least=0)
        budget = resolve_budget(memory, self._options, call=f"iterate(memory=) at {user_site()}")
        resume = partial(resumed, self.op, self._options, budget)
        if state is not None:
            run = resume(state, seed=seed, epoch=epoch)
            self._epochs = max(self._epochs, run.epoch + 1)
            return Iterator(run, resume)
        plan = plan_of(self.op, self._options, budget.total)
        if epoch is None:
            epoch = self._next_epoch()
        seed = self._options.seed if seed is None else seed
        return Iterator(Run(plan, budget, seed=seed, epoch=epoch), resume)

    def options(self) -> Options:
        """The options of this dataset.

        >>> import penstock as ps
        >>> ps.Dataset.range(3).options().memory is None
        True
        """
        return self._options

    def reduce(
        self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None
    ) -> Any:
        """Run over all elements and give the last state: `state = reduce_func(state, element)`.

        An element that is a tuple is one argument. The state keeps the structure and the dtypes of
        `initial_state`.

        >>> import penstock as ps
        >>> int(ps.Dataset.range(5).reduce(0, lambda state, x: state + x))
        10
        """
        op = Reduce(inputs=(self.op,), initial_state=initial_state, reduce_func=reduce_func)
        with self._then(op, name).iterate(epoch=self._next_epoch()) as it:
            return single(it, op)

    def save(
        self,
        directory: Any,
        *,
        shard_bytes: int | str | None = None,
        overwrite: bool = False,
        memory: Memory | None = None,
        seed: int | None = None,
    ) -> Written:
        """Write all elements to `directory`, in order, in Penstock's own files, for `ps.Dataset.load`.

        Dtypes, shapes and structure stay as they are. A file holds about `shard_bytes` (256 MiB), and is
        complete when it is there; a `manifest.json` says which are. The same call again, after an error or a
        kill, goes on after the last complete file. Another pipeline is refused there, unless `overwrite` says
        to start anew; so is a folder with other files, or one that was made of files that have changed since.
        For that, the size and time are kept of the files of this machine that the pipeline names or lists;
        files of stores, databases, and names that are computed or are elements of a dataset are not watched.
        `seed` is as with `iterate`; without one here or in the options it is 0, so that a second run gives
        the same elements.

        >>> import tempfile
        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2, 3], "name": ["a", "b", "c"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = ds.save(folder)
        ...     last = list(ps.Dataset.load(folder))[-1]
        >>> written.elements, last
        (3, {'x': np.int64(3), 'name': 'c'})
        """
        from penstock.writing.save_call import save  # importing Penstock is quick

        return save(self, directory, shard_bytes=shard_bytes, overwrite=overwrite, memory=memory, seed=seed)

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same dataset with these options; what they leave unsaid stays as it was.

        >>> import penstock as ps
        >>> ds = ps.Dataset.range(3).with_options(ps.Options(memory="64MiB"))
        >>> ds.with_options(ps.Options(seed=1)).options()
        Options(memory='64MiB', seed=1, block_rows=None, optimize=None, scratch=None, worker_timeout=None)
        """
        checks.name(name, "with_options(name=)")
        if not isinstance(options, Options):
            raise ArgumentTypeError(
                f"with_options(options=) at {user_site()}: expected ps.Options, got {options!r}."
            )
        return Dataset(self.op, self._options.merged(options))

    def write_tfrecord(
        self,
        directory: Any,
        shards: int | None = None,
        compression: str | None = None,
        *,
        shard_bytes: int | str | None = None,
        overwrite: bool = False,
        memory: Memory | None = None,
        seed: int | None = None,
        engine: str | None = None,
    ) -> Written:
        """Write all elements to TFRecord files in `directory`, in order, with a `manifest.json`.

        Elements that are dicts of numbers, arrays, bytes or str are written as `tf.train.Example`, in which
        whole numbers are int64 and floats float32; elements that are bytes are records as they are. `shards`
        files share out a dataset of known length evenly. Without it, there are as many as it takes for about
        `shard_bytes` (128 MiB) of records in each, before compression: "GZIP", "ZLIB" or "ZSTD".

        A file is complete when it is there. The same call again, after an error or a kill, checks the files
        that are there, writes those again that are damaged, and goes on. Another pipeline, other arguments
        and source files that have changed since are refused there, unless `overwrite` says to start anew.
        Which files are watched is as with `save`. `seed` is as with `iterate`; without one here or in the
        options it is 0, so that a second run gives the same elements.

        With `engine="ray"` and `shards`, the tasks of a Ray cluster write the same files, each whole shards
        of its own, to a folder that all its machines share. Those of a machine that is lost are written again
        by another one.

        >>> import tempfile
        >>> import penstock as ps
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2, 3], "name": ["a", "b", "c"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = ds.write_tfrecord(folder, shards=2)
        ...     records = list(ps.TFRecordDataset(written.shards))
        >>> written.elements, len(written.shards)
        (3, 2)
        >>> ps.io.parse_single_example(records[2], {"x": ps.io.FixedLenFeature([], "int64")})
        {'x': np.int64(3)}
        """
        how: dict[str, Any] = {
            "shards": shards,
            "compression": compression,
            "shard_bytes": shard_bytes,
            "overwrite": overwrite,
            "memory": memory,
            "seed": seed,
        }
        if engine is not None:
            from penstock.cluster.write import write_by  # importing Penstock loads no framework

            return write_by(engine, self, directory, **how)
        from penstock.writing.call import write_tfrecord  # importing Penstock is quick

        return write_tfrecord(self, directory, **how)

    def __bool__(self) -> bool:
        # Without this, a dataset would be false where it is empty, and fail where nobody knows.
        return True

    def __iter__(self) -> Iterator:
        return self.iterate()

    def __len__(self) -> int:
        return length(self.op)

    def __getitems__(self, numbers: Sequence[int]) -> NoReturn:
        # How torch's DataLoader asks for rows, of all that is no IterableDataset.
        raise no_rows_by_number(self.op)

    def __repr__(self) -> str:
        spec = "unknown" if self.op.spec is None else self.op.spec.nest()
        return f"<Dataset {chain(self.op)} element_spec={spec}>"

    def _next_epoch(self) -> int:
        epoch, self._epochs = self._epochs, self._epochs + 1
        return epoch

    def _then(self, op: Op, name: str | None = None) -> Dataset:
        return Dataset(op.named(name), self._options)


def _joined(op: Op, datasets: Iterable[Pipeline], name: str | None = None) -> Dataset:
    """A dataset of several, with the options of all of them, the last word winning."""
    options = Options()
    for dataset in datasets:
        options = options.merged(dataset._options)
    return Dataset(op.named(name), options)


def _datasets(datasets: Any, call: str) -> list[Dataset]:
    """A list of datasets; raises where it is none, or one of them is none."""
    if isinstance(datasets, Dataset) or not isinstance(datasets, Iterable):
        raise ArgumentTypeError(
            f"{call} at {user_site()}: expected a list of datasets, got {checks.shown(datasets)}."
        )
    found = list(datasets)
    for one in found:
        if not isinstance(one, Dataset):
            hint = checks.how_to_convert(one)
            raise ArgumentTypeError(
                f"{call} at {user_site()}: expected datasets, got {checks.shown(one)}.{hint}"
            )
    return found


# For use with `apply`


def assert_cardinality(expected_cardinality: int) -> Callable[[Dataset], Dataset]:
    """Say how many elements a dataset has; a run that finds more or fewer raises.

    For use with `apply`. `ps.INFINITE` says that it has no end.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(10).filter(lambda x: x < 3).apply(ps.assert_cardinality(3))
    >>> len(ds)
    3
    """
    op = partial(AssertCardinality, expected=expected_cardinality)
    return lambda dataset: dataset._then(op(inputs=(dataset.op,)))


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Dataset], Dataset]:
    """Reduce the elements of every key to one; the results come in the order of the keys.

    For use with `apply`.

    >>> import penstock as ps
    >>> count = ps.Reducer(lambda key: (key, 0), lambda s, x: (s[0], s[1] + 1), lambda *s: s)
    >>> ds = ps.Dataset.range(7).apply(ps.group_by_reducer(lambda x: x % 3, count))
    >>> [(int(key), int(size)) for key, size in ds]
    [(0, 3), (1, 2), (2, 2)]
    """
    op = partial(GroupByReducer, key_func=key_func, reducer=reducer)
    return lambda dataset: dataset._then(op(inputs=(dataset.op,)))


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Callable[[Dataset], Dataset]:
    """Add elements of zeros up to a length, with a mask that is False for them.

    For use with `apply`, on a dataset of dicts of known length.

    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices({"x": [7, 8]}).apply(ps.pad_to_cardinality(3))
    >>> [(int(element["x"]), bool(element["valid"])) for element in ds]
    [(7, True), (8, True), (0, False)]
    """
    op = partial(PadToCardinality, target=cardinality, mask_key=mask_key)
    return lambda dataset: dataset._then(op(inputs=(dataset.op,)))
