// Checks the offsets of cupti/records.hpp against NVIDIA's headers at compile time. The struct names,
// which change from release to release, come from the command line.
#include <cupti.h>

#include <cstddef>

#include "cupti/records.hpp"

using namespace tracemill::cupti;

#define AT(field, type, member) \
  static_assert((field).offset == offsetof(type, member), #field " is not " #type "::" #member)
#define KIND(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #ours)

KIND(kMemcpyKind, CUPTI_ACTIVITY_KIND_MEMCPY);
KIND(kMemsetKind, CUPTI_ACTIVITY_KIND_MEMSET);
KIND(kDriverKind, CUPTI_ACTIVITY_KIND_DRIVER);
KIND(kRuntimeKind, CUPTI_ACTIVITY_KIND_RUNTIME);
KIND(kConcurrentKernelKind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
KIND(kOverheadKind, CUPTI_ACTIVITY_KIND_OVERHEAD);
KIND(kPeerMemcpyKind, CUPTI_ACTIVITY_KIND_MEMCPY2);
KIND(kSynchronizationKind, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
KIND(kGraphTraceKind, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

AT(kernel::kRegisters, KERNEL, registersPerThread);
AT(kernel::kStart, KERNEL, start);
AT(kernel::kEnd, KERNEL, end);
AT(kernel::kDevice, KERNEL, deviceId);
AT(kernel::kContext, KERNEL, contextId);
AT(kernel::kStream, KERNEL, streamId);
static_assert(kernel::kGridAndBlock == offsetof(KERNEL, gridX));
static_assert(kernel::kGridAndBlock + 20 == offsetof(KERNEL, blockZ));
AT(kernel::kStaticShared, KERNEL, staticSharedMemory);
AT(kernel::kDynamicShared, KERNEL, dynamicSharedMemory);
AT(kernel::kCorrelation, KERNEL, correlationId);
AT(kernel::kName, KERNEL, name);
AT(kernel::kGraphNode, KERNEL, graphNodeId);

AT(memcpy_record::kCopyKind, MEMCPY, copyKind);
AT(memcpy_record::kSourceKind, MEMCPY, srcKind);
AT(memcpy_record::kTargetKind, MEMCPY, dstKind);
AT(memcpy_record::kBytes, MEMCPY, bytes);
AT(memcpy_record::kStart, MEMCPY, start);
AT(memcpy_record::kEnd, MEMCPY, end);
AT(memcpy_record::kDevice, MEMCPY, deviceId);
AT(memcpy_record::kContext, MEMCPY, contextId);
AT(memcpy_record::kStream, MEMCPY, streamId);
AT(memcpy_record::kCorrelation, MEMCPY, correlationId);

AT(memcpy_record::kStream, PTOP, streamId);
AT(peer_memcpy::kTargetDevice, PTOP, dstDeviceId);
AT(peer_memcpy::kCorrelation, PTOP, correlationId);

AT(memset_record::kValue, MEMSET, value);
AT(memset_record::kBytes, MEMSET, bytes);
AT(memset_record::kStart, MEMSET, start);
AT(memset_record::kEnd, MEMSET, end);
AT(memset_record::kDevice, MEMSET, deviceId);
AT(memset_record::kContext, MEMSET, contextId);
AT(memset_record::kStream, MEMSET, streamId);
AT(memset_record::kCorrelation, MEMSET, correlationId);
AT(memset_record::kMemoryKind, MEMSET, memoryKind);

AT(api::kCallbackId, CUpti_ActivityAPI, cbid);
AT(api::kStart, CUpti_ActivityAPI, start);
AT(api::kEnd, CUpti_ActivityAPI, end);
AT(api::kThread, CUpti_ActivityAPI, threadId);
AT(api::kCorrelation, CUpti_ActivityAPI, correlationId);

AT(graph_trace::kCorrelation, GRAPH, correlationId);
AT(graph_trace::kStart, GRAPH, start);
AT(graph_trace::kEnd, GRAPH, end);
AT(graph_trace::kDevice, GRAPH, deviceId);
AT(graph_trace::kGraph, GRAPH, graphId);
AT(graph_trace::kContext, GRAPH, contextId);
AT(graph_trace::kStream, GRAPH, streamId);

AT(synchronization::kType, SYNC, type);
AT(synchronization::kStart, SYNC, start);
AT(synchronization::kEnd, SYNC, end);
AT(synchronization::kCorrelation, SYNC, correlationId);
AT(synchronization::kContext, SYNC, contextId);
AT(synchronization::kStream, SYNC, streamId);

AT(overhead::kCause, OVERHEAD, overheadKind);
AT(overhead::kObjectKind, OVERHEAD, objectKind);
static_assert(overhead::kThread.offset ==
              offsetof(OVERHEAD, objectId) + offsetof(CUpti_ActivityObjectKindId, pt.threadId));
static_assert(overhead::kObjectIsThread == CUPTI_ACTIVITY_OBJECT_THREAD);
AT(overhead::kStart, OVERHEAD, start);
AT(overhead::kEnd, OVERHEAD, end);

#include <cstdio>
int main() {
  std::printf("%d %zu %zu %zu %zu %zu %zu\n", CUPTI_API_VERSION, sizeof(KERNEL), sizeof(MEMCPY),
              sizeof(MEMSET), sizeof(GRAPH), sizeof(SYNC), sizeof(OVERHEAD));
}
