"""Objects in circles, and the collector is off."""

# kind: cycles
# line: 17
import gc

gc.disable()


class Part:
    def __init__(self, size):
        self.data = bytearray(size)
        self.owner = None


def build(step):
    one, other = Part(2000), Part(2000)  # <-
    one.owner, other.owner = other, one
    return one.data[step % 100]


total = 0
for step in range(100000):
    total += build(step)
print(total)
