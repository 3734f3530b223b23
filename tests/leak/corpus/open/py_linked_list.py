"""A chain of nodes, each of which keeps the one before."""
# kind: python-objects
# line: 16


class Node:
    def __init__(self, value, before):
        self.value = value
        self.before = before
        self.data = [value] * 60


def run():
    state = None
    for step in range(8000):
        state = Node(float(step), state)  # <-
        sum(range(3000))
    return state.value


print(run())
