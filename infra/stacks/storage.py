"""Bucket, access log, key."""

from __future__ import annotations

from aws_cdk import CfnOutput
from constructs import Construct

from infra.constructs.store import StoreBucket, SystemKey
from infra.names import Names
from infra.stacks.base import SystemStack


class StorageStack(SystemStack):
    """The store, or only the key if an existing bucket is used."""

    def __init__(self, scope: Construct, *, names: Names) -> None:
        super().__init__(scope, "storage", names=names, description="bucket and key")
        self.key = SystemKey(self, "Key", names.config).key
        if not names.config.bucket:
            StoreBucket(self, "Store", names, self.key)
        CfnOutput(self, "StoreUri", value=names.store_uri, description="the store")
        CfnOutput(
            self,
            "ProfilerOutput",
            value=f"{names.store_uri}/raw",
            description="S3OutputPath of a training job's ProfilerConfig",
        )
