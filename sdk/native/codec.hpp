// Compression of block payloads: zstd linked in at build time, else from a libzstd that the system
// has, else none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "generated/records.hpp"

namespace tracemill {

// What `compress` will use. Looks for the library on the first call.
schema::Codec available_codec();

// Compresses `input` to the end of `output`, as one frame; false if there is no codec or it failed,
// in which case `output` is as before. `cuts` are ascending positions in `input` where the kind of
// data changes: each part gets code tables of its own. One thread at a time.
bool compress(const std::vector<std::uint8_t>& input, const std::vector<std::size_t>& cuts,
              std::vector<std::uint8_t>& output);

}  // namespace tracemill
