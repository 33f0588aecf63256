"""Training jobs, Studio and analysts at work: their AWS calls, noted like the functions'."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import boto3
import tracemill_s3.store
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from starlette.testclient import TestClient
from tracemill_s3.cache import FileCache
from tracemill_s3.store import S3Store
from tracemill_schema import layout
from tracemill_ui.app import create_app

from tests.support.aws.system import System


class Person:
    """A principal with a role. Its clients note every call."""

    def __init__(self, role: str, system: System) -> None:
        self.role = role
        self.system = system
        self.calls: list[dict[str, Any]] = []
        self._session = boto3.Session()

    def client(self, service: str) -> Any:
        """Make a client of a service."""
        client = self._session.client(service)

        def note(params: dict[str, Any], model: Any, **_: Any) -> None:
            kept = {name: value for name, value in params.items() if name != "Body"}
            self.calls.append(
                {
                    "function": self.role,
                    "service": service,
                    "operation": model.name,
                    "params": kept,
                }
            )

        client.meta.events.register("before-parameter-build.*.*", note)
        return client

    def store(self, folder: Path) -> S3Store:
        """Open the installation's store with a cache in ``folder``."""
        return S3Store(self.system.store_uri, self.client("s3"), FileCache(folder / "cache"))


def train(system: System, recorded: dict[str, bytes], job: str, folder: Path) -> Person:
    """A training job ships its recording; one segment is so large that it goes in parts."""
    person = Person("training", system)
    store = person.store(folder)
    for key, content in recorded.items():
        with store.open_output(layout.raw_prefix(job) + key) as output:
            output.write(content)
    whole = tracemill_s3.store.MULTIPART_BYTES
    tracemill_s3.store.MULTIPART_BYTES = 5 << 20  # the least that S3 takes as a part
    try:
        with store.open_output(f"{layout.raw_prefix(job)}large.bin") as output:
            output.write(bytes(6 << 20))
    finally:
        tracemill_s3.store.MULTIPART_BYTES = whole
    return person


def look_around(system: System, job: str, domain_id: str, folder: Path) -> Person:
    """A Studio user opens the app and looks at a profile from all sides."""
    person = Person("studio-user", system)
    sagemaker = person.client("sagemaker")
    sagemaker.meta.events.register("before-call.sagemaker.CreateApp", _answered)
    sagemaker.meta.events.register("before-call.sagemaker.DeleteApp", _answered)
    app = {"DomainId": domain_id, "SpaceName": "anna", "AppType": "JupyterLab"}
    sagemaker.create_app(**app, AppName="default")
    sagemaker.describe_training_job(TrainingJobName=job)
    sagemaker.search(Resource="TrainingJob")
    with TestClient(create_app(person.store(folder)), base_url="http://127.0.0.1") as client:
        rows = client.get("/api/profiles").json()["rows"]
        assert job in [row["job_name"] for row in rows]
        _load(client, job)
        base = f"/api/profiles/{job}"
        for call in ("dashboard", "info", "reports", "timeline/meta", "report?format=html"):
            answer = client.get(f"{base}/{call}")
            assert answer.status_code == 200, (call, answer.text)
        sql = "SELECT count(*) FROM annotations"
        assert client.post(f"{base}/query", json={"sql": sql}).status_code == 200
    sagemaker.delete_app(**app, AppName="default")
    return person


def _answered(**_: Any) -> tuple[AWSResponse, dict[str, Any]]:
    """Answer in place of a service that moto lacks; the call was checked and noted before."""
    return AWSResponse("", 200, {}, None), {}


def _load(client: TestClient, job: str) -> None:
    assert client.post(f"/api/loaded/{job}").status_code == 202
    for _ in range(3000):
        (listed,) = client.get("/api/loaded").json()["loaded"]
        if listed["state"] != "loading":
            assert listed["state"] == "loaded", listed
            return
        time.sleep(0.02)
    raise AssertionError(f"{job} is still loading")


def ask(system: System, job: str) -> Person:
    """An analyst asks a question; what Athena then does with the analyst's permissions follows."""
    person = Person("analyst", system)
    athena, glue, s3 = (person.client(name) for name in ("athena", "glue", "s3"))
    workgroup = system.assembly.only("catalog", "AWS::Athena::WorkGroup")["Name"]
    athena.get_work_group(WorkGroup=workgroup)
    (query_id, *_) = athena.list_named_queries(WorkGroup=workgroup)["NamedQueryIds"]
    query = athena.get_named_query(NamedQueryId=query_id)["NamedQuery"]
    asked = athena.start_query_execution(QueryString=query["QueryString"], WorkGroup=workgroup)
    _athena_reads(system, job, glue, s3)
    _athena_writes(system, s3)
    athena.get_query_execution(QueryExecutionId=asked["QueryExecutionId"])
    athena.get_query_results(QueryExecutionId=asked["QueryExecutionId"])
    athena.stop_query_execution(QueryExecutionId=asked["QueryExecutionId"])
    return person


def _athena_reads(system: System, job: str, glue: Any, s3: Any) -> None:
    glue.get_database(Name=system.database)
    glue.get_tables(DatabaseName=system.database)
    for table in ("jobs", "annotations"):
        glue.get_table(DatabaseName=system.database, Name=table)
        for partition in glue.get_partitions(DatabaseName=system.database, TableName=table)[
            "Partitions"
        ]:
            location = partition["StorageDescriptor"]["Location"]
            prefix = location.removeprefix(f"s3://{system.bucket}/")
            if partition["Values"] == [job]:
                listed = s3.list_objects_v2(Bucket=system.bucket, Prefix=prefix)["Contents"]
                for one in listed:
                    s3.get_object(Bucket=system.bucket, Key=one["Key"])


def _athena_writes(system: System, s3: Any) -> None:
    result = {"Bucket": system.bucket, "Key": "athena/0a1b.csv"}
    s3.get_bucket_location(Bucket=system.bucket)
    s3.put_object(**result, Body=b'"jobs"\n"1"\n')
    s3.list_objects_v2(Bucket=system.bucket, Prefix=result["Key"])
    s3.get_object(**result)
    upload = s3.create_multipart_upload(Bucket=system.bucket, Key="athena/ended.csv")
    with contextlib.suppress(ClientError):
        s3.abort_multipart_upload(
            Bucket=system.bucket, Key="athena/ended.csv", UploadId=upload["UploadId"]
        )
