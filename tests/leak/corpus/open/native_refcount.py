"""A reference that native code takes and never gives back."""

# kind: python-objects
# line: 18
import ctypes

take = ctypes.pythonapi.Py_IncRef
take.argtypes = [ctypes.py_object]


class Record:
    def __init__(self, number):
        self.number = number
        self.payload = [number] * 100


def step(i):
    record = Record(i)  # <-
    take(record)
    return record.number + sum(range(3000))


total = 0
for i in range(8000):
    total += step(i)
print(total)
