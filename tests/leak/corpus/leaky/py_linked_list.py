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
    for step in range(200000):
        state = Node(float(step), state)  # <-
        if step % 1000 == 0:
            sum(state.data)
    return state.value


print(run())
