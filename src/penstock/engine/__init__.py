"""Runs a plan: stages, seams, threads, and the end of all of them."""
