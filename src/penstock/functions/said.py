"""What an error of the user's own says."""

from __future__ import annotations


def said_by(error: BaseException) -> str:
    """Its text. An error may fail to say what it is: that must not hide which element it was.

    >>> said_by(ValueError("too small"))
    'too small'
    """
    try:
        return str(error)
    except Exception as failed:
        return f"(its text cannot be made: {type(failed).__name__})"
