// The messages that a node has not read yet. Most nodes have at most one at a time. A deque would keep half a
// kilobyte for each of ten thousand nodes, and allocate for every second message.
#pragma once

#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"

namespace psim {

class Inbox {
 public:
  bool empty() const { return messages_.empty(); }
  void push(Message&& message) { messages_.push_back(std::move(message)); }
  Message pop() {
    Message message = std::move(messages_[next_++]);
    if (next_ == messages_.size()) clear();
    else if (next_ >= few && 2 * next_ > messages_.size()) forget_read();
    return message;
  }
  // The messages in order; the inbox is empty afterwards.
  std::vector<Message> take_all() {
    forget_read();
    return std::exchange(messages_, {});
  }

 private:
  static constexpr std::size_t few = 4;
  void forget_read() {
    messages_.erase(messages_.begin(),
                    messages_.begin() + static_cast<std::ptrdiff_t>(std::exchange(next_, 0)));
  }
  void clear() {
    next_ = 0;
    if (messages_.capacity() > few) messages_ = std::vector<Message>();
    else messages_.clear();
  }

  std::vector<Message> messages_;
  std::size_t next_ = 0;  // messages before this one have been read
};

}  // namespace psim
