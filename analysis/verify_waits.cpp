// What waits were for, as far as the record can be held to it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Waits final : public Check {
 public:
  Waits()
      : Check("waits",
              "each wait ends with a message that is here, each pull's with one that its server has") {}

  void on(const Row& row, const History& history) override {
    if (row.what == What::received) return arrives(row);
    const bool is_release = row.what == What::release && row.sent >= 0;  // else a view or a date has ended it
    if (row.what != What::wait && !is_release) return;
    examined();
    const std::string name = history.facts().name_of(row.node);
    if (!is_here(row.sent, row.node))
      violated(row, fmt::format("message {} is said to end a wait at {}, which has not received it", row.sent,
                                name));
    if (row.what == What::wait && row.since >= row.at)
      violated(row, fmt::format("{} is said to have waited since {:.9g} s", name, row.since));
  }

 private:
  void arrives(const Row& row) {
    const auto number = static_cast<std::size_t>(row.sent);
    if (receivers_.size() <= number) receivers_.resize(std::max(number + 1, receivers_.size() * 2), nobody);
    receivers_[number] = row.node;
  }
  bool is_here(std::int64_t message, std::uint32_t node) const {
    return message < std::ssize(receivers_) && receivers_[static_cast<std::size_t>(message)] == node;
  }

  static constexpr std::uint32_t nobody = ~0U;
  std::vector<std::uint32_t> receivers_;  // by message's number
};

}  // namespace

void add_wait_check(Checks& checks) { checks.push_back(std::make_unique<Waits>()); }

}  // namespace psim::analysis
