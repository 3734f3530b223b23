"""The other side of a guide runs too; Penstock's side runs in `test_documents.py`."""

from __future__ import annotations

import pytest

from frameworks.running import LONGEST, outcomes

pytestmark = pytest.mark.timeout(2 * LONGEST)


def test_given_the_guide_from_dataloader_then_its_code_runs() -> None:
    assert outcomes("checks_guides.py") == {"given_the_side_of_dataloader_then_it_runs": ""}
