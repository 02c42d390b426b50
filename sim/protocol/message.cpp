#include "sim/protocol/message.hpp"

namespace psim {

std::uint64_t Start::wire_bytes() const { return view ? view->bytes() : 0; }
MessageFacts Start::facts() const {
  return {.kind = MessageKind::start, .view = view ? std::optional(view->number) : std::nullopt};
}
std::uint64_t NewView::wire_bytes() const { return view ? view->bytes() : 0; }
MessageFacts NewView::facts() const { return {.kind = MessageKind::view, .view = view->number}; }

std::optional<std::int64_t> MessageFacts::number() const {
  if (kind == MessageKind::decide) return version;
  for (const auto& own : {pull, push, life, entries, part, pieces, samples}) {
    if (own) return own;
  }
  return next_owner;
}

std::uint64_t wire_size(const Body& body) {
  return std::visit([](const auto& content) { return content.wire_bytes(); }, body);
}

MessageFacts facts_of(const Body& body) {
  return std::visit([](const auto& content) { return content.facts(); }, body);
}

std::uint64_t View::bytes() const {
  std::uint64_t bytes = 8 + (workers.size() + 7) / 8 + 12 * cuts.size();
  for (const Owner& owner : owners)
    bytes += 8 + 4 * (owner.replicas.size() + owner.from.size() + (owner.next != 0 ? 1 : 0));
  return bytes;
}

}  // namespace psim
