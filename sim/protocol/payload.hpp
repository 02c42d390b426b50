// The data of a shard in messages.
#pragma once

#include <cstdint>
#include <utility>

#include "model/values.hpp"
#include "sim/protocol/filter.hpp"

namespace psim {

// Values of a shard, and the bytes that they take on the network.
struct Payload {
  Slice values = {};
  SharedKeys keys = {};  // which of the shard's values; null: all
  std::uint64_t bytes = 0;
  KeyList list = {};

  std::uint32_t count() const { return static_cast<std::uint32_t>(values.count); }
  // From now on the message carries its list of keys, even if the receiver has the list.
  void list_keys() { bytes = list.is_listed() ? bytes : std::exchange(list.bytes_listed, 0); }
};
inline Payload payload_of(Encoded encoded) {
  return {std::move(encoded.values), std::move(encoded.keys), encoded.bytes, encoded.list};
}

}  // namespace psim
