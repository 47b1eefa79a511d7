"""Pictures of the benchmarks."""
