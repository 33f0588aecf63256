// Taking the GIL again, also while the interpreter ends.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <cstddef>  // defines __GLIBCXX__

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace tracemill {

// A daemon thread that asks for the GIL while the interpreter ends is ended by Python (before 3.14)
// with pthread_exit, which unwinds its stack: through C++ frames that is an abort of the whole
// process, after a training that was already done. Such a thread is held here instead, as later
// Pythons do themselves; the process ends without it.
inline void retake_gil(PyThreadState* state) {
#if defined(__GLIBCXX__)
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    for (;;) ::pause();
  }
#else
  PyEval_RestoreThread(state);
#endif
}

}  // namespace tracemill
