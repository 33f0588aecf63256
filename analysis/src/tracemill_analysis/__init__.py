"""The engine: importers, event tables, aggregates, findings, report. No AWS, no web, no drawing
outside ``report``."""
