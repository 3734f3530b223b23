"""Penstock: the input pipeline of a training loop, with a memory budget that holds."""

from penstock import errors
from penstock.dataset import Dataset
from penstock.graph.op import AUTOTUNE, INFINITE, UNKNOWN
from penstock.options import Options

__all__ = ["AUTOTUNE", "INFINITE", "UNKNOWN", "Dataset", "Options", "errors"]
