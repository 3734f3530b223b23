"""Stores: where bytes are, read by ranges."""
