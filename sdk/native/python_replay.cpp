#include "python_replay.hpp"

#include "python_gil.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "replay.hpp"

namespace tracemill {

namespace {

struct ReplayObject {
  PyObject_HEAD
  Replay* replay;
};

PyTypeObject* g_replay_type = nullptr;

Replay& replay_of(PyObject* self) { return *reinterpret_cast<ReplayObject*>(self)->replay; }

PyObject* refused() {
  PyErr_SetString(PyExc_OSError, "records could not be written (is the disk full?)");
  return nullptr;
}

ClockReading reading(long long monotonic_ns, long long realtime_ns) {
  ClockReading clock;
  clock.monotonic_ns = monotonic_ns;
  clock.realtime_ns = realtime_ns;
  return clock;
}

PyObject* replay_new(PyTypeObject* type, PyObject* arguments, PyObject*) {
  const char* folder = nullptr;
  const char* members = nullptr;
  long long rotate_bytes, monotonic_ns, realtime_ns;
  if (!PyArg_ParseTuple(arguments, "ssLLL", &folder, &members, &rotate_bytes, &monotonic_ns,
                        &realtime_ns)) {
    return nullptr;
  }
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = allocate(type, 0);
  if (self == nullptr) return nullptr;
  try {
    reinterpret_cast<ReplayObject*>(self)->replay =
        new Replay(folder, members, rotate_bytes, reading(monotonic_ns, realtime_ns));
  } catch (const std::exception& error) {
    Py_DECREF(self);
    PyErr_SetString(PyExc_MemoryError, error.what());
    return nullptr;
  }
  return self;
}

void replay_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<ReplayObject*>(self)->replay;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* set_clock(PyObject* self, PyObject* arguments) {
  long long monotonic_ns, realtime_ns;
  if (!PyArg_ParseTuple(arguments, "LL", &monotonic_ns, &realtime_ns)) return nullptr;
  replay_of(self).set_clock(reading(monotonic_ns, realtime_ns));
  Py_RETURN_NONE;
}

PyObject* name(PyObject* self, PyObject* arguments) {
  const char* text = nullptr;
  Py_ssize_t length = 0;
  if (!PyArg_ParseTuple(arguments, "s#", &text, &length)) return nullptr;
  return PyLong_FromUnsignedLong(
      replay_of(self).name({text, static_cast<std::size_t>(length)}));
}

PyObject* signature(PyObject* self, PyObject* arguments) {
  const char* text = nullptr;
  std::array<unsigned int, 9> s{};
  if (!PyArg_ParseTuple(arguments, "sIIIIIIIII", &text, &s[0], &s[1], &s[2], &s[3], &s[4], &s[5],
                        &s[6], &s[7], &s[8])) {
    return nullptr;
  }
  std::array<std::uint32_t, 9> shape{};
  std::copy(s.begin(), s.end(), shape.begin());
  return PyLong_FromUnsignedLong(replay_of(self).signature(text, shape));
}

PyObject* add(PyObject* self, PyObject* arguments) {
  const char* kind = nullptr;
  const char* bytes = nullptr;
  Py_ssize_t length = 0;
  Py_ssize_t columns = 0;
  if (!PyArg_ParseTuple(arguments, "sny#", &kind, &columns, &bytes, &length)) return nullptr;
  const Py_ssize_t row_bytes = columns * static_cast<Py_ssize_t>(sizeof(std::int64_t));
  if (columns <= 0 || length % row_bytes != 0) {
    PyErr_SetString(PyExc_ValueError, "the bytes are no whole number of rows");
    return nullptr;
  }
  const auto rows = static_cast<std::size_t>(length / row_bytes);
  // The bytes of a Python object may lie anywhere; 64-bit numbers may not.
  std::vector<std::int64_t> values(static_cast<std::size_t>(length) / sizeof(std::int64_t));
  if (length > 0) std::memcpy(values.data(), bytes, static_cast<std::size_t>(length));
  const std::string wrong =
      replay_of(self).add(kind, {values.data(), static_cast<std::size_t>(columns), rows});
  if (wrong.empty()) Py_RETURN_NONE;
  PyErr_SetString(PyExc_ValueError, wrong.c_str());
  return nullptr;
}

PyObject* flush(PyObject* self, PyObject*) {
  Replay& replay = replay_of(self);
  bool written = false;
  PyThreadState* state = PyEval_SaveThread();
  try {
    written = replay.flush();
  } catch (const std::exception&) {
    written = false;
  }
  retake_gil(state);
  if (!written) return refused();
  return PyLong_FromUnsignedLongLong(replay.written_bytes());
}

PyObject* finish(PyObject* self, PyObject* arguments) {
  const char* members = nullptr;
  if (!PyArg_ParseTuple(arguments, "s", &members)) return nullptr;
  Replay& replay = replay_of(self);
  if (!replay.finish(members)) return refused();
  return Py_BuildValue("KI", static_cast<unsigned long long>(replay.written_bytes()),
                       replay.segments());
}

PyMethodDef kMethods[] = {
    {"set_clock", set_clock, METH_VARARGS, "set_clock(monotonic_ns, realtime_ns): what time it is."},
    {"name", name, METH_VARARGS, "name(text): the id of a name, 0 if it is refused."},
    {"signature", signature, METH_VARARGS,
     "signature(name, gx, gy, gz, bx, by, bz, registers, static, dynamic): id of a launch."},
    {"add", add, METH_VARARGS,
     "add(kind, columns, bytes): rows as 64-bit numbers, column after column."},
    {"flush", flush, METH_NOARGS, "Write what was added; the bytes written so far."},
    {"finish", finish, METH_VARARGS, "finish(json_members): end it; (bytes, segments)."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot kSlots[] = {
    {Py_tp_new, reinterpret_cast<void*>(replay_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(replay_dealloc)},
    {Py_tp_methods, kMethods},
    {Py_tp_doc, const_cast<char*>("Replay(folder, json_members, rotate_bytes, monotonic_ns, "
                                  "realtime_ns): writes given records as a recording.")},
    {0, nullptr}};

PyType_Spec kSpec = {"tracemill._native.Replay", sizeof(ReplayObject), 0, Py_TPFLAGS_DEFAULT,
                     kSlots};

}  // namespace

int add_replay_type(PyObject* module) {
  if (g_replay_type == nullptr) {
    g_replay_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
    if (g_replay_type == nullptr) return -1;
  }
  Py_INCREF(g_replay_type);
  return PyModule_AddObject(module, "Replay", reinterpret_cast<PyObject*>(g_replay_type));
}

}  // namespace tracemill
