// Key caching of what a worker asks one shard's owner for, and of the answers. The owner has the list of
// every pull that it has answered.
#pragma once

#include <xxhash.h>

#include "sim/protocol/message.hpp"

namespace psim {

class AskedKeys {
 public:
  // How a pull for these keys says them; null: for all.
  KeyList list(const SharedKeys& keys) {
    last_ = keys && !keys->empty() ? XXH3_64bits(keys->data(), keys->size() * sizeof keys->front()) : 0;
    return {.signature = last_, .bytes_listed = last_ != 0 && answered_.has(last_) ? 1U : 0U};
  }
  // The last pull is answered.
  void answered() {
    if (last_ != 0) answered_.note(last_);
  }
  // Whether the keys of an answer are known.
  bool reads(const KeyList& list) { return told_.reads(list); }
  // There is another owner.
  void forget() {
    answered_.forget();
    told_.forget();
  }

 private:
  KeyMemory answered_, told_;
  std::uint64_t last_ = 0;
};

}  // namespace psim
