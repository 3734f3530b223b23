"""Connections to a database: how they are named, and how they are opened."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.io.formats.optional import optional

Connect = str | Callable[[], Any]
"""An address, or a function that opens a connection."""
POSTGRESQL = ("postgresql://", "postgres://")
SQLITE = "sqlite:///"


def is_address(text: str) -> bool:
    """Whether a text is the address of a database that can be opened."""
    return text.startswith(POSTGRESQL) or (text.startswith(SQLITE) and text != SQLITE)


def shown(connection: Connect) -> Connect:
    """What may be shown of it: an address has no password any more."""
    if not isinstance(connection, str):
        return connection
    address = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", connection)
    return re.sub(r"([?&](ssl)?password=)[^&]*", r"\1***", address)


def connect(connection: Connect) -> Any:
    """A new connection of an ADBC driver."""
    optional("pyarrow", "sql")
    if not isinstance(connection, str):
        made = connection()
        if not isinstance(made, optional("adbc_driver_manager.dbapi", "sql").Connection):
            raise TypeError(
                f"expected a connection of an ADBC driver, as adbc_driver_postgresql.dbapi.connect() "
                f"makes one, got {made!r} from the function"
            )
        return made
    if connection.startswith(POSTGRESQL):
        return optional("adbc_driver_postgresql.dbapi", "sql").connect(connection)
    path = connection.removeprefix(SQLITE)
    driver = optional("adbc_driver_sqlite.dbapi", "sql")
    if not stat.S_ISREG(Path(path).stat().st_mode):  # the driver says nothing useful of what is no file
        raise OSError(f"{path} is no file")
    return driver.connect(f"file:{quote(path)}?mode=ro")
