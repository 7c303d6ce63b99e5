"""Benchmarks; results are in docs/performance.md."""
