"""Mutated inputs for the importers, and what they may do with them."""
