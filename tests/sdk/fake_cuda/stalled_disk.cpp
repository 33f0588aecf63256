// Preloaded into a process: writes to segments wait while the file named by STALL exists.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) ssize_t write(int file, const void* bytes,
                                                                std::size_t count) {
  using Write = ssize_t (*)(int, const void*, std::size_t);
  static const Write real = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "write"));
  static const char* const stall = std::getenv("STALL");
  if (stall != nullptr && file > 2) {
    char link[64];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 6 && std::memcmp(path + length - 6, ".tmraw", 6) == 0) {
      while (access(stall, F_OK) == 0) usleep(2000);
    }
  }
  return real(file, bytes, count);
}
