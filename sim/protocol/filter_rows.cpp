#include "sim/protocol/filter_rows.hpp"

#include <snappy.h>

#include <algorithm>
#include <iterator>

namespace psim {
namespace {

std::size_t snappy_size(std::span<const std::byte> payload, std::vector<std::byte>& out) {
  out.resize(snappy::MaxCompressedLength(payload.size()));
  std::size_t size = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(payload.data()), payload.size(),
                      reinterpret_cast<char*>(out.data()), &size);
  return size;
}

}  // namespace

template <>
std::deque<FilterRow> built_in_rows() {
  std::deque<FilterRow> rows{
      {.name = "key-caching",
       .stage = FilterStage::keys,
       .doc = "a short signature instead of the list of keys, if the previous message had the same keys",
       .wire = "8 bytes for the keys; also the keys themselves the first time and after a change",
       .source = "Li et al., OSDI 2014; parameter_server KEY_CACHING"},
      {.name = "snappy",
       .aliases = "compressing",
       .stage = FilterStage::bytes,
       .needs_numbers = true,
       .compress = snappy_size,
       .doc = "the message's bytes are compressed without loss",
       .wire = "the size of keys and values after Snappy",
       .source = "Li et al., OSDI 2014; parameter_server COMPRESSING"},
  };
  std::ranges::move(quantizing_filters(), std::back_inserter(rows));
  std::ranges::move(selecting_filters(), std::back_inserter(rows));
  return rows;
}

}  // namespace psim
