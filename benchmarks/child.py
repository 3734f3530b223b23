"""The child process: `python -m benchmarks.child KIND NAME PEER`, started by `watch.py` only."""

import sys

from benchmarks.conversation import Conversation


def main(kind: str, name: str, peer: str) -> None:
    """Run one work as one peer, after the parent has put this process where it wants it."""
    parent = Conversation()
    parent.ask("started")
    if kind == "speed":
        from benchmarks import speed
        from benchmarks.speed import pass_over

        work = next(work for work in speed.WORKS if work.name == name)
        pass_over.run(work, next(each for each in work.peers if each.name == peer), parent)
    elif kind == "memory":
        from benchmarks import memory
        from benchmarks.memory import hold

        pipeline = next(each for each in memory.PIPELINES if each.name == name)
        hold.run(pipeline, peer, parent)
    elif kind == "tuned":
        from benchmarks import tuned

        tuned.run(name, peer, parent)
    elif kind == "flat":
        from benchmarks import flat

        flat.run(name, parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
