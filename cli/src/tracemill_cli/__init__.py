"""The tracemill command line: one verb per file."""
