#include "python_range.hpp"

#include <cstdint>
#include <exception>
#include <new>
#include <vector>

#include "annotations.hpp"

// Both are in the stable ABI only since 3.10, but every Python since 3.7 has them just so.
#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030A0000
extern "C" PyAPI_FUNC(const char*) PyUnicode_AsUTF8AndSize(PyObject* unicode, Py_ssize_t* size);
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#endif

namespace tracemill {

namespace {

struct Name {
  std::uint32_t series;
  std::int64_t index;
};

// Names that are literals in the script are the same object at every call: remembers the id of
// those without an index. Guarded by the GIL; holds references so that no address is reused.
struct CachedName {
  PyObject* object;
  std::uint32_t series;
};
constexpr std::size_t kCachedNames = 256;
CachedName g_cache[kCachedNames];

PyTypeObject* g_range_type = nullptr;

Name intern_text(const char* bytes, Py_ssize_t length) {
  const FoldedName folded = fold_name({bytes, static_cast<std::size_t>(length)});
  try {
    return {annotations().strings().intern(folded.series), folded.index};
  } catch (const std::exception&) {
    return {0, -1};
  }
}

// Any object has a name: text that is no UTF-8 is replaced, other objects give their str().
Name resolve_other(PyObject* object) {
  Name name{0, -1};
  PyObject* text = PyUnicode_Check(object) ? object : PyObject_Str(object);
  PyObject* bytes = text == nullptr ? nullptr : PyUnicode_AsEncodedString(text, "utf-8", "replace");
  char* data = nullptr;
  Py_ssize_t length = 0;
  if (bytes != nullptr && PyBytes_AsStringAndSize(bytes, &data, &length) == 0) {
    name = intern_text(data, length);
  }
  PyErr_Clear();
  Py_XDECREF(bytes);
  if (text != object) Py_XDECREF(text);
  return name;
}

Name resolve(PyObject* object) {
  CachedName& cached = g_cache[(reinterpret_cast<std::uintptr_t>(object) >> 4) % kCachedNames];
  if (cached.object == object) return {cached.series, -1};
  if (!PyUnicode_Check(object)) return resolve_other(object);
  Py_ssize_t length = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(object, &length);
  if (bytes == nullptr) {
    PyErr_Clear();
    return resolve_other(object);
  }
  const Name name = intern_text(bytes, length);
  if (name.index < 0 && name.series != 0) {
    PyObject* old = cached.object;
    Py_INCREF(object);
    cached = {object, name.series};
    Py_XDECREF(old);
  }
  return name;
}

std::uint64_t begin_named(PyObject* object) {
  if (annotations().state() == CaptureState::kIdle) return 0;
  const Name name = resolve(object);
  return annotations().begin(name.series, name.index);
}

// The single argument of a call, positional or under `keyword`; null with TypeError set otherwise.
PyObject* one_argument(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                       const char* function, const char* keyword) {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  if (count == 1 && named == 0) return arguments[0];
  if (count == 0 && named == 1 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), keyword) == 0) {
    return arguments[0];
  }
  PyErr_Format(PyExc_TypeError, "%s() takes one argument, %s", function, keyword);
  return nullptr;
}

constexpr unsigned long long kNoHandle = ~0ull;

struct RangeObject {
  PyObject_HEAD
  PyObject* name;        // the name as given; null for a step
  std::int64_t step;     // number of the step
  std::uint64_t handle;  // of the range that is open
  std::vector<std::uint64_t>* outer;  // handles when the same object is entered again
  bool entered;
};

PyObject* make_range(PyObject* name, std::int64_t step) {
  RangeObject* range = PyObject_New(RangeObject, g_range_type);
  if (range == nullptr) return nullptr;
  Py_XINCREF(name);
  range->name = name;
  range->step = step;
  range->handle = 0;
  range->outer = nullptr;
  range->entered = false;
  return reinterpret_cast<PyObject*>(range);
}

void range_dealloc(PyObject* self) {
  auto* range = reinterpret_cast<RangeObject*>(self);
  Py_XDECREF(range->name);
  delete range->outer;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* range_enter(PyObject* self, PyObject*) {
  auto* range = reinterpret_cast<RangeObject*>(self);
  if (range->entered) {
    if (range->outer == nullptr) range->outer = new (std::nothrow) std::vector<std::uint64_t>;
    if (range->outer != nullptr) range->outer->push_back(range->handle);
  }
  range->entered = true;
  range->handle = range->name != nullptr ? begin_named(range->name)
                                         : annotations().begin(kStepSeries, range->step);
  Py_INCREF(self);
  return self;
}

PyObject* range_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
  auto* range = reinterpret_cast<RangeObject*>(self);
  annotations().end(range->handle);
  if (range->outer != nullptr && !range->outer->empty()) {
    range->handle = range->outer->back();
    range->outer->pop_back();
  } else {
    range->handle = 0;
    range->entered = false;
  }
  Py_RETURN_NONE;
}

