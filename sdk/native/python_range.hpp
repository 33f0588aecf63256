// The Python functions `annotate`, `step`, `annotation_begin`, `annotation_end` and the type of the
// objects the first two return.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tracemill {

// Adds the functions and the type to the module; -1 with an exception set on failure.
int add_range_functions(PyObject* module);

}  // namespace tracemill
