// A message in as few bytes as possible, while it is not read. In a step of ten thousand workers and a
// hundred servers a million pushes are on their way at once. Most numbers of a push are small, so a push
// without values (of a phantom model) fits into about 30 bytes; a Message has 184.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/protocol/message.hpp"

namespace psim {

class PackedMessage {
 public:
  explicit PackedMessage(Message&& message);
  // A copy of the message.
  Message copy() const;
  Message unpack() &&;

 private:
  std::unique_ptr<std::uint8_t[]> numbers_;  // of a pull, a push or an answer without values
  std::unique_ptr<Message> whole_;           // any other
};

}  // namespace psim
