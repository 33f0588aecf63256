#include "trace_events.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace tracemill {

using json::Cursor;
using json::NotPlain;
using json::Number;

const std::array<const char*, kIntegerFields> kIntegerNames = {
    "pid", "tid", "correlation", "device", "stream", "bytes", "size", "grid_x", "grid_y", "grid_z",
    "block_x", "block_y", "block_z", "registers", "shared_bytes", "graph_node", "external_id",
    "in_elements", "out_elements", "group_size"};
const std::array<const char*, kTextFields> kTextNames = {
    "name", "cat", "kind", "direction", "sync_kind", "shapes", "module", "collective", "dtype",
    "group"};

namespace {

// Phases that are known and hold nothing that is stored; must agree with model.py.
constexpr std::string_view kUnusedPhases = "MstfBEbneiIRPCNODSTpFcvaV()";

constexpr std::int64_t kMostMicroseconds = 2'305'843'009'213'692;  // 2**61 ns
constexpr std::size_t kMostDecimals = 9;
constexpr std::int64_t kMostElements = std::int64_t{1} << 55;  // times 16 bytes still fits

constexpr std::uint32_t bit(IntegerField field) { return std::uint32_t{1} << field; }

// Fields that the tables hold in 32 bits.
constexpr std::uint32_t kNarrow = bit(kPid) | bit(kDevice) | bit(kGridX) | bit(kGridY) |
                                  bit(kGridZ) | bit(kBlockX) | bit(kBlockY) | bit(kBlockZ) |
                                  bit(kRegisters) | bit(kGroupSize);
constexpr std::uint32_t kCounted = bit(kInElements) | bit(kOutElements);

// The value of an integer; one from 2**63 up to 2**64 wraps. Nothing if it does not fit 64 bits.
std::optional<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (text.size() > 19 + (negative ? 0 : 1)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (!negative) return static_cast<std::int64_t>(value);
  if (value > std::uint64_t{1} << 63) return std::nullopt;
  return static_cast<std::int64_t>(0 - value);
}

// floor(microseconds * 1000) of a plain decimal, exactly. Nothing if it is out of range or has an
// exponent or many decimals.
std::optional<std::int64_t> parse_us(std::string_view text) {
  const bool negative = text.front() == '-';
  std::size_t at = negative ? 1 : 0;
  std::int64_t whole = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    whole = whole * 10 + (text[at] - '0');
    if (whole > kMostMicroseconds) return std::nullopt;
  }
  std::int64_t nanoseconds = 0;
  bool more = false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t decimals = text.size() - ++at;
    if (decimals > kMostDecimals) return std::nullopt;
    std::int64_t unit = 100;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10) {
      nanoseconds += (text[at] - '0') * unit;
      more = more || (unit == 0 && text[at] != '0');
    }
  }
  if (at != text.size()) return std::nullopt;
  const std::int64_t value = whole * 1000 + nanoseconds;
  return negative ? -value - (more ? 1 : 0) : value;
}

