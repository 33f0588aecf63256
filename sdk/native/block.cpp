#include "block.hpp"

#include <array>
#include <cstring>

#include "codec.hpp"

namespace tracemill {

namespace {

constexpr std::uint32_t kCrc32cPolynomial = 0x82F63B78;
constexpr std::size_t kChecksumOffset = schema::kFrameBytes - 4;
constexpr std::size_t kMinCompressBytes = 64;

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

const CrcTables& crc_tables() {
  static const CrcTables tables = [] {
    CrcTables made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCrc32cPolynomial : 0);
      made[0][i] = crc;
    }
    for (std::uint32_t i = 0; i < 256; ++i) {
      for (std::size_t t = 1; t < made.size(); ++t) {
        made[t][i] = (made[t - 1][i] >> 8) ^ made[0][made[t - 1][i] & 0xFF];
      }
    }
    return made;
  }();
  return tables;
}

std::uint64_t zigzag(std::uint64_t signed_value) {
  return (signed_value << 1) ^ (0 - (signed_value >> 63));
}

std::uint8_t bytes_needed(std::uint64_t all_bits) {
  std::uint8_t width = 0;
  for (; all_bits != 0; all_bits >>= 8) ++width;
  return width;
}

// The column's values by its encoding, in `encoded`; returns all bits that occur.
std::uint64_t encode_values(const std::vector<std::uint64_t>& values, schema::Encoding encoding,
                            std::vector<std::uint64_t>& encoded) {
  std::uint64_t previous = 0;
  std::uint64_t all_bits = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    std::uint64_t value = values[row];
    if (encoding == schema::Encoding::kDelta) {
      value = zigzag(values[row] - previous);
      previous = values[row];
    } else if (encoding == schema::Encoding::kZigzag) {
      value = zigzag(value);
    }
    encoded[row] = value;
    all_bits |= value;
  }
  return all_bits;
}

}  // namespace

std::uint32_t crc32c(const std::uint8_t* bytes, std::size_t length, std::uint32_t crc) {
  const CrcTables& t = crc_tables();
  crc = ~crc;
  for (; length >= 8; length -= 8, bytes += 8) {
    const std::uint32_t low = crc ^ (std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 |
                                     std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24);
    crc = t[7][low & 0xFF] ^ t[6][(low >> 8) & 0xFF] ^ t[5][(low >> 16) & 0xFF] ^ t[4][low >> 24] ^
          t[3][bytes[4]] ^ t[2][bytes[5]] ^ t[1][bytes[6]] ^ t[0][bytes[7]];
  }
  for (; length > 0; --length, ++bytes) crc = (crc >> 8) ^ t[0][(crc ^ *bytes) & 0xFF];
  return ~crc;
}

void encode_columns(const Columns& columns, const schema::Encoding* encodings, Payload& payload) {
  const std::size_t rows = columns.rows();
  static thread_local std::vector<std::uint64_t> encoded;  // kept: growing it anew costs page faults
  encoded.resize(rows);
  for (std::size_t c = 0; c < columns.values.size(); ++c) {
    const std::uint64_t all_bits = encode_values(columns.values[c], encodings[c], encoded);
    const std::uint8_t width = bytes_needed(all_bits);
    payload.bytes.push_back(width);
    std::size_t at = payload.bytes.size();
    payload.bytes.resize(at + width * rows);
    for (unsigned plane = 0; plane < width; ++plane) {
      std::uint8_t* bytes = payload.bytes.data() + at;
      for (std::size_t row = 0; row < rows; ++row) {
        bytes[row] = static_cast<std::uint8_t>(encoded[row] >> (8 * plane));
      }
      at += rows;
      payload.cuts.push_back(at);
    }
  }
}

void seal_block(const BlockHeader& header, const Payload& payload,
                std::vector<std::uint8_t>& block) {
  block.assign(schema::kFrameBytes, 0);
  schema::Codec codec = schema::Codec::kZstd;
  const std::vector<std::uint8_t>& bytes = payload.bytes;
  const bool compressed = bytes.size() >= kMinCompressBytes &&
                          compress(bytes, payload.cuts, block) &&
                          block.size() - schema::kFrameBytes < bytes.size();
  if (!compressed) {
    codec = schema::Codec::kNone;
    block.resize(schema::kFrameBytes);
    block.insert(block.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::uint8_t> frame;
  frame.reserve(schema::kFrameBytes);
  append_le(frame, schema::kBlockMagic);
  append_le(frame, static_cast<std::uint16_t>(header.kind));
  append_le(frame, static_cast<std::uint8_t>(codec));
  append_le(frame, std::uint8_t{0});
  append_le(frame, header.rows);
  append_le(frame, static_cast<std::uint32_t>(block.size() - schema::kFrameBytes));
  append_le(frame, static_cast<std::uint32_t>(bytes.size()));
  append_le(frame, header.sequence);
  append_le(frame, header.first_ns);
  append_le(frame, header.last_ns);
  append_le(frame, std::uint32_t{0});
  append_le(frame, std::uint32_t{0});
  std::memcpy(block.data(), frame.data(), frame.size());
  const std::uint32_t crc = crc32c(block.data(), block.size());
  for (std::size_t i = 0; i < 4; ++i) {
    block[kChecksumOffset + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
}

}  // namespace tracemill
