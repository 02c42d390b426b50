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
    return {.signature = last_, .bytes_listed = last_ != 0 && answered_ == last_ ? 1U : 0U};
  }
  // The owner has answered the last pull.
  void answered() {
    if (last_ != 0) answered_ = last_;
  }
  // Whether the keys of an answer are known.
  bool reads(const KeyList& list) {
    if (!list.is_listed() && told_ != list.signature) return false;
    if (list.signature != 0) told_ = list.signature;
    return true;
  }
  // The shard has another owner.
  void forget() { answered_ = told_ = 0; }

 private:
  std::uint64_t answered_ = 0, told_ = 0, last_ = 0;  // signatures; 0: none
};

}  // namespace psim