bool is_narrow(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

void TraceEvents::decode(const char* begin, const char* end) {
  elements_ = 0;
  complete_.clear();
  table_.clear();
  kept_.clear();
  empty_text_ = id_of("", false);
  Cursor in(begin, end);
  for (;;) {
    event(in);
    ++elements_;
    in.skip_space();
    if (in.done()) return;
    in.expect(',');
  }
}

void TraceEvents::event(Cursor& in) {
  Event found;
  found.texts.fill(kNoText);
  found.texts[kName] = found.texts[kCategory] = empty_text_;
  has_start_ = has_duration_ = false;
  bool is_complete = false;
  bool has_phase = false;
  bool has_arguments = false;
  bool bad_type = false;
  bool escaped;
  in.expect('{');
  bool more = in.peek() != '}';
  while (more) {
    in.skip_space();
    const std::string_view key = in.text(escaped);
    if (escaped) throw NotPlain{};
    in.expect(':');
    if (key == "ph") {
      if (has_phase || in.peek() != '"') throw NotPlain{};
      const std::string_view phase = in.text(escaped);
      if (phase.size() != 1 || escaped) throw NotPlain{};
      has_phase = true;
      is_complete = phase[0] == 'X';
      if (!is_complete && kUnusedPhases.find(phase[0]) == std::string_view::npos) {
        throw NotPlain{};
      }
    } else if (has_phase && !is_complete) {
      in.value();
    } else if (key == "args") {
      if (has_arguments) throw NotPlain{};
      has_arguments = true;
      arguments(in, found, bad_type);
    } else {
      member(in, key, found, bad_type);
    }
    more = in.take(',');
  }
  in.expect('}');
  if (!has_phase) throw NotPlain{};
  if (!is_complete) return;
  if (bad_type) throw NotPlain{};
  found.odd = found.odd || !has_start_ || !has_duration_ || found.dur_ns < 0;
  complete_.push_back(found);
}

void TraceEvents::member(Cursor& in, std::string_view key, Event& event, bool& bad_type) {
  if (key == "ts") {
    time(in, event.start_ns, has_start_);
  } else if (key == "dur") {
    time(in, event.dur_ns, has_duration_);
  } else if (key == "pid") {
    integer(in, kPid, event, bad_type);
  } else if (key == "tid") {
    integer(in, kTid, event, bad_type);
  } else if (key == "name") {
    required_text(in, kName, event, bad_type);
  } else if (key == "cat") {
    required_text(in, kCategory, event, bad_type);
  } else {
    in.value();
  }
}

void TraceEvents::arguments(Cursor& in, Event& event, bool& bad_type) {
  if (in.peek() != '{') {
    bad_type = bad_type || in.value() != "null";
    return;
  }
  bool escaped;
  in.expect('{');
  bool more = in.peek() != '}';
  while (more) {
    in.skip_space();
    const std::string_view key = in.text(escaped);
    if (escaped) throw NotPlain{};
    in.expect(':');
    argument(in, key, event, bad_type);
    more = in.take(',');
  }
  in.expect('}');
}

void TraceEvents::argument(Cursor& in, std::string_view key, Event& event, bool& bad_type) {
  struct IntegerKey {
    std::string_view key;
    IntegerField field;
  };
  struct TextKey {
    std::string_view key;
    TextField field;
  };
  static constexpr IntegerKey kIntegers[] = {
      {"correlation", kCorrelation}, {"device", kDevice}, {"stream", kStream},
      {"External id", kExternalId}, {"registers per thread", kRegisters},
      {"shared memory", kSharedBytes}, {"graph node id", kGraphNode}, {"bytes", kBytes},
      {"size", kSize}, {"In msg nelems", kInElements}, {"Out msg nelems", kOutElements},
      {"Group size", kGroupSize}};
  static constexpr TextKey kTexts[] = {
      {"kind", kKind}, {"direction", kDirection}, {"cuda_sync_kind", kSyncKind},
      {"Module Hierarchy", kModule}, {"Collective name", kCollective}, {"dtype", kDtype},
      {"Process Group Name", kGroup}};
  for (const auto& known : kIntegers) {
    if (key == known.key) return integer(in, known.field, event, bad_type);
  }
  if (key == "grid") return dimensions(in, kGridX, event, bad_type);
  if (key == "block") return dimensions(in, kBlockX, event, bad_type);
  if (key == "Input Dims") {
    event.texts[kShapes] = id_of(in.value(), false);
    return;
  }
  for (const auto& known : kTexts) {
    if (key == known.key) return text(in, known.field, event, bad_type);
  }
  in.value();
}

void TraceEvents::integer(Cursor& in, IntegerField field, Event& event, bool& bad_type) {
  const char first = in.peek();
  event.present &= ~bit(field);
  if (first == '-' || (first >= '0' && first <= '9')) {
    const Number number = in.number();
    const auto value = number.is_integer ? parse_integer(number.text) : std::nullopt;
    const std::uint32_t own = bit(field);
    if (!value || ((own & kNarrow) != 0 && !is_narrow(*value)) ||
        ((own & kCounted) != 0 && (*value < 0 || *value > kMostElements))) {
      event.odd = true;
      return;
    }
    event.integers[field] = *value;
    event.present |= own;
    return;
  }
  const std::string_view raw = in.value();
  event.odd = event.odd || first == '"';
  bad_type = bad_type || (first != '"' && raw != "null");
}

void TraceEvents::text(Cursor& in, TextField field, Event& event, bool& bad_type) {
  const char first = in.peek();
  event.texts[field] = kNoText;
  if (first == '"') {
    bool escaped;
    const std::string_view inside = in.text(escaped);
    event.texts[field] = id_of(inside, escaped);
    return;
  }
  const std::string_view raw = in.value();
  if (first == '-' || (first >= '0' && first <= '9')) {
    event.odd = true;
  } else {
    bad_type = bad_type || raw != "null";
  }
}

void TraceEvents::required_text(Cursor& in, TextField field, Event& event, bool& bad_type) {
  if (in.peek() == '"') return text(in, field, event, bad_type);
  in.value();
  bad_type = true;
}

void TraceEvents::dimensions(Cursor& in, IntegerField first, Event& event, bool& bad_type) {
  for (int axis = 0; axis < 3; ++axis) event.present &= ~(bit(first) << axis);
  if (in.peek() != '[') {
    const char start = in.peek();
    bad_type = (in.value() != "null" && start != '"') || bad_type;
    return;
  }
  in.expect('[');
  std::array<std::int64_t, 3> values{};
  std::size_t count = 0;
  if (!in.take(']')) {
    do {
      const char start = in.peek();
      if (start != '-' && (start < '0' || start > '9')) throw NotPlain{};
      const Number number = in.number();
      const auto value = number.is_integer ? parse_integer(number.text) : std::nullopt;
      if (!value) throw NotPlain{};
      event.odd = event.odd || !is_narrow(*value);
      if (count < 3) values[count] = *value;
      ++count;
    } while (in.take(','));
    in.expect(']');
  }
  if (count != 3) return;
  for (int axis = 0; axis < 3; ++axis) {
    event.integers[first + axis] = values[axis];
    event.present |= bit(first) << axis;
  }
}

void TraceEvents::time(Cursor& in, std::int64_t& target, bool& known) {
  const char first = in.peek();
  known = false;
  if (first != '-' && (first < '0' || first > '9')) {
    in.value();
    return;
  }
  const auto value = parse_us(in.number().text);
  if (!value) return;
  target = *value;
  known = true;
}

std::int32_t TraceEvents::id_of(std::string_view inside, bool escaped) {
  if (!escaped) return table_.id(inside, [](std::string_view text) { return text; });
  json::unescape(inside, scratch_);
  return table_.id(scratch_, [this](std::string_view text) {
    kept_.emplace_back(text);
    return std::string_view(kept_.back());
  });
}

}  // namespace tracemill
