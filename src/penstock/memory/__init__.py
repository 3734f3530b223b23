"""Bytes: the ledger that counts them, the budget, the pool of buffers, and the spill."""
