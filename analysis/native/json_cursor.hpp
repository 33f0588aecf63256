// Walks over JSON text. Strict: what it accepts is valid JSON in valid UTF-8.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tracemill::json {

// Thrown where the text is not valid JSON, or is valid but not worth understanding here.
struct NotPlain {};

// A number as it stands in the text. `is_integer` says that it has neither fraction nor exponent.
struct Number {
  std::string_view text;
  bool is_integer = false;
};

class Cursor {
 public:
  Cursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  const char* position() const { return at_; }
  bool done() const { return at_ == end_; }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }

  // The next character that is no space.
  char peek() {
    skip_space();
    if (at_ == end_) throw NotPlain{};
    return *at_;
  }

  void expect(char wanted) {
    if (peek() != wanted) throw NotPlain{};
    ++at_;
  }

  // Takes `wanted` if it comes next.
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  // The inside of a text, as it stands between the quotes; `escaped` tells if it has a backslash.
  std::string_view text(bool& escaped) {
    expect('"');
    const char* const begin = at_;
    bool plain_ascii = true;
    escaped = false;
    for (;;) {
      skip_ordinary();
      if (at_ == end_) throw NotPlain{};
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') break;
      if (byte < 0x20) throw NotPlain{};
      if (byte == '\\') {
        escaped = true;
        skip_escape();
      } else {
        plain_ascii = plain_ascii && byte < 0x80;
        ++at_;
      }
    }
    const std::string_view inside(begin, static_cast<std::size_t>(at_ - begin));
    ++at_;
    if (!plain_ascii) require_utf8(inside);
    return inside;
  }

  Number number() {
    const char* const begin = at_;
    if (at_ < end_ && *at_ == '-') ++at_;
    if (at_ < end_ && *at_ == '0') {
      ++at_;
    } else {
      digits();
    }
    bool is_integer = true;
    if (at_ < end_ && *at_ == '.') {
      is_integer = false;
      ++at_;
      digits();
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
      is_integer = false;
      ++at_;
      if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      digits();
    }
    return {std::string_view(begin, static_cast<std::size_t>(at_ - begin)), is_integer};
  }

  void word(const char* wanted) {
    const std::size_t length = std::strlen(wanted);
    if (static_cast<std::size_t>(end_ - at_) < length || std::memcmp(at_, wanted, length) != 0) {
      throw NotPlain{};
    }
    at_ += length;
  }

  // Passes over any value; the text it stands in.
  std::string_view value(int depth = 0) {
    const char first = peek();
    const char* const begin = at_;
    bool escaped;
    switch (first) {
      case '"': text(escaped); break;
      case '{': object(depth); break;
      case '[': array(depth); break;
      case 't': word("true"); break;
      case 'f': word("false"); break;
      case 'n': word("null"); break;
      default: number();
    }
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }

  // Passes over the rest of an object of which the brace and some members are taken; `more` says
  // that a comma stood last.
  void rest_of_object(bool more, int depth = 0) {
    bool escaped;
    while (more) {
      text_after_space(escaped);
      expect(':');
      value(depth + 1);
      more = take(',');
    }
    expect('}');
  }

 private:
  static constexpr int kDeepest = 64;

  void text_after_space(bool& escaped) {
    skip_space();
    text(escaped);
  }

  void object(int depth) {
    if (depth > kDeepest) throw NotPlain{};
    expect('{');
    rest_of_object(peek() != '}', depth);
  }

  void array(int depth) {
    if (depth > kDeepest) throw NotPlain{};
    expect('[');
    if (take(']')) return;
    do {
      value(depth + 1);
    } while (take(','));
    expect(']');
  }

  void digits() {
    const char* const begin = at_;
    while (at_ < end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    if (at_ == begin) throw NotPlain{};
  }

  // Passes over bytes that need no look: eight at a time while none is a quote, a backslash, a
  // control character or beyond ASCII. (The usual word-wide test; its false alarms cost time only.)
  void skip_ordinary() {
    constexpr std::uint64_t kOnes = 0x0101010101010101U;
    constexpr std::uint64_t kHighs = 0x8080808080808080U;
    while (end_ - at_ >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at_, 8);
      const std::uint64_t quote = word ^ (kOnes * '"');
      const std::uint64_t slash = word ^ (kOnes * '\\');
      const std::uint64_t found =
          ((quote - kOnes) | (slash - kOnes) | (word - kOnes * 0x20) | word) & kHighs;
      if (found != 0) break;
      at_ += 8;
    }
    while (at_ < end_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) return;
      ++at_;
    }
  }

  void skip_escape() {
    if (end_ - at_ < 2) throw NotPlain{};
    const char kind = at_[1];
    at_ += 2;
    if (kind == 'u') {
      if (end_ - at_ < 4) throw NotPlain{};
      for (int i = 0; i < 4; ++i, ++at_) {
        const char c = *at_;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) {
          throw NotPlain{};
        }
      }
    } else if (std::strchr("\"\\/bfnrt", kind) == nullptr || kind == '\0') {
      throw NotPlain{};
    }
  }

  static void require_utf8(std::string_view text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    while (at < end) {
      const unsigned lead = *at++;
      if (lead < 0x80) continue;
      const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
      if (lead < 0xC2 || lead > 0xF4 || end - at < more) throw NotPlain{};
      // The second byte bounds what overlong forms, surrogates and too large code points begin with.
      const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (*at < low || *at > high) throw NotPlain{};
      for (int i = 0; i < more; ++i, ++at) {
        if ((*at & 0xC0) != 0x80) throw NotPlain{};
      }
    }
  }

  const char* at_;
  const char* end_;
};

// Replaces the escapes of a text that `Cursor::text` has checked; surrogates are not plain.
inline void unescape(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out.push_back(text[i]);
      continue;
    }
    switch (const char kind = text[++i]) {
      case 'b': out.push_back('\b'); break;
      case 'f': out.push_back('\f'); break;
      case 'n': out.push_back('\n'); break;
      case 'r': out.push_back('\r'); break;
      case 't': out.push_back('\t'); break;
      case 'u': {
        const unsigned code =
            static_cast<unsigned>(std::stoul(std::string(text.substr(i + 1, 4)), nullptr, 16));
        i += 4;
        if (code >= 0xD800 && code < 0xE000) throw NotPlain{};
        if (code < 0x80) {
          out.push_back(static_cast<char>(code));
        } else if (code < 0x800) {
          out.push_back(static_cast<char>(0xC0 | (code >> 6)));
          out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
        } else {
          out.push_back(static_cast<char>(0xE0 | (code >> 12)));
          out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
          out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
        }
        break;
      }
      default: out.push_back(kind);
    }
  }
}

}  // namespace tracemill::json
