"""Serve MemoryService and NamespaceService alone: ``python -m services.memory``, set up by ``HBUS_`` variables."""

import sys

from hindsight_bus.server import run

if __name__ == "__main__":
    sys.exit(run(roles=("memory",)))
