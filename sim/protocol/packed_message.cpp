#include "sim/protocol/packed_message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace psim {
namespace {

enum class Tag : std::uint8_t { pull, push, answer };

// All members of each type except its pointers, which are null: one list for both directions. A new member
// does not compile until it has a name in this list.
void each_number(auto& payload,
                 auto visit) requires std::same_as<std::remove_cvref_t<decltype(payload)>, Payload> {
  auto& [values, keys, bytes, list] = payload;
  visit(values.begin, values.count, values.version, bytes, list.signature, list.bytes_listed);
}
void each_number(auto& m, auto visit) requires std::same_as<std::remove_cvref_t<decltype(m)>, Pull> {
  auto& [clock, above, number, pushes, oldest, skipped, answered, computes, keys, bytes_per_key, list, copy] =
      m;
  visit(clock, above, number, pushes, oldest, skipped, answered, computes, bytes_per_key, list.signature,
        list.bytes_listed, copy);
}
void each_number(auto& m, auto visit) requires std::same_as<std::remove_cvref_t<decltype(m)>, Push> {
  auto& [worker, number, clock, version, first_version, oldest, samples, batches, seconds, came_at,
         gradient] = m;
  visit(worker, number, clock, version, first_version, oldest, samples, batches, seconds, came_at);
  each_number(gradient, visit);
}
void each_number(auto& m, auto visit) requires std::same_as<std::remove_cvref_t<decltype(m)>, Answer> {
  auto& [finished, clock, number, answered, version, sent_at, safe, here, skip, has_push, slowest, weights,
         is_copy, copy] = m;
  visit(finished, clock, number, answered, version, sent_at, safe, here, skip, has_push, slowest, is_copy);
  each_number(weights, visit);
}
void each_number(auto& m, auto visit) requires std::same_as<std::remove_cvref_t<decltype(m)>, Message> {
  visit(m.from, m.to, m.shard, m.epoch, m.sent);
}

bool is_empty(const Payload& payload) { return !payload.values.values && !payload.keys; }

// Seven bits in each byte, the lowest first; the highest bit says that more bytes follow.
class Writer {
 public:
  void put(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) bytes_[size_++] = static_cast<std::uint8_t>(value | 128U);
    bytes_[size_++] = static_cast<std::uint8_t>(value);
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  // -1 stands for "none" in many places, and takes one byte, too.
  void put(std::int64_t value) {
    put((static_cast<std::uint64_t>(value) << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void put(bool value) { put(std::uint64_t{value}); }
  void put(std::uint32_t value) { put(std::uint64_t{value}); }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  std::unique_ptr<std::uint8_t[]> done() const {
    auto result = std::make_unique_for_overwrite<std::uint8_t[]>(size_);
    std::copy_n(bytes_.begin(), size_, result.get());
    return result;
  }

 private:
  static constexpr std::size_t most_numbers = 24, most_bytes_of_one = 10;
  std::array<std::uint8_t, most_numbers* most_bytes_of_one> bytes_ = {};
  std::size_t size_ = 0;
};

class Reader {
 public:
  explicit Reader(const std::uint8_t* bytes) : bytes_(bytes) {}
  void get(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = *bytes_++;
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) return;
    }
  }
  void get(double& value) { value = std::bit_cast<double>(next()); }
  void get(std::int64_t& value) {
    const std::uint64_t folded = next();
    value = static_cast<std::int64_t>((folded >> 1U) ^ (~(folded & 1U) + 1));
  }
  void get(bool& value) { value = next() != 0; }
  void get(std::uint32_t& value) { value = static_cast<std::uint32_t>(next()); }
  template <class T>
  void get(std::optional<T>& value) {
    value.reset();
    if (next() != 0) get(value.emplace());
  }

 private:
  std::uint64_t next() {
    std::uint64_t value = 0;
    get(value);
    return value;
  }
  const std::uint8_t* bytes_;
};

std::unique_ptr<std::uint8_t[]> packed(const Message& message, Tag tag, const auto& body) {
  Writer writer;
  const auto put = [&writer](const auto&... values) { (writer.put(values), ...); };
  put(static_cast<std::uint32_t>(tag));
  each_number(message, put);
  each_number(body, put);
  return writer.done();
}

}  // namespace

PackedMessage::PackedMessage(Message&& message) {
  if (const Pull* pull = message.as<Pull>(); pull != nullptr && !pull->keys)
    numbers_ = packed(message, Tag::pull, *pull);
  else if (const Push* push = message.as<Push>(); push != nullptr && is_empty(push->gradient))
    numbers_ = packed(message, Tag::push, *push);
  else if (const Answer* answer = message.as<Answer>();
           answer != nullptr && is_empty(answer->weights) && !answer->copy)
    numbers_ = packed(message, Tag::answer, *answer);
  else whole_ = std::make_unique<Message>(std::move(message));
}

Message PackedMessage::unpack() && { return whole_ ? std::move(*whole_) : copy(); }

Message PackedMessage::copy() const {
  if (whole_) return *whole_;
  Message message;
  Reader reader(numbers_.get());
  const auto get = [&reader](auto&... values) { (reader.get(values), ...); };
  std::uint32_t tag = 0;
  get(tag);
  each_number(message, get);
  switch (static_cast<Tag>(tag)) {
    case Tag::pull: each_number(message.body.emplace<Pull>(), get); break;
    case Tag::push: each_number(message.body.emplace<Push>(), get); break;
    case Tag::answer: each_number(message.body.emplace<Answer>(), get); break;
  }
  return message;
}

}  // namespace psim
