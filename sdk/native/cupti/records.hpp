// Activity records of CUPTI 11.7 to 13.x (first generation). Records have grown at their end from
// release to release while the fields below kept their places, so they are read by offset and the
// library itself steps from one record to the next.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tracemill::cupti {

enum ActivityKind : std::uint32_t {
  kMemcpyKind = 1,
  kMemsetKind = 2,
  kDriverKind = 4,
  kRuntimeKind = 5,
  kConcurrentKernelKind = 10,
  kOverheadKind = 17,
  kPeerMemcpyKind = 22,
  kSynchronizationKind = 38,
  kGraphTraceKind = 51,
};
constexpr std::uint32_t kActivityKinds = 64;  // more than there are

template <typename Value>
struct Field {
  std::size_t offset;
  Value operator()(const std::uint8_t* record) const {
    Value value;
    std::memcpy(&value, record + offset, sizeof value);
    return value;
  }
};
using U8 = Field<std::uint8_t>;
using U16 = Field<std::uint16_t>;
using U32 = Field<std::uint32_t>;
using I32 = Field<std::int32_t>;
using U64 = Field<std::uint64_t>;

constexpr U32 kKind{0};

namespace kernel {
constexpr U16 kRegisters{6};
constexpr U64 kStart{16}, kEnd{24};
constexpr U32 kDevice{40}, kContext{44}, kStream{48};
constexpr std::size_t kGridAndBlock = 52;  // six 32-bit numbers
constexpr I32 kStaticShared{76}, kDynamicShared{80};
constexpr U32 kCorrelation{92};
constexpr Field<const char*> kName{104};
constexpr U64 kGraphNode{144};
}  // namespace kernel

namespace memcpy_record {
constexpr U8 kCopyKind{4}, kSourceKind{5}, kTargetKind{6};
constexpr U64 kBytes{8}, kStart{16}, kEnd{24};
constexpr U32 kDevice{32}, kContext{36}, kStream{40}, kCorrelation{44};
}  // namespace memcpy_record

namespace peer_memcpy {  // up to the stream as a plain copy
constexpr U32 kTargetDevice{52}, kCorrelation{60};
}  // namespace peer_memcpy

namespace memset_record {
constexpr U32 kValue{4};
constexpr U64 kBytes{8}, kStart{16}, kEnd{24};
constexpr U32 kDevice{32}, kContext{36}, kStream{40}, kCorrelation{44};
constexpr U16 kMemoryKind{50};
}  // namespace memset_record

namespace api {
constexpr U32 kCallbackId{4};
constexpr U64 kStart{8}, kEnd{16};
constexpr U32 kThread{28}, kCorrelation{32};
}  // namespace api

namespace graph_trace {
constexpr U32 kCorrelation{4};
constexpr U64 kStart{8}, kEnd{16};
constexpr U32 kDevice{24}, kGraph{28}, kContext{32}, kStream{36};
}  // namespace graph_trace

namespace synchronization {
constexpr U32 kType{4};
constexpr U64 kStart{8}, kEnd{16};
constexpr U32 kCorrelation{24}, kContext{28}, kStream{32};
}  // namespace synchronization

namespace overhead {
constexpr U32 kCause{4}, kObjectKind{8}, kThread{16};
constexpr std::uint32_t kObjectIsThread = 2;
constexpr U64 kStart{24}, kEnd{32};
}  // namespace overhead

}  // namespace tracemill::cupti
