"""Random numbers for the functions that a dataset runs: `ds.map(lambda x: x + ps.random.normal())`.

They are keyed by the run's seed, the epoch, the op, the element's number and the number of the draw
in the function. So they are the same whatever the parallelism, the size of blocks or the order in
which elements are worked on, and new in every epoch.
"""

from penstock.random.continuous import normal, uniform
from penstock.random.discrete import bernoulli, choice, integers

__all__ = ["bernoulli", "choice", "integers", "normal", "uniform"]
