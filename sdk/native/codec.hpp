// Compression of block payloads: zstd linked in at build time, else from a libzstd that the system
// has, else none.
#pragma once
#include <cstdint>
#include <vector>

#include "generated/records.hpp"

namespace tracemill {

// What `compress` will use. Looks for the library on the first call.
schema::Codec available_codec();

// Compresses `input` to the end of `output`; false if there is no codec or it failed, in which case
// `output` is as before. One thread at a time.
bool compress(const std::vector<std::uint8_t>& input, std::vector<std::uint8_t>& output);

}  // namespace tracemill
