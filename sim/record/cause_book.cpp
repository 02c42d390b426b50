#include "sim/record/cause_book.hpp"

#include <variant>

namespace psim {

void CauseBook::go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
                      const std::function<void(const Dependency&)>& f) {
  const auto own = static_cast<std::int64_t>(number);
  faults_.on(event, own);
  const OnCourse is = std::visit([]<class T>(const T&) { return psim::on_course<T>(); }, event.what);
  if (is == OnCourse::detail) return;
  Course& here = course();
  const Dependencies before = here.take_needs();
  for (const Dependencies* all : {&before, &needs}) {
    for (const Dependency& need : *all) {
      if (need.event != event.cause.event) f(need);
    }
  }
  if (is == OnCourse::step) here.did(event.at, own);
  else if (!before.empty()) here.needs(own);  // as does what it says next
}

}  // namespace psim
