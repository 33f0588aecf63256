"""Imports what Nsight Systems exports: SQLite files, folders of Parquet tables, recipe results."""
