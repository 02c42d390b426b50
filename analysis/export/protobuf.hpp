// As much of protobuf's wire format as a trace needs: varints, 64-bit numbers, and fields with a length.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace psim::analysis {

class Proto {
 public:
  Proto& number(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  Proto& fixed(std::uint32_t field, std::uint64_t value) {
    key(field, 1);
    for (int byte = 0; byte < 8; ++byte) bytes_ += static_cast<char>(value >> (8 * byte) & 0xff);
    return *this;
  }
  Proto& real(std::uint32_t field, double value) { return fixed(field, std::bit_cast<std::uint64_t>(value)); }
  Proto& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(std::uint32_t field, const Proto& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(std::uint32_t field, std::uint32_t wire_type) { varint(std::uint64_t{field} << 3 | wire_type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace psim::analysis
