"""A registry on the class that every object enters and none leaves."""
# kind: growing-container
# line: 12


class Sample:
    registry = []

    def __init__(self, number):
        self.number = number
        self.pixels = bytes(range(256)) * 8
        Sample.registry.append(self)  # <-


def load(number):
    return Sample(number)


checksum = 0
for number in range(100000):
    sample = load(number)
    checksum += sum(sample.pixels[:64])
print(checksum)
