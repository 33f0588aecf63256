// Decodes the trace events of a chunk of JSON into columns.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "json_cursor.hpp"
#include "text_table.hpp"

namespace tracemill {

// Order of the columns; the names stand in trace_events.cpp.
enum IntegerField {
  kPid, kTid, kCorrelation, kDevice, kStream, kBytes, kSize, kGridX, kGridY, kGridZ, kBlockX,
  kBlockY, kBlockZ, kRegisters, kSharedBytes, kGraphNode, kExternalId, kInElements, kOutElements,
  kGroupSize, kIntegerFields
};
enum TextField {
  kName, kCategory, kKind, kDirection, kSyncKind, kShapes, kModule, kCollective, kDtype, kGroup,
  kTextFields
};

extern const std::array<const char*, kIntegerFields> kIntegerNames;
extern const std::array<const char*, kTextFields> kTextNames;

constexpr std::int32_t kNoText = -1;

// One complete event ("ph": "X").
struct Event {
  std::int64_t start_ns = 0;
  std::int64_t dur_ns = 0;
  std::array<std::int64_t, kIntegerFields> integers{};
  std::array<std::int32_t, kTextFields> texts{};
  std::uint32_t present = 0;  // a bit for each integer that is there
  bool odd = false;           // has a value that only the general decoder understands
};

class TraceEvents {
 public:
  // Decodes events that are separated by commas; throws json::NotPlain.
  void decode(const char* begin, const char* end);

  std::size_t elements() const { return elements_; }
  const std::vector<Event>& complete() const { return complete_; }
  const std::vector<std::string_view>& texts() const { return table_.texts(); }

 private:
  void event(json::Cursor& in);
  void member(json::Cursor& in, std::string_view key, Event& event, bool& bad_type);
  void arguments(json::Cursor& in, Event& event, bool& bad_type);
  void argument(json::Cursor& in, std::string_view key, Event& event, bool& bad_type);
  void integer(json::Cursor& in, IntegerField field, Event& event, bool& bad_type);
  void text(json::Cursor& in, TextField field, Event& event, bool& bad_type);
  void required_text(json::Cursor& in, TextField field, Event& event, bool& bad_type);
  void dimensions(json::Cursor& in, IntegerField first, Event& event, bool& bad_type);
  static void time(json::Cursor& in, std::int64_t& target, bool& known);
  std::int32_t id_of(std::string_view inside, bool escaped);

  std::size_t elements_ = 0;
  std::vector<Event> complete_;
  TextTable table_;
  std::deque<std::string> kept_;  // texts whose escapes were replaced
  std::string scratch_;
  std::int32_t empty_text_ = 0;
  bool has_start_ = false;
  bool has_duration_ = false;
};

}  // namespace tracemill
