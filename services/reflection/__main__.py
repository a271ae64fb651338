"""Serve ReflectionService alone: ``python -m services.reflection``, set up by ``HBUS_`` variables."""

import sys

from hindsight_bus.server import run

if __name__ == "__main__":
    sys.exit(run(roles=("reflection",)))
