"""Drop-in for SageMaker Profiler's ``smppy``; everything is done by ``tracemill``."""

from tracemill._smprof import Config, SMProfiler, annotate, annotation_begin, annotation_end

__all__ = ["Config", "SMProfiler", "annotate", "annotation_begin", "annotation_end"]