PyObject* range_name(RangeObject* range) {
  if (range->name == nullptr) {
    return PyUnicode_FromFormat("step_%lld", static_cast<long long>(range->step));
  }
  return PyObject_Str(range->name);
}

// As a decorator: the wrapping is done in Python, once per function.
PyObject* range_call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PyObject* function = nullptr;
  if ((keywords != nullptr && PyDict_Size(keywords) != 0) ||
      !PyArg_ParseTuple(arguments, "O", &function)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a decorator takes one function");
    return nullptr;
  }
  PyObject* module = PyImport_ImportModule("tracemill._decorate");
  if (module == nullptr) return nullptr;
  PyObject* name = range_name(reinterpret_cast<RangeObject*>(self));
  PyObject* wrapped =
      name == nullptr ? nullptr : PyObject_CallMethod(module, "wrap", "OO", name, function);
  Py_XDECREF(name);
  Py_DECREF(module);
  return wrapped;
}

PyObject* range_repr(PyObject* self) {
  PyObject* name = range_name(reinterpret_cast<RangeObject*>(self));
  if (name == nullptr) return nullptr;
  PyObject* text = PyUnicode_FromFormat("<tracemill range %R>", name);
  Py_DECREF(name);
  return text;
}

PyObject* annotate(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  PyObject* name = one_argument(arguments, count, names, "annotate", "name");
  return name == nullptr ? nullptr : make_range(name, 0);
}

PyObject* step(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  PyObject* number = one_argument(arguments, count, names, "step", "number");
  if (number == nullptr) return nullptr;
  PyObject* whole = PyNumber_Index(number);
  const long long value = whole == nullptr ? -1 : PyLong_AsLongLong(whole);
  Py_XDECREF(whole);
  PyErr_Clear();
  constexpr long long kTooLong = 1000000000000000000;  // 19 digits
  if (value >= 0 && value < kTooLong) return make_range(nullptr, value);
  PyObject* name = PyUnicode_FromFormat("step_%S", number);
  if (name == nullptr) {
    PyErr_Clear();
    name = PyUnicode_FromString("step");
    if (name == nullptr) return nullptr;
  }
  PyObject* range = make_range(name, 0);
  Py_DECREF(name);
  return range;
}

PyObject* annotation_begin(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                           PyObject* names) {
  PyObject* name = one_argument(arguments, count, names, "annotation_begin", "name");
  return name == nullptr ? nullptr : PyLong_FromUnsignedLongLong(begin_named(name));
}

PyObject* annotation_end(PyObject*, PyObject* const* arguments, Py_ssize_t count,
                         PyObject* names) {
  PyObject* object = one_argument(arguments, count, names, "annotation_end", "handle");
  if (object == nullptr) return nullptr;
  // No handle has all bits set: it stands for everything that cannot be one.
  const unsigned long long handle =
      PyLong_Check(object) ? PyLong_AsUnsignedLongLong(object) : kNoHandle;
  if (handle == kNoHandle) PyErr_Clear();
  annotations().end(handle);
  Py_RETURN_NONE;
}

template <typename Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kFunctions[] = {
    {"annotate", as_method(annotate), METH_FASTCALL | METH_KEYWORDS,
     "annotate(name)\n--\n\nA range named `name`: use as `with annotate(name):` or as a decorator\n"
     "(functions, coroutines, generators). `<name>_<n>` becomes number n of the series `name`."},
    {"step", as_method(step), METH_FASTCALL | METH_KEYWORDS,
     "step(number)\n--\n\nThe range of a training step: `with step(i):`. Counts for max_steps and "
     "schedules."},
    {"annotation_begin", as_method(annotation_begin), METH_FASTCALL | METH_KEYWORDS,
     "annotation_begin(name)\n--\n\nStart a range and return its handle (0 if nothing is recorded)."},
    {"annotation_end", as_method(annotation_end), METH_FASTCALL | METH_KEYWORDS,
     "annotation_end(handle)\n--\n\nEnd the range of `annotation_begin`. Anything else is ignored."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kRangeMethods[] = {
    {"__enter__", range_enter, METH_NOARGS, nullptr},
    {"__exit__", as_method(range_exit), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot kRangeSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(range_dealloc)},
    {Py_tp_call, reinterpret_cast<void*>(range_call)},
    {Py_tp_repr, reinterpret_cast<void*>(range_repr)},
    {Py_tp_methods, kRangeMethods},
    {Py_tp_doc, const_cast<char*>("A range to be entered with `with`, or a decorator.")},
    {0, nullptr}};

PyType_Spec kRangeSpec = {"tracemill._native.Range", sizeof(RangeObject), 0, Py_TPFLAGS_DEFAULT,
                          kRangeSlots};

}  // namespace

int add_range_functions(PyObject* module) {
  if (g_range_type == nullptr) {
    g_range_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kRangeSpec));
    if (g_range_type == nullptr) return -1;
  }
  Py_INCREF(g_range_type);
  if (PyModule_AddObject(module, "Range", reinterpret_cast<PyObject*>(g_range_type)) != 0) {
    return -1;
  }
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tracemill
