"""gRPC: decode, one application call, encode."""
