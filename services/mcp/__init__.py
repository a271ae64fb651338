"""The memory for hosts that speak the Model Context Protocol: a client of the bus, and stateless.

``launch`` says whom it serves, ``server`` builds it, ``tools`` is what a model may call; ``quoting`` keeps what
memories say apart from what the host's model is told.
"""
