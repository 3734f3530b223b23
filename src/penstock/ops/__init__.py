"""One file an op, sources too: the declaration, its checks, and the class that runs it on blocks."""
