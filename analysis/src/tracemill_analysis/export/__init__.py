"""Export of a job's events for other viewers: Perfetto's protobuf and Chrome JSON."""

from tracemill_analysis.export.run import EXPORT_FORMATS, Exported, export_job
from tracemill_analysis.export.selection import Selection, select

__all__ = ["EXPORT_FORMATS", "Exported", "Selection", "export_job", "select"]
