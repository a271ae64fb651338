"""The deployables: one package each, started with `python -m services.<name>`."""
