from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tracemill_analysis.parquet import write_rows
from tracemill_analysis.store import LocalStore
from tracemill_schema.columns import Table
from tracemill_schema.tables import TABLES

from tests.support.synth import Assembly, Resource
from tests.support.tables import row

STORE = "s3://tracemill-123456789012-eu-central-1"
GLUE_TYPES = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}


@pytest.fixture(scope="module")
def tables(stacks: Assembly) -> dict[str, Resource]:
    found = stacks.resources("catalog", "AWS::Glue::Table").values()
    return {table["TableInput"]["Name"]: table for table in found}


def test_there_is_one_glue_table_per_declared_one(tables: dict[str, Resource]) -> None:
    assert set(tables) == {table.name for table in TABLES}
    assert {table["DatabaseName"] for table in tables.values()} == {"tracemill"}
    assert {table["CatalogId"] for table in tables.values()} == {"123456789012"}


@pytest.mark.parametrize("declared", TABLES, ids=lambda table: table.name)
def test_columns_of_glue_are_those_of_the_files(
    tables: dict[str, Resource], declared: Table, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path)
    key = write_rows(store, declared, "job", "all", [row(declared.name)])
    footer = pq.ParquetFile(store.local_file(key)).schema_arrow
    glue = tables[declared.name]["TableInput"]
    assert [(c["Name"], c["Type"]) for c in glue["StorageDescriptor"]["Columns"]] == [
        (field.name, GLUE_TYPES[field.type]) for field in footer
    ]
    assert [(c["Name"], c["Type"]) for c in glue["PartitionKeys"]] == [("job_name", "string")]
    # The partition's folder, as the writer made it, lies below the table's location.
    assert f"{STORE}/{key}".startswith(f"{glue['StorageDescriptor']['Location']}job_name=job/")


@pytest.mark.parametrize("name", [table.name for table in TABLES])
def test_tables_are_external_parquet_without_projection(
    tables: dict[str, Resource], name: str
) -> None:
    table = tables[name]["TableInput"]
    assert table["TableType"] == "EXTERNAL_TABLE"
    assert "parquet" in table["StorageDescriptor"]["SerdeInfo"]["SerializationLibrary"]
    # Projection of an injected key would forbid queries over all jobs.
    assert not [key for key in table["Parameters"] if key.startswith("projection")]
    assert all(len(c["Comment"]) <= 255 for c in table["StorageDescriptor"]["Columns"])


def test_the_workgroup_bounds_scans_and_encrypts_results(
    stacks: Assembly, guest_stacks: Assembly
) -> None:
    settings = stacks.only("catalog", "AWS::Athena::WorkGroup")["WorkGroupConfiguration"]
    assert settings["EnforceWorkGroupConfiguration"] is True
    assert settings["BytesScannedCutoffPerQuery"] == 100 * 1000**3
    assert settings["ResultConfiguration"]["OutputLocation"] == f"{STORE}/athena/"
    encryption = settings["ResultConfiguration"]["EncryptionConfiguration"]
    assert encryption["EncryptionOption"] == "SSE_KMS"
    assert encryption["KmsKey"].startswith("<storage.Key")

    guest = guest_stacks.only("catalog", "AWS::Athena::WorkGroup")
    assert guest["RecursiveDeleteOption"] is True
    assert guest["WorkGroupConfiguration"]["BytesScannedCutoffPerQuery"] == 5 * 1000**3
