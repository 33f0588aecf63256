// Python module tracemill_analysis.importers.kineto._native: one function, decode.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <new>

#include "trace_events.hpp"

namespace {

using tracemill::Event;

// Kept from call to call for its memory; calls hold the GIL.
tracemill::TraceEvents& decoder() {
  static tracemill::TraceEvents instance;
  return instance;
}

bool set(PyObject* target, const char* name, PyObject* value) {
  if (value == nullptr) return false;
  const bool good = PyDict_SetItemString(target, name, value) == 0;
  Py_DECREF(value);
  return good;
}

// A column as bytes: `of` gives the value of an event.
template <typename Value, typename Of>
PyObject* column(const std::vector<Event>& events, Of of) {
  const auto size = static_cast<Py_ssize_t>(events.size() * sizeof(Value));
  PyObject* result = PyBytes_FromStringAndSize(nullptr, size);
  if (result == nullptr) return nullptr;
  char* at = PyBytes_AsString(result);
  for (const Event& event : events) {
    const Value value = of(event);
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
  return result;
}

PyObject* texts(const std::vector<std::string_view>& found) {
  PyObject* result = PyList_New(static_cast<Py_ssize_t>(found.size()));
  for (std::size_t i = 0; result != nullptr && i < found.size(); ++i) {
    PyObject* text = PyUnicode_DecodeUTF8(
        found[i].data(), static_cast<Py_ssize_t>(found[i].size()), "strict");
    if (text == nullptr || PyList_SetItem(result, static_cast<Py_ssize_t>(i), text) != 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

PyObject* columns(const tracemill::TraceEvents& decoded) {
  PyObject* result = PyDict_New();
  if (result == nullptr) return nullptr;
  const auto& events = decoded.complete();
  bool good = set(result, "elements", PyLong_FromSize_t(decoded.elements())) &&
              set(result, "texts", texts(decoded.texts())) &&
              set(result, "start_ns", column<std::int64_t>(events, [](const Event& e) { return e.start_ns; })) &&
              set(result, "dur_ns", column<std::int64_t>(events, [](const Event& e) { return e.dur_ns; })) &&
              set(result, "present", column<std::uint32_t>(events, [](const Event& e) { return e.present; })) &&
              set(result, "odd", column<std::uint8_t>(events, [](const Event& e) { return std::uint8_t{e.odd}; }));
  for (std::size_t field = 0; good && field < tracemill::kIntegerFields; ++field) {
    good = set(result, tracemill::kIntegerNames[field],
               column<std::int64_t>(events, [field](const Event& e) { return e.integers[field]; }));
  }
  for (std::size_t field = 0; good && field < tracemill::kTextFields; ++field) {
    good = set(result, tracemill::kTextNames[field],
               column<std::int32_t>(events, [field](const Event& e) { return e.texts[field]; }));
  }
  if (!good) Py_CLEAR(result);
  return result;
}

PyObject* decode(PyObject*, PyObject* arguments) {
  Py_buffer data;
  Py_ssize_t end;
  if (!PyArg_ParseTuple(arguments, "y*n", &data, &end)) return nullptr;
  PyObject* result = nullptr;
  try {
    if (end < 0 || end > data.len) {
      PyErr_SetString(PyExc_ValueError, "end lies outside of data");
    } else {
      const char* begin = static_cast<const char*>(data.buf);
      decoder().decode(begin, begin + end);
      result = columns(decoder());
    }
  } catch (const tracemill::json::NotPlain&) {
    result = Py_None;
    Py_INCREF(result);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  PyBuffer_Release(&data);
  return result;
}

PyObject* integer_names(const char* const* names, std::size_t count) {
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(count));
  for (std::size_t i = 0; result != nullptr && i < count; ++i) {
    PyObject* name = PyUnicode_FromString(names[i]);
    if (name == nullptr || PyTuple_SetItem(result, static_cast<Py_ssize_t>(i), name) != 0) {
      Py_CLEAR(result);
    }
  }
  return result;
}

PyMethodDef kMethods[] = {
    {"decode", decode, METH_VARARGS,
     "decode(data, end) -> columns of the complete events in data[:end], or None if any event is\n"
     "not plain."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, kMethods,
                       nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  PyObject* module = PyModule_Create(&kModule);
  if (module == nullptr) return nullptr;
  PyObject* names =
      integer_names(tracemill::kIntegerNames.data(), tracemill::kIntegerNames.size());
  if (names == nullptr || PyModule_AddObject(module, "INTEGERS", names) != 0) {
    Py_XDECREF(names);
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
