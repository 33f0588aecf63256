// The Python type `Replay`: a front of `tracemill::Replay` for the simulator, benchmarks and tests.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace tracemill {

// Adds the type to the module; -1 with an exception set on failure.
int add_replay_type(PyObject* module);

}  // namespace tracemill
