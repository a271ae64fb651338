"""Benchmarks: each figure beside a limit that was measured in the same run."""
