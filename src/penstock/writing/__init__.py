"""A dataset written to files, once, to be loaded many times."""
