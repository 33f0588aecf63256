// Python module `tracemill._native`: the thin shim over the core. Stable ABI, every Python >= 3.9.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <string>

#include "clock.hpp"
#include "codec.hpp"
#include "notices.hpp"
#include "python_gil.hpp"
#include "python_range.hpp"
#include "python_replay.hpp"
#include "recorder.hpp"

using namespace tracemill;  // NOLINT: the shim is made of nothing else

namespace {

template <typename Function>
PyObject* without_gil(Function&& function) {
  bool result = false;
  PyThreadState* state = PyEval_SaveThread();
  try {
    result = function();
  } catch (const std::exception& error) {
    notices().add(std::string("recording failed: ") + error.what(), true);
  }
  retake_gil(state);
  return PyBool_FromLong(result);
}

constexpr std::int64_t kNsPerMs = 1000000;
constexpr std::int64_t kNsPerS = 1000000000;

PyObject* start(PyObject*, PyObject* arguments) {
  const char* node_folder = nullptr;
  const char* meta = nullptr;
  const char* lock_path = nullptr;
  long long flush_ms, cpu_ms, cpu_s, ring, rotate_bytes, rotate_s, max_steps, max_bytes, retry_ms, buffer_bytes, nvml_ms;
  int gpu, graph_nodes;
  const char* cupti_path = nullptr;
  PyObject* schedule = nullptr;
  RecorderOptions options;
  if (!PyArg_ParseTuple(arguments, "sssLLLLLLLLLOppLsL", &node_folder, &meta, &lock_path, &flush_ms,
                        &cpu_ms, &cpu_s, &ring, &rotate_bytes, &rotate_s, &max_steps, &max_bytes,
                        &retry_ms, &schedule, &gpu, &graph_nodes, &buffer_bytes, &cupti_path,
                        &nvml_ms)) {
    return nullptr;
  }
  if (schedule != Py_None) {
    long long skip, warmup, active, repeat;
    if (!PyArg_ParseTuple(schedule, "LLLL", &skip, &warmup, &active, &repeat)) return nullptr;
    options.rules.scheduled = true;
    options.rules.skip = skip;
    options.rules.warmup = warmup;
    options.rules.active = active;
    options.rules.repeat = repeat;
  }
  options.node_folder = node_folder;
  options.meta_members = meta;
  options.lock_path = lock_path;
  options.flush_ns = flush_ms * kNsPerMs;
  options.cpu_interval_ns = cpu_ms * kNsPerMs;
  options.cpu_duration_ns = cpu_s * kNsPerS;
  options.ring_events = ring;
  options.rotate_bytes = rotate_bytes;
  options.rotate_ns = rotate_s * kNsPerS;
  options.rules.max_steps = max_steps;
  options.max_bytes = max_bytes;
  options.retry_ns = retry_ms * kNsPerMs;
  options.gpu.enabled = gpu != 0;
  options.gpu.graph_nodes = graph_nodes != 0;
  options.gpu.buffer_bytes = buffer_bytes;
  options.gpu.cupti_path = cupti_path;
  options.nvml_interval_ns = gpu != 0 ? nvml_ms * kNsPerMs : 0;
  return without_gil([&] { return start_recording(options); });
}

PyObject* stop(PyObject*, PyObject* arguments) {
  const char* reason = nullptr;
  const char* members = nullptr;
  if (!PyArg_ParseTuple(arguments, "ss", &reason, &members)) return nullptr;
  const std::string reason_text = reason;
  static const char* const kKnown[] = {schema::end_reason::kStopped, schema::end_reason::kExit,
                                       schema::end_reason::kSignal};
  for (const char* known : kKnown) {
    if (reason_text != known) continue;
    const std::string text = members;
    return without_gil([&] { return stop_recording(known, text); });
  }
  PyErr_SetString(PyExc_ValueError, "unknown end reason");
  return nullptr;
}

PyObject* status(PyObject*, PyObject*) {
  RecorderStatus now;
  PyThreadState* state = PyEval_SaveThread();
  now = recorder_status();
  retake_gil(state);
  PyObject* drops = PyDict_New();
  PyObject* texts = PyList_New(0);
  if (drops == nullptr || texts == nullptr) return nullptr;
  for (unsigned i = 0; i < kDropWords.size(); ++i) {
    const std::uint64_t count = annotations().drops().count(i);
    if (count == 0) continue;
    PyObject* number = PyLong_FromUnsignedLongLong(count);
    if (number == nullptr || PyDict_SetItemString(drops, kDropWords[i], number) != 0) return nullptr;
    Py_DECREF(number);
  }
  for (const std::string& text : notices().all()) {
    PyObject* item = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                                          "replace");
    if (item == nullptr || PyList_Append(texts, item) != 0) return nullptr;
    Py_DECREF(item);
  }
  const bool zstd = available_codec() == schema::Codec::kZstd;
  return Py_BuildValue("{s:s,s:s,s:K,s:I,s:L,s:K,s:s,s:s,s:N,s:N}", "state", now.state, "folder",
                       now.folder.c_str(), "written_bytes",
                       static_cast<unsigned long long>(now.written_bytes), "segments", now.segments,
                       "steps", static_cast<long long>(now.steps), "ignored_ends",
                       static_cast<unsigned long long>(now.ignored_ends), "codec",
                       zstd ? "zstd" : "none", "clock", g_use_tsc ? "tsc" : "monotonic", "drops",
                       drops, "notices", texts);
}

PyObject* is_recording(PyObject*, PyObject*) {
  return PyBool_FromLong(annotations().state() != CaptureState::kIdle);
}

PyMethodDef kMethods[] = {
    {"start", start, METH_VARARGS, "Start recording with the given settings."},
    {"stop", stop, METH_VARARGS, "Stop recording: stop(reason, json_members)."},
    {"status", status, METH_NOARGS, "State of the recorder as a dict."},
    {"is_recording", is_recording, METH_NOARGS,
     "is_recording()\n--\n\nTrue while a recording runs, also when its capture is paused or ended."},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  init_clock();
  if (add_range_functions(module) != 0) return -1;
  return add_replay_type(module);
}

PyModuleDef_Slot kSlots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "tracemill._native",
                       "Native recorder of Tracemill.", 0, kMethods, kSlots,
                       nullptr,              nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&kModule); }
