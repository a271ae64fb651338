"""The command line: ``hbus``. One module a group of commands; ``output`` renders, ``link`` reaches the server."""

import os


def main() -> None:
    """Run the command that ``sys.argv`` names. Exit codes: 0 done, 1 failed, 2 used wrongly."""
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # its notes on lost connections are no answer to anybody
    from hindsight_bus.cli.app import app

    app(prog_name="hbus")
