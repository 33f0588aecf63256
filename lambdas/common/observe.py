"""Logs and metrics of all functions."""

from __future__ import annotations

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

SERVICE = "tracemill"
NAMESPACE = "Tracemill"

logger = Logger(service=SERVICE)
metrics = Metrics(namespace=NAMESPACE, service=SERVICE)


def count(name: str, value: float) -> None:
    """Add to a metric that counts."""
    metrics.add_metric(name, MetricUnit.Count, value)
