// Messages of protobuf, field by field.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

namespace psim::analysis {

class Proto {
 public:
  Proto& number(std::uint32_t field, std::uint64_t value) {
    writer().add_uint64(field, value);
    return *this;
  }
  Proto& fixed(std::uint32_t field, std::uint64_t value) {
    writer().add_fixed64(field, value);
    return *this;
  }
  Proto& real(std::uint32_t field, double value) {
    writer().add_double(field, value);
    return *this;
  }
  Proto& text(std::uint32_t field, std::string_view value) {
    writer().add_string(field, value.data(), value.size());
    return *this;
  }
  Proto& message(std::uint32_t field, const Proto& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  protozero::pbf_writer writer() { return protozero::pbf_writer(bytes_); }
  std::string bytes_;
};

}  // namespace psim::analysis
