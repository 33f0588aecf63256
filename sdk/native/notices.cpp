#include "notices.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tracemill {

Notices& notices() {
  static Notices& instance = *new Notices;  // never destroyed: threads may outlive main
  return instance;
}

void Notices::add(const std::string& text, bool warn) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(texts_.begin(), texts_.end(), text) != texts_.end()) return;
    texts_.push_back(text);
  }
  if (!warn) return;
  const std::string line = "tracemill: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // no stderr, nothing to do
}

std::vector<std::string> Notices::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return texts_;
}

std::string json_string(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + '"';
}

}  // namespace tracemill
