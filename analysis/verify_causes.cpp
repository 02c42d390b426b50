// Checks the recorded causes: some kinds of events can have only one kind of cause.
#include <map>
#include <set>
#include <vector>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class CausesCheck final : public Check {
 public:
  explicit CausesCheck(const Evidence& evidence)
      : Check(evidence, "causes",
              "no event comes before its cause: an arrival is caused by its sending, the end of a step by "
              "its computing, and the end of a wait by an event during the wait") {}

  void on(const Row& row) override {
    examined();
    const bool is_of_none = row.cause < 0;
    if (!is_of_none && row.cause >= std::ssize(dates_)) {
      violated(row, "is caused by event {}, which is later", row.cause);
    } else if (!is_of_none && date(row.cause) > row.at) {
      violated(row, "is caused by event {} at {:.9g} s", row.cause, date(row.cause));
    } else if ((row.is("received") || row.is("lost")) && (row.cause != row.sent || row.spent != "network")) {
      violated(row, "is caused by event {}, but was sent as {}", row.cause, row.sent);
    } else if (row.is("ended") && row.is_step() && row.cause < begun_[row.node]) {
      violated(row, "{} ends a step because of event {}, which was before it", name(row.node), row.cause);
    } else if (row.is("wait") && (is_of_none || date(row.cause) < row.since)) {
      violated(row, "{} waits from {:.9g} s on for event {}, which was before that", name(row.node),
               row.since, row.cause);
    } else if (is_of_none && row.is_computation() && !row.is("killed") && active_.contains(row.node)) {
      violated(row, "{} computes for no reason", name(row.node));
    }
    if (row.is("received") || row.is_computation()) active_.insert(row.node);
    if (row.is("begun") && row.is_step()) begun_[row.node] = row.number;
    dates_.resize(static_cast<std::size_t>(row.number) + 1, row.at);
  }

 private:
  double date(std::int64_t event) const { return dates_[static_cast<std::size_t>(event)]; }

  std::set<std::uint32_t> active_;               // nodes that have received or computed anything
  std::vector<double> dates_;                    // by event
  std::map<std::uint32_t, std::int64_t> begun_;  // by worker: its last step
};

}  // namespace

void add_cause_check(const Evidence& evidence, Checks& checks) { add_checks<CausesCheck>(evidence, checks); }

}  // namespace psim::analysis
