"""An import-linter contract that says what a room *may* import; all else is broken.

The built-in contracts list what is forbidden, so a library that nobody thought of would pass. This one is a
row of the layout table: `modules` may import each its own package, the standard library and what `may_import`
names, with all below it. The check is on direct imports: where each row holds, no chain can leave the table.
"""

import sys
from dataclasses import dataclass
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@dataclass(frozen=True)
class Breach:
    """One import that no row allows."""

    importer: str
    imported: str
    lines: str

    def __str__(self) -> str:
        return f"{self.importer} may not import {self.imported} ({self.lines})"


class MayImport(Contract):
    """The allow-list of one or more rooms."""

    modules = fields.SetField(subfield=fields.StringField())
    may_import = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return every import of the rooms that is neither their own, nor allowed, nor standard."""
        rooms = cast("set[str]", self.modules)
        missing = rooms - graph.modules
        breaches = [breach for room in sorted(rooms - missing) for breach in self._breaches(graph, room)]
        return ContractCheck(
            kept=not breaches,
            warnings=[f"{name} does not exist (yet)." for name in sorted(missing)],
            metadata={"breaches": breaches},
        )

    def _breaches(self, graph: ImportGraph, room: str) -> list[Breach]:
        allowed = {room} | cast("set[str]", self.may_import)
        return [
            Breach(importer, imported, _lines(graph, importer, imported))
            for importer in sorted({room} | graph.find_descendants(room))
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported.partition(".")[0] not in sys.stdlib_module_names
            and not any(_within(imported, each) for each in allowed)
        ]

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each breach on a line."""
        for breach in check.metadata["breaches"]:
            output.print_error(f"- {breach}", bold=False)


def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
    details = graph.get_import_details(importer=importer, imported=imported)
    return ", ".join(f"line {each['line_number']}" for each in details)


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
