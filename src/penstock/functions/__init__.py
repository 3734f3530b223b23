"""Users' functions: whether and how they run over whole blocks, and how their errors are told."""
