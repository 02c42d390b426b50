#include "sim/record/event.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <bit>

#include "sim/record/event_fields.hpp"

namespace psim {
namespace {

constexpr std::size_t most_words = 32;

// The words of an event that are hashed, and a mask of its fields that have a value.
class Words {
 public:
  void add(std::uint64_t word) { words_[count_++] = word; }
  template <class T>
  void add_field(const T& value) {
    constexpr bool is_optional = OptionalOf<T>::value;
    present_ <<= 1U;
    if constexpr (is_optional) {
      if (value) add_field(*value);
    } else if constexpr (std::is_floating_point_v<T>) {
      add(std::bit_cast<std::uint64_t>(value));
      present_ |= 1U;
    } else if constexpr (Named<T>) {
      add(index_in(value));
      present_ |= 1U;
    } else {
      add(static_cast<std::uint64_t>(value));
      present_ |= 1U;
    }
  }
  std::uint64_t hash() {
    add(present_);
    return XXH3_64bits(words_.data(), count_ * sizeof words_[0]);
  }

 private:
  std::array<std::uint64_t, most_words> words_;
  std::size_t count_ = 0;
  std::uint64_t present_ = 0;
};

template <class T>
std::string told(const T& value) {
  if constexpr (Named<T>) return std::string(name_in(value));
  else if constexpr (std::is_floating_point_v<T>) return fmt::format("{:.9g}", value);
  else return fmt::format("{}", static_cast<std::int64_t>(value));
}

}  // namespace

std::uint64_t hash_of(const Event& event) {
  Words words;
  words.add(std::bit_cast<std::uint64_t>(event.at));
  words.add(event.node | static_cast<std::uint64_t>(event.what.index()) << 32U);
  std::visit(
      [&words]<class T>(const T& what) {
        // In addition to the fields: the date, the node, and the mask.
        static_assert(count_of_fields<T>() + 3 <= most_words);
        for_each_field<T>([&](const auto& field) { words.add_field(what.*field.member); });
      },
      event.what);
  return words.hash();
}

std::string to_string(const Event& event) {
  return std::visit(
      [&event]<class T>(const T& what) {
        std::string line = fmt::format("t={:.9g}s {}: node {}", event.at, T::table, event.node);
        for_each_field<T>([&](const auto& field) {
          const auto& value = what.*field.member;
          if constexpr (OptionalOf<std::decay_t<decltype(value)>>::value) {
            if (value) line += fmt::format(", {} {}", field.name, told(*value));
          } else {
            line += fmt::format(", {} {}", field.name, told(value));
          }
        });
        return line;
      },
      event.what);
}

}  // namespace psim
