"""A protoc plugin that writes `*_pb2_grpc.py` and its type stub for each file that defines a service.

buf wants a program that reads a `CodeGeneratorRequest` from stdin and writes a `CodeGeneratorResponse` to
stdout; grpcio-tools offers its generator only as a flag of its own protoc. Both it and mypy-protobuf write an
empty module for a file without services, so the request is narrowed first.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def modules(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """Return what the generator inside grpcio-tools writes for the request."""
    response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
    with tempfile.TemporaryDirectory() as folder:
        descriptors, out = Path(folder, "descriptors.binpb"), Path(folder, "out")
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        out.mkdir()
        flags = [f"--descriptor_set_in={descriptors}", f"--grpc_python_out={out}"]
        if protoc.main(["protoc", *flags, *request.file_to_generate]) != 0:
            response.error = "grpcio-tools could not generate the gRPC modules; its messages are above"
        for path in sorted(out.rglob("*_pb2_grpc.py")):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text("utf-8"))
    return response


def stubs(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """Return what mypy-protobuf writes for the request."""
    plugin = ["protoc-gen-mypy_grpc"]
    done = subprocess.run(plugin, input=request.SerializeToString(), stdout=subprocess.PIPE, check=True)
    return CodeGeneratorResponse.FromString(done.stdout)


def main() -> None:
    """Answer one request on stdin."""
    request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    wanted = set(request.file_to_generate)
    request.file_to_generate[:] = [f.name for f in request.proto_file if f.service and f.name in wanted]
    request.parameter = "quiet"
    response = modules(request)
    response.MergeFrom(stubs(request))
    sys.stdout.buffer.write(response.SerializeToString())


if __name__ == "__main__":
    main()
