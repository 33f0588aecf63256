// Interned launches: name, grid, block, registers and shared memory become one id.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "strings.hpp"

namespace tracemill::cupti {

struct Signature {
  std::uint32_t name_id = 0;
  std::array<std::uint32_t, 6> grid_and_block{};
  std::uint32_t registers = 0;
  std::uint32_t static_shared = 0;
  std::uint32_t dynamic_shared = 0;
};

class SignatureTable {
 public:
  static constexpr std::size_t kMaxKept = 65536;

  explicit SignatureTable(StringTable& strings) : strings_(strings) { clear(); }
  // The id of the kernel in a CUPTI record. Ids are never used twice in a process.
  std::uint32_t intern(const std::uint8_t* record);
  const Signature& of(std::uint32_t id) const { return entries_[id - first_id_].signature; }
  // Duration of the row before with this signature; zero at the beginning of a block.
  std::int64_t& last_duration(std::uint32_t id) { return entries_[id - first_id_].last_duration; }
  // Number of the segment file in which the signature was written last.
  std::uint64_t& written_in(std::uint32_t id) { return entries_[id - first_id_].written_in; }
  void forget_durations();
  // Starts anew when many launches differ; ids that were given out are no longer known.
  void clear_if_full();

 private:
  struct Entry {
    std::uint64_t hash;
    const char* name;
    std::string raw_name;
    Signature signature;
    std::int64_t last_duration;
    std::uint64_t written_in;
  };
  void clear();
  void grow();
  std::uint32_t name_id(const char* name);

  StringTable& strings_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // position in entries_ + 1
  std::uint32_t first_id_ = 1;
};

}  // namespace tracemill::cupti
