"""Imports XPlane profiles: the protobuf that TensorFlow's and JAX's profilers write."""
