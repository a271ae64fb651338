"""In-process implementations of the ports for tests: same semantics, no I/O, time and randomness in hand."""
