#include "codec.hpp"

#include <cstddef>

#if defined(TRACEMILL_STATIC_ZSTD)
#include <zstd.h>
#else
#include <dlfcn.h>
#endif

namespace tracemill {

namespace {

// Level 3 and 1 differ by less than 1 % on these planes; 1 costs half as much.
constexpr int kLevel = 1;

struct Zstd {
  std::size_t (*bound)(std::size_t) = nullptr;
  void* (*create_context)() = nullptr;
  std::size_t (*compress)(void*, void*, std::size_t, const void*, std::size_t, int) = nullptr;
  std::size_t (*free_context)(void*) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  bool usable() const { return bound && create_context && free_context && compress && is_error; }
};

Zstd load_zstd() {
  Zstd zstd;
#if defined(TRACEMILL_STATIC_ZSTD)
  zstd.bound = &ZSTD_compressBound;
  zstd.create_context = []() -> void* { return ZSTD_createCCtx(); };
  zstd.free_context = [](void* context) {
    return ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context));
  };
  zstd.compress = [](void* context, void* to, std::size_t room, const void* from,
                     std::size_t length, int level) {
    return ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context), to, room, from, length, level);
  };
  zstd.is_error = &ZSTD_isError;
#else
  for (const char* name : {"libzstd.so.1", "libzstd.1.dylib"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    zstd.bound = reinterpret_cast<decltype(zstd.bound)>(dlsym(library, "ZSTD_compressBound"));
    zstd.create_context =
        reinterpret_cast<decltype(zstd.create_context)>(dlsym(library, "ZSTD_createCCtx"));
    zstd.free_context =
        reinterpret_cast<decltype(zstd.free_context)>(dlsym(library, "ZSTD_freeCCtx"));
    zstd.compress =
        reinterpret_cast<decltype(zstd.compress)>(dlsym(library, "ZSTD_compressCCtx"));
    zstd.is_error = reinterpret_cast<decltype(zstd.is_error)>(dlsym(library, "ZSTD_isError"));
    if (zstd.usable()) break;
  }
#endif
  return zstd;
}

const Zstd& zstd() {
  static const Zstd loaded = load_zstd();
  return loaded;
}

struct Context {
  ~Context() {
    if (pointer != nullptr) zstd().free_context(pointer);
  }
  void* pointer = nullptr;
};

}  // namespace

schema::Codec available_codec() {
  return zstd().usable() ? schema::Codec::kZstd : schema::Codec::kNone;
}

bool compress(const std::vector<std::uint8_t>& input, std::vector<std::uint8_t>& output) {
  if (!zstd().usable()) return false;
  // One for the thread that compresses; it lives as long as the recording.
  static thread_local Context context;
  if (context.pointer == nullptr) context.pointer = zstd().create_context();
  if (context.pointer == nullptr) return false;
  const std::size_t before = output.size();
  output.resize(before + zstd().bound(input.size()));
  const std::size_t written =
      zstd().compress(context.pointer, output.data() + before, output.size() - before, input.data(),
                      input.size(), kLevel);
  if (zstd().is_error(written) != 0) {
    output.resize(before);
    return false;
  }
  output.resize(before + written);
  return true;
}

}  // namespace tracemill
