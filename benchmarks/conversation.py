"""The child's side of the line to its parent: JSON objects out, one line back for a question.

Standard output is moved out of the way first, so that nothing a library prints gets in between.
"""

import json
import os
import sys
from typing import Any


class Conversation:
    """Says events to the parent; `ask` waits until the parent has looked."""

    def __init__(self) -> None:
        self._line = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

    def say(self, event: str, **facts: Any) -> None:
        """Tell the parent and go on."""
        print(json.dumps({"event": event, **facts}), file=self._line)

    def ask(self, event: str, **facts: Any) -> None:
        """Tell the parent and wait for its reply; end where the parent is gone."""
        self.say(event, **facts)
        if not sys.stdin.readline():
            raise SystemExit("the parent is gone")
