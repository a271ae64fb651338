"""Writes ``docs/reference`` from what the code, the contract and the command line say of themselves."""
