// Key caching between a worker and the owner of one shard, for the worker's pulls and their answers. The
// owner has the key list of every pull that it has answered.
#pragma once

#include <xxhash.h>

#include "sim/protocol/message.hpp"

namespace psim {

class AskedKeys {
 public:
  // The key list of a pull for these keys; null: all keys.
  KeyList list(const SharedKeys& keys) {
    last_ = keys && !keys->empty() ? XXH3_64bits(keys->data(), keys->size() * sizeof keys->front()) : 0;
    return {.signature = last_, .bytes_listed = last_ != 0 && answered_.has(last_) ? 1U : 0U};
  }
  // The owner has answered the last pull.
  void answered() {
    if (last_ != 0) answered_.note(last_);
  }
  // Whether the keys of an answer are known.
  bool reads(const KeyList& list) { return told_.reads(list); }
  // The shard has another owner.
  void forget() {
    answered_.forget();
    told_.forget();
  }

 private:
  KeyMemory answered_, told_;
  std::uint64_t last_ = 0;
};

}  // namespace psim
