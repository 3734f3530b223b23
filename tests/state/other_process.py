"""Another process: goes on from the states that it is told of, one line of JSON at a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pipelines import declared, events


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with declared(asked["pipeline"], folder).iterate(state=asked["state"]) as it:
                answer = events(it, asked["limit"])
        except Exception as error:
            answer = [f"{type(error).__name__}: {error}"]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
