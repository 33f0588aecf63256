#include "codec.hpp"

#include <cstddef>
#include <type_traits>

#if defined(TRACEMILL_STATIC_ZSTD)
#include <zstd.h>
#else
#include <dlfcn.h>
#endif

namespace tracemill {

namespace {

// Level 3 and 1 differ by less than 1 % on these planes; 1 costs half as much.
constexpr int kLevel = 1;
// Parts below this size do not earn back the code table that a part of its own costs.
constexpr std::size_t kMinPartBytes = 1024;

// What is used of zstd's stable interface, declared here so that no header is needed to load it.
constexpr int kLevelParameter = 100;
constexpr int kFlush = 1;
constexpr int kEnd = 2;
constexpr int kResetSession = 1;
struct InBuffer {
  const void* bytes;
  std::size_t size, position;
};
struct OutBuffer {
  void* bytes;
  std::size_t size, position;
};

struct Zstd {
  std::size_t (*bound)(std::size_t) = nullptr;
  void* (*create_context)() = nullptr;
  std::size_t (*free_context)(void*) = nullptr;
  unsigned (*is_error)(std::size_t) = nullptr;
  std::size_t (*reset)(void*, int) = nullptr;
  std::size_t (*set_parameter)(void*, int, int) = nullptr;
  std::size_t (*set_input_size)(void*, unsigned long long) = nullptr;
  std::size_t (*compress_stream)(void*, OutBuffer*, InBuffer*, int) = nullptr;
  bool usable() const {
    return bound && create_context && free_context && is_error && reset && set_parameter &&
           set_input_size && compress_stream;
  }
};

Zstd load_zstd() {
  Zstd zstd;
#if defined(TRACEMILL_STATIC_ZSTD)
  static_assert(ZSTD_c_compressionLevel == kLevelParameter && ZSTD_e_flush == kFlush &&
                ZSTD_e_end == kEnd && ZSTD_reset_session_only == kResetSession);
  static_assert(sizeof(ZSTD_inBuffer) == sizeof(InBuffer) &&
                sizeof(ZSTD_outBuffer) == sizeof(OutBuffer));
  zstd.bound = &ZSTD_compressBound;
  zstd.create_context = []() -> void* { return ZSTD_createCCtx(); };
  zstd.free_context = [](void* context) {
    return ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context));
  };
  zstd.is_error = &ZSTD_isError;
  zstd.reset = [](void* context, int what) {
    return ZSTD_CCtx_reset(static_cast<ZSTD_CCtx*>(context), static_cast<ZSTD_ResetDirective>(what));
  };
  zstd.set_parameter = [](void* context, int parameter, int value) {
    return ZSTD_CCtx_setParameter(static_cast<ZSTD_CCtx*>(context),
                                  static_cast<ZSTD_cParameter>(parameter), value);
  };
  zstd.set_input_size = [](void* context, unsigned long long bytes) {
    return ZSTD_CCtx_setPledgedSrcSize(static_cast<ZSTD_CCtx*>(context), bytes);
  };
  zstd.compress_stream = [](void* context, OutBuffer* to, InBuffer* from, int end) {
    ZSTD_outBuffer out{to->bytes, to->size, to->position};
    ZSTD_inBuffer in{from->bytes, from->size, from->position};
    const std::size_t left = ZSTD_compressStream2(static_cast<ZSTD_CCtx*>(context), &out, &in,
                                                  static_cast<ZSTD_EndDirective>(end));
    to->position = out.pos;
    from->position = in.pos;
    return left;
  };
#else
  for (const char* name : {"libzstd.so.1", "libzstd.1.dylib"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto bind = [library](const char* symbol, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    };
    bind("ZSTD_compressBound", zstd.bound);
    bind("ZSTD_createCCtx", zstd.create_context);
    bind("ZSTD_freeCCtx", zstd.free_context);
    bind("ZSTD_isError", zstd.is_error);
    bind("ZSTD_CCtx_reset", zstd.reset);
    bind("ZSTD_CCtx_setParameter", zstd.set_parameter);
    bind("ZSTD_CCtx_setPledgedSrcSize", zstd.set_input_size);
    bind("ZSTD_compressStream2", zstd.compress_stream);
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

bool compress(const std::vector<std::uint8_t>& input, const std::vector<std::size_t>& cuts,
              std::vector<std::uint8_t>& output) {
  const Zstd& lib = zstd();
  if (!lib.usable()) return false;
  // One for the thread that compresses; it lives as long as the recording.
  static thread_local Context context;
  if (context.pointer == nullptr) {
    context.pointer = lib.create_context();
    if (context.pointer == nullptr) return false;
    lib.set_parameter(context.pointer, kLevelParameter, kLevel);
  }
  lib.reset(context.pointer, kResetSession);
  lib.set_input_size(context.pointer, input.size());
  const std::size_t before = output.size();
  // Besides the worst case, room for the header of each part.
  output.resize(before + lib.bound(input.size()) + 4 * cuts.size() + 16);
  OutBuffer to{output.data() + before, output.size() - before, 0};
  InBuffer from{input.data(), 0, 0};
  const auto pass = [&](std::size_t end, int directive) {
    from.size = end;
    return lib.compress_stream(context.pointer, &to, &from, directive) == 0;
  };
  bool good = true;
  for (const std::size_t cut : cuts) {
    if (good && cut >= from.position + kMinPartBytes && cut < input.size()) good = pass(cut, kFlush);
  }
  good = good && pass(input.size(), kEnd);
  output.resize(good ? before + to.position : before);
  return good;
}

}  // namespace tracemill
