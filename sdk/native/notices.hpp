// What limits the recording, for `status()` and the segment, and one line on stderr per kind.
#pragma once
#include <mutex>
#include <string>
#include <vector>

namespace tracemill {

class Notices {
 public:
  // Keeps `text` once; with `warn` it is also printed, once per process.
  void add(const std::string& text, bool warn);
  std::vector<std::string> all() const;
  std::mutex& mutex() { return mutex_; }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

Notices& notices();

// `text` as a JSON string with quotes.
std::string json_string(const std::string& text);

}  // namespace tracemill
