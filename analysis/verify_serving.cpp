// What inference nodes answer with, and how stale that is.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Served final : public Check {
 public:
  explicit Served(const Evidence& evidence)
      : Check(evidence, "served",
              "an answer uses weights that servers have sent to its node, and tells how stale they are") {}

  void on(const Row& row) override {
    // Workers pull every shard, or push to it after a warm-up, before the first one changes.
    if ((row.is("sent", "pull") || row.is("sent", "push")) && facts_.is_worker(row.node))
      versions_.try_emplace(row.shard, 0);
    history_.follow_cuts(row, versions_);
    if (row.is("model_update") && facts_.is_server(row.node)) {
      versions_[row.shard] = row.version;
      const auto least = std::ranges::min_element(versions_, {}, [](const auto& one) { return one.second; });
      most_ = std::max(most_, least->second);
    }
    if (row.is("received", "weights")) received_[row.node].insert(row.version);
    if (!row.is("prediction")) return;
    examined();
    if (row.version > 0 && !received_[row.node].contains(row.version))
      violated(row, "{} answers with version {}, which no server has sent to it", name(row.node),
               row.version);
    if (row.staleness != most_ - row.version)
      violated(row, "{} answers with version {} and says that it is {} versions old; servers have had {}",
               name(row.node), row.version, row.staleness, most_);
  }

 private:
  std::map<std::uint32_t, std::int64_t> versions_;            // by shard
  std::int64_t most_ = 0;                                     // that all shards have had
  std::map<std::uint32_t, std::set<std::int64_t>> received_;  // versions, by node
};

}  // namespace

void add_serving_check(const Evidence& evidence, Checks& checks) { add_checks<Served>(evidence, checks); }

}  // namespace psim::analysis
