#include "sim/record/cause_book.hpp"

#include <variant>

namespace psim {

void CauseBook::go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
                      std::span<EventSink* const> sinks) {
  const auto own = static_cast<std::int64_t>(number);
  faults_.on(event, own);
  const InChain is = std::visit([]<class T>(const T&) { return psim::in_chain<T>(); }, event.what);
  if (is == InChain::detail) return;
  CauseChain& here = chain();
  const Dependencies before = here.take_needs();
  for (const Dependencies* all : {&before, &needs}) {
    for (const Dependency& need : *all) {
      if (need.event == event.cause.event) continue;
      for (EventSink* sink : sinks) sink->on_dependency(number, need);
    }
  }
  if (is == InChain::step) here.did(event.at, own);
  else if (!before.empty()) here.needs(own);  // a word passes its dependencies on to the next event
}

}  // namespace psim
