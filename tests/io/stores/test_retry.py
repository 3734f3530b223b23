"""Trying again, and what the exceptions of the libraries mean."""

from __future__ import annotations

import errno
from typing import Any

import aiohttp
import botocore.exceptions
import pytest
from yarl import URL

import penstock as ps
from penstock.io.stores.retry import Patience, ShortRead, judge, retried


def of_s3(status: int, **headers: str) -> Exception:
    answer: Any = {
        "Error": {"Code": "x"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }
    return botocore.exceptions.ClientError(answer, "GetObject")


def of_web(status: int) -> Exception:
    request = aiohttp.RequestInfo(URL("http://a/b"), "GET", None, URL("http://a/b"))  # type: ignore[arg-type]
    return aiohttp.ClientResponseError(request, (), status=status)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


class OfGoogleError(Exception):
    """gcsfs says it so."""

    code = "503"


PASSING = [
    ConnectionResetError(),
    BrokenPipeError(),
    TimeoutError(),
    ShortRead("none came"),
    OfGoogleError(),
    aiohttp.ServerDisconnectedError(),
    aiohttp.ClientPayloadError(),
    botocore.exceptions.EndpointConnectionError(endpoint_url="http://a"),
    botocore.exceptions.ReadTimeoutError(endpoint_url="http://a"),
    botocore.exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2),
    caused(OSError(errno.EBUSY, "busy"), of_s3(503)),
    caused(OSError(errno.EIO, "?"), of_s3(429)),
    *(of_web(status) for status in (408, 429, 500, 502, 503, 504)),
]
LASTING = [
    FileNotFoundError("a"),
    PermissionError("a"),
    ValueError("a"),
    NotImplementedError(),
    OSError(errno.EINVAL, "a"),
    botocore.exceptions.NoCredentialsError(),
    caused(PermissionError("a"), of_s3(403)),
    caused(OSError(errno.EINVAL, "a"), of_s3(416)),
    *(of_web(status) for status in (400, 401, 403, 404, 410, 501)),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_given_a_fault_that_may_pass_then_it_is_tried_again(error: Exception) -> None:
    outcomes: list[Any] = [error, error, 5]
    assert attempt(outcomes) == 5
    assert outcomes == []


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_given_a_fault_that_stays_then_it_is_tried_once(error: Exception) -> None:
    outcomes: list[Any] = [error, 5]
    with pytest.raises(ps.errors.StoreError) as caught:
        attempt(outcomes)
    assert outcomes == [5]
    assert caught.value.__cause__ is error


def test_given_no_credentials_then_the_error_says_where_to_put_them() -> None:
    fault = judge(botocore.exceptions.NoCredentialsError())
    assert "there are no credentials" in fault.what and "the environment" in fault.remedy
    assert (fault.passing, fault.errno) == (False, errno.EACCES)


def attempt(outcomes: list[Any], pauses: list[float] | None = None, ended: bool = False) -> Any:
    def action() -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def pause(seconds: float) -> bool:
        if pauses is not None:
            pauses.append(seconds)
        return ended

    patience = Patience(tries=6, first=1.0, longest=5.0, longest_asked=30.0)
    return retried(action, expected="4 bytes", file="s3://a", offset=7, patience=patience, pause=pause)


def test_given_faults_in_a_row_then_the_waits_double_up_to_the_longest_and_are_spread_out() -> None:
    pauses: list[float] = []
    attempt([*[TimeoutError()] * 5, 1], pauses)
    for waited, most in zip(pauses, [1.0, 2.0, 4.0, 5.0, 5.0], strict=True):
        assert most / 2 <= waited <= most
    assert len(set(pauses)) == 5


def test_given_a_store_that_asks_for_time_then_it_gets_it_up_to_a_limit() -> None:
    pauses: list[float] = []
    attempt([of_s3(503, **{"retry-after": "3"}), of_s3(503, **{"Retry-After": "900"}), 1], pauses)
    assert pauses == [3.0, 30.0]


@pytest.mark.parametrize("said", ["soon", "-1", ""])
def test_given_an_unreadable_time_then_the_usual_wait_is_made(said: str) -> None:
    assert judge(of_s3(503, **{"retry-after": said})).asked is None


def test_given_faults_without_end_then_the_error_says_what_where_and_how_often() -> None:
    with pytest.raises(ps.errors.StoreError) as caught:
        attempt([TimeoutError("late")] * 9)
    error = caught.value
    assert (error.file, error.offset, error.errno) == ("s3://a", 7, errno.ETIMEDOUT)
    for part in ("s3://a at byte 7", "expected 4 bytes", "late", "6 times", "Check the network"):
        assert part in str(error)


def test_when_a_wait_is_ended_then_nothing_is_tried_again() -> None:
    outcomes: list[Any] = [TimeoutError(), 1]
    with pytest.raises(ps.errors.StoreError):
        attempt(outcomes, ended=True)
    assert outcomes == [1]
