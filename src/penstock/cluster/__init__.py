"""Pipelines on many machines, by Ray: maps in actors, and files written by tasks."""
