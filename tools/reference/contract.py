"""The contract: one page a file of ``proto/``, from its comments."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc_tools
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from tools.reference.tables import table

PACKAGE = ".hbus.v1."
_MESSAGE, _ENUM, _SERVICE, _MEMBER = 4, 5, 6, 2
"""Numbers of the fields that make up the paths of ``SourceCodeInfo``."""

Path_ = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """One file with its comments by path."""

    file: FileDescriptorProto
    comments: dict[Path_, str]

    @property
    def page(self) -> str:
        """Name of its page."""
        return f"{Path(self.file.name).stem}.md"

    def comment(self, *path: int) -> str:
        """Return the comment above what lies at a path, as one line."""
        return self.comments.get(path, "")


def read(root: Path) -> list[Source]:
    """Compile the contract and return its files, services first."""
    names = sorted(str(each.relative_to(root / "proto")) for each in (root / "proto").rglob("*.proto"))
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "set"
        well_known = Path(grpc_tools.__file__).with_name("_proto")
        protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root / 'proto'}", f"-I{well_known}"]
        subprocess.run([*protoc, "--include_source_info", f"--descriptor_set_out={out}", *names], check=True)
        files = FileDescriptorSet.FromString(out.read_bytes()).file
    sources = [Source(each, _comments(each)) for each in files]
    return sorted(sources, key=lambda source: (not source.file.service, source.page))


def _comments(file: FileDescriptorProto) -> dict[Path_, str]:
    return {
        tuple(place.path): " ".join(place.leading_comments.split())
        for place in file.source_code_info.location
    }


def pages(sources: list[Source]) -> dict[str, str]:
    """Return the pages by name."""
    where = {
        f"{PACKAGE}{name}": f"{source.page}#{name.lower()}"
        for source in sources
        for name in _names(source.file)
    }
    made = {source.page: "\n".join(_page(source, where)) for source in sources}
    return made | {"README.md": "\n".join(_index(sources))}


def _names(file: FileDescriptorProto) -> list[str]:
    return [each.name for each in file.message_type] + [each.name for each in file.enum_type]


def _index(sources: list[Source]) -> Iterator[str]:
    yield "# The contract `hbus.v1`"
    yield ""
    yield "Agents name themselves in the metadata key `hbus-agent`, percent-encoded where the name is not ASCII."
    yield ""
    for source in sources:
        for number, service in enumerate(source.file.service):
            yield f"## [{service.name}]({source.page})"
            yield ""
            yield source.comment(_SERVICE, number)
            yield ""
            rows = [
                (
                    f"[{method.name}]({source.page}#{method.name.lower()})",
                    source.comment(_SERVICE, number, _MEMBER, each),
                )
                for each, method in enumerate(service.method)
            ]
            yield from table(("call", "what it does"), rows)
    yield "## What they exchange"
    yield ""
    others = [
        (f"[{Path(each.file.name).stem}]({each.page})", each.comment(2))
        for each in sources
        if not each.file.service
    ]
    yield from table(("page", "what it holds"), others)
    yield "Standard services beside them: `grpc.health.v1`, and server reflection (`grpc.reflection.v1` and `v1alpha`)."


def _page(source: Source, where: dict[str, str]) -> Iterator[str]:
    yield f"# {source.file.name}"
    yield ""
    yield source.comment(2)
    yield ""
    for number, service in enumerate(source.file.service):
        yield from _service(source, number, service, where)
    for number, message in enumerate(source.file.message_type):
        yield from _message(source, number, message, where)
    for number, enum in enumerate(source.file.enum_type):
        yield from _enum(source, number, enum)


def _service(
    source: Source, number: int, service: ServiceDescriptorProto, where: dict[str, str]
) -> Iterator[str]:
    yield f"`{PACKAGE.strip('.')}.{service.name}`: {source.comment(_SERVICE, number)}"
    yield ""
    for each, method in enumerate(service.method):
        yield f"## {method.name}"
        yield ""
        yield source.comment(_SERVICE, number, _MEMBER, each)
        yield ""
        yield _signature(method, where)
        yield ""


def _signature(method: MethodDescriptorProto, where: dict[str, str]) -> str:
    takes = _stream(method.client_streaming) + _linked(method.input_type, where)
    gives = _stream(method.server_streaming) + _linked(method.output_type, where)
    return f"{takes} → {gives}"


def _stream(streams: bool) -> str:
    return "stream of " if streams else ""


def _message(source: Source, number: int, message: DescriptorProto, where: dict[str, str]) -> Iterator[str]:
    yield f"## {message.name}"
    yield ""
    yield source.comment(_MESSAGE, number)
    yield ""
    entries = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    rows = [
        (
            f"`{field.name}`",
            _type(field, entries, where),
            _choice(message, field) + source.comment(_MESSAGE, number, _MEMBER, each),
        )
        for each, field in enumerate(message.field)
    ]
    if rows:
        yield from table(("field", "type", "what it is"), rows)


def _choice(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """Return to which choice a field belongs, if to any."""
    if not field.HasField("oneof_index") or field.proto3_optional:
        return ""
    return f"*One of `{message.oneof_decl[field.oneof_index].name}`.* "


def _type(field: FieldDescriptorProto, entries: dict[str, DescriptorProto], where: dict[str, str]) -> str:
    entry = entries.get(field.type_name.rpartition(".")[2])
    if entry is not None:
        key, value = entry.field
        return f"map of {_type(key, {}, where)} to {_type(value, {}, where)}"
    named = (
        _linked(field.type_name, where)
        if field.type_name
        else FieldDescriptorProto.Type.Name(field.type)[5:].lower()
    )
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {named}"
    return f"optional {named}" if field.proto3_optional else named


def _linked(name: str, where: dict[str, str]) -> str:
    short = name.removeprefix(PACKAGE).removeprefix(".google.protobuf.")
    return f"[{short}]({where[name]})" if name in where else short


def _enum(source: Source, number: int, enum: EnumDescriptorProto) -> Iterator[str]:
    yield f"## {enum.name}"
    yield ""
    yield source.comment(_ENUM, number)
    yield ""
    rows = [
        (f"`{value.name}`", str(value.number), source.comment(_ENUM, number, _MEMBER, each))
        for each, value in enumerate(enum.value)
    ]
    yield from table(("value", "number", "what it means"), rows)
