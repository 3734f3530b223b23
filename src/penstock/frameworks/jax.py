"""`Dataset.as_jax`: a dataset as arrays of JAX."""

from __future__ import annotations

import math
from typing import Any

from penstock.engine.iterator import Iterator
from penstock.engine.run import Run
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.frameworks.ahead import Ahead, Depth, depth_of
from penstock.frameworks.jax_leaves import Putter, unfit_leaf, unlike
from penstock.frameworks.nests import arrays_of
from penstock.frameworks.passing import Pass, Passes, converted
from penstock.frameworks.reading import Place, Reading, Shared
from penstock.io.formats.optional import optional
from penstock.memory.budget import Memory
from penstock.site import user_site

jax: Any = optional("jax", "jax")

CALL = "as_jax"


def as_jax(
    dataset: Shared,
    *,
    sharding: Any,
    prefetch: int | str | None,
    shard: str | None,
    remainder: str,
    memory: Memory | None,
    seed: int | None,
) -> JaxDataset:
    """The dataset for JAX, once its arguments have been checked."""
    for one in _flat(sharding):
        if one is not None and not isinstance(one, jax.sharding.Sharding | jax.Device):
            raise ArgumentTypeError(
                f"{CALL}(sharding=) at {user_site()}: expected a sharding or a device of JAX, or a nest of "
                f"them as in the elements, got {one!r}."
            )
    spec = dataset.op.spec
    if spec is not None and (why := unlike(spec.nest(), sharding)):
        raise ArgumentTypeError(f"{CALL}(sharding=) at {user_site()}: {why}.")
    for leaf in () if spec is None else spec.leaves:
        if why := unfit_leaf(leaf):
            raise ArgumentTypeError(f"{CALL} at {user_site()}: {why}.")
    reading = Reading(dataset, CALL, shard=shard, remainder=remainder, memory=memory, seed=seed)
    depth = None if prefetch is None else depth_of(prefetch, CALL)
    return JaxDataset(reading, sharding, depth)


def _flat(sharding: Any) -> list[Any]:
    if isinstance(sharding, dict):
        return [one for part in sharding.values() for one in _flat(part)]
    if isinstance(sharding, tuple):
        return [one for part in sharding for one in _flat(part)]
    return [sharding]


class JaxDataset(Passes):
    """A dataset whose passes give arrays of JAX; what `ds.as_jax()` returns."""

    def __init__(self, reading: Reading, sharding: Any, depth: Depth | None) -> None:
        super().__init__(reading)
        self._sharding = sharding
        self._depth = depth

    def __iter__(self) -> Pass:
        elements, epoch = self._reading.start(self._place())
        put = Putter(self._sharding)
        depth = self._depth
        if depth is None and self._platform() != "cpu":
            depth = depth_of(None, CALL)
        ahead = None if depth is None else _ahead(elements, put, depth)
        return self._noted(Pass(elements, epoch, put, ahead, CALL))

    def _platform(self) -> str:
        one = _flat(self._sharding)[0]
        if isinstance(one, jax.sharding.Sharding):
            one = next(iter(one.device_set))
        return str((one or jax.devices()[0]).platform)

    def _place(self) -> Place:
        if jax.process_count() == 1:
            return Place()
        sharding = next((one for one in _flat(self._sharding) if isinstance(one, NAMED)), None)
        if sharding is None or sharding.is_fully_addressable:
            return Place(jax.process_index(), jax.process_count(), alone=False)
        return place_in(sharding)


NAMED = jax.sharding.NamedSharding


def place_in(sharding: Any) -> Place:
    """Which rows this process has, among those that have others: processes with the same read the same."""
    sizes = [_parts(sharding, names) for names in sharding.spec] or [1]
    rows: dict[int, set[int]] = {}
    for device, index in sharding.devices_indices_map(tuple(sizes)).items():
        rows.setdefault(device.process_index, set()).update(range(sizes[0])[index[0]])
    groups = sorted({tuple(sorted(has)) for has in rows.values()})
    if sum(map(len, groups)) != sizes[0]:
        raise ArgumentError(
            f"{CALL}(sharding=): expected processes that share all their rows or none, but with {sharding} "
            f"some share a part of them."
        )
    return Place(groups.index(tuple(sorted(rows[jax.process_index()]))), len(groups), alone=False)


def _parts(sharding: Any, names: Any) -> int:
    """Into how many parts an axis is cut that is named so in a spec."""
    several = () if names is None else (names,) if isinstance(names, str) else names
    return math.prod(sharding.mesh.shape[name] for name in several)


class JaxCarrier:
    """Starts transfers; JAX has them done in their order, and keeps the host's memory until then."""

    def __init__(self, put: Putter) -> None:
        self._put = put

    def bytes_of(self, element: Any) -> int:
        """The bytes of all leaves."""
        return sum(array.nbytes for array in arrays_of(element))

    def put(self, element: Any) -> Any:
        """Start the transfer of an element."""
        return converted(element, self._put, CALL)

    def hand_over(self, put: Any) -> Any:
        """The element: what is done with it waits for its transfer by itself."""
        return put

    def close(self) -> None:
        """There is nothing to give back."""


def _ahead(elements: Iterator, put: Putter, depth: Depth) -> Ahead:
    def carrier(_: Run) -> JaxCarrier:
        return JaxCarrier(put)

    return Ahead(elements, carrier, depth, "penstock-to-jax")
