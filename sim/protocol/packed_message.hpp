// A message as small as it goes, for as long as nobody looks into it. A step of ten thousand workers and a
// hundred servers has a million pushes on their way at once. Most numbers of a push are small, so that those
// of one that carries no values (a phantom model's) fit into about 30 bytes; a Message has 184.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/protocol/message.hpp"

namespace psim {

class PackedMessage {
 public:
  explicit PackedMessage(Message&& message);
  // The same message.
  Message copy() const;
  Message unpack() &&;

 private:
  std::unique_ptr<std::uint8_t[]> numbers_;  // of a pull, a push or an answer without values
  std::unique_ptr<Message> whole_;           // any other
};

}  // namespace psim
