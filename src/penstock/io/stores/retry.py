"""Trying again where a store fails for a moment, and saying what came where it fails for good."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from penstock.errors import StoreError

T = TypeVar("T")

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The answers of a server that may be another one in a moment."""
PASSING_ERRORS = frozenset({errno.EBUSY, errno.EAGAIN, errno.EINTR, errno.ENETUNREACH, errno.EHOSTUNREACH})
CUT_OFF = frozenset(
    {
        "ConnectionError",
        "ClientConnectionError",
        "ClientPayloadError",
        "HTTPClientError",
        "IncompleteReadError",
    }
)
"""What Python, aiohttp and botocore raise for a lost connection, by name: the latter may not be there."""

NO_CREDENTIALS = frozenset({"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"})
"""What botocore and google-auth raise, by name, where nobody has said who is asking."""


class ShortRead(Exception):  # noqa: N818
    """The store gave fewer bytes than there are."""


@dataclass(frozen=True)
class Patience:
    """How often and how long a store is waited for."""

    tries: int = 5
    """So often without a single byte coming, and it is an error."""
    first: float = 0.1
    """Seconds before the second try; twice as many before each further one."""
    longest: float = 10.0
    """The most seconds between two tries, unless the server asks for more."""
    longest_asked: float = 60.0
    """The most seconds that a server may ask for (`Retry-After`)."""
    stall: float = 20.0
    """A try has failed when nothing comes for so many seconds."""
    total: float = 60.0
    """A try has failed after so many seconds, where only its end can be seen."""

    def delay(self, tried: int, asked: float | None, jitter: float) -> float:
        """The seconds to wait after so many tries; `jitter`, from 0 to 1, spreads readers out."""
        if asked is not None:
            return min(asked, self.longest_asked)
        return min(self.first * 2.0 ** (tried - 1), self.longest) * (0.5 + jitter / 2)


@dataclass(frozen=True)
class Fault:
    """What an exception of a store means."""

    what: str
    passing: bool
    remedy: str = "Check the network and the server, or copy the file to this machine."
    errno: int | None = None
    asked: float | None = None
    """The seconds that the server asks to be left alone."""


def judge(error: BaseException) -> Fault:
    """What `error` means: whether it may pass, and what the user can do."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    for each in _chain(error):
        fault = _judge(each, said)
        if fault is not None:
            return fault
    if isinstance(error, OSError):
        return Fault(said, error.errno in PASSING_ERRORS, errno=error.errno)
    return Fault(said, False)


def _judge(error: BaseException, said: str) -> Fault | None:
    """What one of a chain of exceptions says by itself; None if it is told by what it was raised for."""
    status = None if _is_cut_off(error) else _status(error)
    if status == 404 or (status is None and isinstance(error, FileNotFoundError)):
        remedy = "Check the address; a name is case-sensitive."
        return Fault("there is no such file", False, remedy, errno.ENOENT)
    if status in (401, 403) or (status is None and isinstance(error, PermissionError)):
        remedy = "Check the credentials, and that they may read and list there."
        return Fault(f"access was refused ({said})", False, remedy, errno.EACCES)
    if type(error).__name__ in NO_CREDENTIALS:
        remedy = "Put them where the store's package looks for them: the environment, or fsspec.config.conf."
        return Fault(f"there are no credentials ({said})", False, remedy, errno.EACCES)
    if status is not None:
        return Fault(f"the server answered {status} ({said})", status in PASSING, asked=_asked(error))
    if isinstance(error, ShortRead):
        return Fault(str(error), True)
    if isinstance(error, TimeoutError):
        return Fault(f"no answer came in time ({said})", True, errno=errno.ETIMEDOUT)
    if _is_cut_off(error):
        return Fault(f"the connection failed ({said})", True, errno=errno.ECONNRESET)
    return None


def retried(
    action: Callable[[], T],
    *,
    expected: str,
    file: str,
    offset: int = -1,
    patience: Patience,
    pause: Callable[[float], bool],
) -> T:
    """What `action` returns, tried again while it fails in a way that may pass.

    `pause` waits for so many seconds, and says whether the wait was ended from outside: then the error
    is raised at once. `StoreError` says what was expected, and what came instead how often.
    """
    for tried in range(1, patience.tries + 1):
        try:
            return action()
        except StoreError:
            raise
        except Exception as error:
            fault = judge(error)
            last = not fault.passing or tried == patience.tries
            if last or pause(patience.delay(tried, fault.asked, random.random())):
                raise _failed(fault, expected, file, offset, tried) from error
    raise AssertionError("a try returns or raises")


def _failed(fault: Fault, expected: str, file: str, offset: int, tried: int) -> StoreError:
    where = "" if offset < 0 else f" at byte {offset}"
    times = f", {tried} times in a row" if tried > 1 else ""
    made = StoreError(
        f"{file}{where}: expected {expected}, but {fault.what}{times}. {fault.remedy}",
        file=file,
        offset=offset,
    )
    made.errno = fault.errno
    return made


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error`, and what it was raised for."""
    each: BaseException | None = error
    for _ in range(8):
        if each is None:
            return
        yield each
        each = each.__cause__ or each.__context__


def _is_cut_off(error: BaseException) -> bool:
    return any(base.__name__ in CUT_OFF for base in type(error).__mro__)


# The exceptions of the libraries are read by their attributes: none of these libraries has to be there.


def _status(error: BaseException) -> int | None:
    """The status of the answer that `error` tells of."""
    found = _answer(error).get("HTTPStatusCode")
    for name in ("status", "code"):
        found = getattr(error, name, None) if found is None else found
    if isinstance(found, str) and found.isdigit():
        found = int(found)
    return found if isinstance(found, int) and 100 <= found < 600 else None


def _asked(error: BaseException) -> float | None:
    """The seconds of a `Retry-After`."""
    headers = _answer(error).get("HTTPHeaders") or getattr(error, "headers", None) or {}
    said = {str(name).lower(): str(value) for name, value in dict(headers).items()}.get("retry-after")
    return None if said is None else retry_after(said, datetime.now(UTC))


def _answer(error: BaseException) -> dict[str, Any]:
    response = getattr(error, "response", None)
    return response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}


def retry_after(said: str, now: datetime) -> float | None:
    """The seconds of a `Retry-After` header: a number of them, or a date; None if it is neither.

    >>> retry_after("7", datetime(2024, 5, 1, tzinfo=UTC))
    7.0
    >>> retry_after("Wed, 01 May 2024 00:00:09 GMT", datetime(2024, 5, 1, tzinfo=UTC))
    9.0
    """
    from email.utils import parsedate_to_datetime  # rarely needed, and slow to load

    if said.strip().isdigit():
        return float(said)
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max((until - now).total_seconds(), 0.0)
