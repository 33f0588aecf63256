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
  std::size_t (*compress)(void*, std::size_t, const void*, std::size_t, int) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  bool usable() const { return bound != nullptr && compress != nullptr && is_error != nullptr; }
};

Zstd load_zstd() {
  Zstd zstd;
#if defined(TRACEMILL_STATIC_ZSTD)
  zstd.bound = &ZSTD_compressBound;
  zstd.compress = &ZSTD_compress;
  zstd.is_error = &ZSTD_isError;
#else
  for (const char* name : {"libzstd.so.1", "libzstd.1.dylib"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    zstd.bound = reinterpret_cast<decltype(zstd.bound)>(dlsym(library, "ZSTD_compressBound"));
    zstd.compress = reinterpret_cast<decltype(zstd.compress)>(dlsym(library, "ZSTD_compress"));
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

}  // namespace

schema::Codec available_codec() {
  return zstd().usable() ? schema::Codec::kZstd : schema::Codec::kNone;
}

bool compress(const std::vector<std::uint8_t>& input, std::vector<std::uint8_t>& output) {
  if (!zstd().usable()) return false;
  const std::size_t before = output.size();
  output.resize(before + zstd().bound(input.size()));
  const std::size_t written = zstd().compress(output.data() + before, output.size() - before,
                                              input.data(), input.size(), kLevel);
  if (zstd().is_error(written) != 0) {
    output.resize(before);
    return false;
  }
  output.resize(before + written);
  return true;
}

}  // namespace tracemill
