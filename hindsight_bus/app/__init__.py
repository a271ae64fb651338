"""Use cases: what the services do, on domain rules and ports alone."""
