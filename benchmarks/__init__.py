"""Speed, memory and growth of didact beside its peers: ``python -m benchmarks CHAPTER``."""
