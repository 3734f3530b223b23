"""Objects in circles: the collector frees them from time to time."""


class Node:
    def __init__(self, size):
        self.data = bytearray(size)
        self.me = self


total = 0
for step in range(150000):
    node = Node(3000)
    total += len(node.data)
print(total)
