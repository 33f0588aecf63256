// Blocks of the raw format: column encodings, byte planes, frame, checksum.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "generated/records.hpp"

namespace tracemill {

// Values of a columnar kind, one vector per column, all of the same length.
struct Columns {
  explicit Columns(std::size_t columns) : values(columns) {}
  std::size_t rows() const { return values.empty() ? 0 : values.front().size(); }
  void clear() {
    for (auto& column : values) column.clear();
  }
  template <typename... Values>
  void add(Values... row) {
    std::size_t column = 0;
    (values[column++].push_back(static_cast<std::uint64_t>(row)), ...);
  }
  std::vector<std::vector<std::uint64_t>> values;
};

struct BlockHeader {
  schema::Kind kind;
  std::uint32_t rows;
  std::uint32_t sequence;
  std::int64_t first_ns;
  std::int64_t last_ns;
};

std::uint32_t crc32c(const std::uint8_t* bytes, std::size_t length, std::uint32_t crc = 0);

// The payload of a block, and the positions in it where a plane of a column ends.
struct Payload {
  void clear() {
    bytes.clear();
    cuts.clear();
  }
  std::vector<std::uint8_t> bytes;
  std::vector<std::size_t> cuts;
};

// Appends the payload of a columnar block to `payload`.
void encode_columns(const Columns& columns, const schema::Encoding* encodings, Payload& payload);

// Makes a whole block, ready to be written with one call, in `block`.
void seal_block(const BlockHeader& header, const Payload& payload,
                std::vector<std::uint8_t>& block);

// Little-endian append, whatever the machine's order.
template <typename Integer>
void append_le(std::vector<std::uint8_t>& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

}  // namespace tracemill
