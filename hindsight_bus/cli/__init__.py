"""The command line: ``hbus``. One module a group of commands; ``output`` renders, ``link`` reaches the server."""


def main() -> None:
    """Run the command that ``sys.argv`` names. Exit codes: 0 done, 1 failed, 2 used wrongly."""
    from hindsight_bus.cli.app import app

    app(prog_name="hbus")
