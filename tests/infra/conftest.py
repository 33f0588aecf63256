from __future__ import annotations

import pytest

from tests.support.synth import ACCOUNT, REGION, Assembly, synthesize


@pytest.fixture(scope="session")
def guest_stacks(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """A system in an account that has bucket and domain already, with every other option set."""
    return synthesize(
        tmp_path_factory.mktemp("guest"),
        account=ACCOUNT,
        region=REGION,
        name="tm-two",
        bucket="existing-bucket",
        bucket_key_arn=f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a1b",
        prefix="team/profiles",
        job_name_pattern="Train-*",
        raw_retention_days=0,
        reconcile_minutes=0,
        email="someone@example.com",
        domain_id="d-abc123",
        studio_users="anna,ben",
        architecture="arm64",
        removal="destroy",
        max_concurrency=7,
        scan_limit_gb=5,
        tags='{"team": "vision"}',
    )
