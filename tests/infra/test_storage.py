from __future__ import annotations

import pytest

from tests.support.synth import Assembly, Resource


@pytest.fixture(scope="module")
def buckets(stacks: Assembly) -> dict[str, Resource]:
    return {b["BucketName"]: b for b in stacks.resources("storage", "AWS::S3::Bucket").values()}


STORE = "tracemill-123456789012-eu-central-1"
LOGS = "tracemill-logs-123456789012-eu-central-1"


def test_one_store_and_one_access_log(buckets: dict[str, Resource]) -> None:
    assert set(buckets) == {STORE, LOGS}
    assert buckets[STORE]["LoggingConfiguration"]["DestinationBucketName"] == LOGS


@pytest.mark.parametrize("name", [STORE, LOGS])
def test_no_bucket_can_be_public(buckets: dict[str, Resource], name: str) -> None:
    assert buckets[name]["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    owner = buckets[name]["OwnershipControls"]["Rules"]
    assert owner == [{"ObjectOwnership": "BucketOwnerEnforced"}]


def test_the_store_is_encrypted_with_its_key(
    stacks: Assembly, buckets: dict[str, Resource]
) -> None:
    (rule,) = buckets[STORE]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["BucketKeyEnabled"] is True
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    (key_id,) = stacks.resources("storage", "AWS::KMS::Key")
    assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == f"<storage.{key_id}.Arn>"
    assert stacks.only("storage", "AWS::KMS::Key")["EnableKeyRotation"] is True


def test_both_buckets_refuse_plain_http(stacks: Assembly) -> None:
    policies = {
        p["Bucket"]: p for p in stacks.resources("storage", "AWS::S3::BucketPolicy").values()
    }
    assert set(policies) == {STORE, LOGS}
    for policy in policies.values():
        denied = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
        assert [s["Condition"] for s in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]
        assert denied[0]["Action"] == "s3:*"


def test_recordings_go_and_results_stay(buckets: dict[str, Resource]) -> None:
    rules = {r["Id"]: r for r in buckets[STORE]["LifecycleConfiguration"]["Rules"]}
    expire = {r["Prefix"]: r["ExpirationInDays"] for r in rules.values() if "Prefix" in r}
    assert expire == {"raw/": 30, "work/": 3, "athena/": 7}
    assert rules["unfinished-uploads"]["AbortIncompleteMultipartUpload"] == {
        "DaysAfterInitiation": 2
    }
    assert all(rule["Status"] == "Enabled" for rule in rules.values())


def test_data_outlives_the_stack_unless_told_otherwise(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    kept = {
        r["Type"]: r["DeletionPolicy"]
        for r in stacks.templates["storage"]["Resources"].values()
        if "DeletionPolicy" in r
    }
    assert kept == {"AWS::KMS::Key": "Retain", "AWS::S3::Bucket": "Retain"}
    (key,) = [
        r
        for r in guest_stacks.templates["storage"]["Resources"].values()
        if r["Type"] == "AWS::KMS::Key"
    ]
    assert key["DeletionPolicy"] == "Delete"


def test_an_existing_bucket_is_left_alone(guest_stacks: Assembly) -> None:
    assert guest_stacks.resources("storage", "AWS::S3::Bucket") == {}
    outputs = guest_stacks.templates["storage"]["Outputs"]
    assert outputs["StoreUri"]["Value"] == "s3://existing-bucket/team/profiles"
    assert outputs["ProfilerOutput"]["Value"] == "s3://existing-bucket/team/profiles/raw"


def test_only_alarms_of_this_account_may_use_the_key_besides_its_policies(
    stacks: Assembly,
) -> None:
    statements = stacks.only("storage", "AWS::KMS::Key")["KeyPolicy"]["Statement"]
    root, alarms = statements
    assert root["Principal"] == {"AWS": "arn:aws:iam::123456789012:root"}
    assert alarms["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert alarms["Condition"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}}
