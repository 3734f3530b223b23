"""`ps.doctor.watch()`: the doctor in a notebook, or around any part of a program."""

from __future__ import annotations

from types import TracebackType

from penstock.doctor.diagnose import diagnose
from penstock.doctor.findings import Diagnosis
from penstock.doctor.page import page
from penstock.doctor.text import show
from penstock.doctor.watching import Watching
from penstock.doctor.workers import Workers


class Watch:
    """One watch: a context manager that has the diagnosis when it is left.

    >>> import time
    >>> import penstock as ps
    >>> with ps.doctor.watch() as w:
    ...     for step in range(60):
    ...         time.sleep(0.005)
    >>> w.leaks
    False
    """

    def __init__(self) -> None:
        self._watching: Watching | None = None
        self._workers: Workers | None = None
        self._diagnosis: Diagnosis | None = None

    def __enter__(self) -> Watch:
        self._watching = Watching()
        self._workers = Workers(self._watching)
        self._watching.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._watching is not None and self._workers is not None
        self._watching.stop()
        self._diagnosis = diagnose(self._watching)
        self._workers.end(self._diagnosis)
        self._watching = self._workers = None

    @property
    def diagnosis(self) -> Diagnosis:
        """What was found, as data.

        >>> import penstock as ps
        >>> with ps.doctor.watch() as w:
        ...     pass
        >>> w.diagnosis.status
        2
        """
        if self._diagnosis is None:
            raise RuntimeError("The watch is not over: leave the `with` block before asking what was found.")
        return self._diagnosis

    @property
    def leaks(self) -> bool:
        """Whether there is a leak.

        >>> import penstock as ps
        >>> with ps.doctor.watch() as w:
        ...     pass
        >>> w.leaks
        False
        """
        return self.diagnosis.leaks

    def __str__(self) -> str:
        return show(self.diagnosis)

    def _repr_html_(self) -> str:
        return page(self.diagnosis, "this cell")


def watch() -> Watch:
    """Watch what runs inside of a `with` block, and say afterwards whether it leaks.

    >>> import penstock as ps
    >>> with ps.doctor.watch() as w:
    ...     total = sum(range(10))
    >>> print(w)  # doctest: +ELLIPSIS
    penstock doctor: could not tell: no training loop was seen...
    """
    return Watch()
