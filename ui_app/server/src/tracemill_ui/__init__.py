"""Tracemill's app: a read-only server over a store, and the page it serves."""
