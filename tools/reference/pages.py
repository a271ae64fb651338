"""Every page of the reference."""

from __future__ import annotations

from pathlib import Path

from tools.reference import command_line, contract, metrics, reasons, settings

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs" / "reference"

_INDEX = """# Reference

- [The contract `hbus.v1`](api/README.md): every call, message and field
- [Errors](errors.md): reasons, and what to do
- [Settings](settings.md) of the server
- [Command line](cli.md)
- [Metrics](metrics.md)
"""


def pages() -> dict[str, str]:
    """Return the pages by their path below ``docs/reference``."""
    descriptors = contract.read(ROOT)
    made = {
        "README.md": _INDEX,
        "cli.md": command_line.page(),
        "errors.md": reasons.page(descriptors),
        "metrics.md": metrics.page(),
        "settings.md": settings.page(),
    }
    made |= {f"api/{name}": text for name, text in contract.pages(descriptors).items()}
    return {name: f"<!-- Made by `make docs`. -->\n{text.rstrip()}\n" for name, text in made.items()}
