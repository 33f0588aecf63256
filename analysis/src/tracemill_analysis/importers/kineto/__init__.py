"""Imports Kineto traces: the Chrome-trace JSON that the PyTorch profiler writes."""
