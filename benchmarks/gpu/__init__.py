"""Works that need a GPU: run by hand, not by `make bench`."""
