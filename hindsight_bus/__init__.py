"""Hindsight Bus: the memory that several agents share, served over gRPC.

The rooms, from the inside out: `domain` (pure rules), `ports` (what the use cases need), `app` (use cases),
`adapters` (Valkey, indexes, models), `transport` (gRPC). `wiring` puts them together.
"""

__version__ = "0.1.0"
