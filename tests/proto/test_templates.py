"""The templates for other languages are sound: buf takes them, and the plugins are told what they need."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Stands in for a plugin at buf.build: it writes down, a file of the contract, what such a plugin goes by.
STAND_IN = """
import sys
from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse

request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
for file in request.proto_file:
    if file.name in request.file_to_generate:
        told = f"{sys.argv[1]} {request.parameter} {file.options.go_package} {file.options.java_package}"
        response.file.add(name=f"{sys.argv[1]}/{file.name}", content=told)
sys.stdout.buffer.write(response.SerializeToString())
"""


BUF = "buf.build"
COMMUNITY = f"{BUF}/community"
GO = "paths=source_relative example.com/yours/gen/go/hbus/v1;hbusv1 com.hbus.v1"


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("go", {f"{BUF}/protocolbuffers/go {GO}", f"{BUF}/grpc/go {GO}"}),
        ("java", {f"{BUF}/protocolbuffers/java   com.hbus.v1", f"{BUF}/grpc/java   com.hbus.v1"}),
        (
            "rust",
            {
                f"{COMMUNITY}/neoeinstein-prost:v0.5.0   ",
                f"{COMMUNITY}/neoeinstein-tonic:v0.5.0 no_include=true  ",
            },
        ),
    ],
)
def test_a_template_generates(language: str, told: set[str], tmp_path: Path) -> None:
    """From the contract, into one folder a language, by as many plugins as it names."""
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    template = (ROOT / "clients" / f"{language}.gen.yaml").read_text()
    local = re.sub(r"remote: (\S+)", rf'local: ["{sys.executable}", "{stand_in}", "\1"]', template)
    assert "remote:" not in local
    buf = Path(sys.executable).with_name("buf")
    subprocess.run([buf, "generate", "--template", local, "--output", tmp_path], cwd=ROOT, check=True)
    written = [*(tmp_path / "gen" / language).rglob("*.proto")]
    assert len(written) == len(told) * len([*ROOT.glob("proto/hbus/v1/*.proto")])
    assert {path.read_text() for path in written} == told
