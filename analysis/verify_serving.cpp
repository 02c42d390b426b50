// Checks the weights with which inference nodes answer, and how stale they are.

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
              "an answer uses weights that servers have sent to its node, and tells how stale they are"),
        shards_(evidence.shards) {}

  void on(const Row& row) override {
    history_.follow_versions(row, versions_);
    if (row.is("cut")) ++shards_;
    if ((row.is("model_update") && facts_.is_server(row.node)) || row.is("promotion")) look_for_newest();
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
  void look_for_newest() {
    // All other shards have version 0. The first message about them may still wait in a queue.
    if (versions_.size() < shards_) return;
    const auto least = std::ranges::min_element(versions_, {}, [](const auto& one) { return one.second; });
    most_ = std::max(most_, least->second);
  }

  std::size_t shards_;  // number of shards
  std::map<std::uint32_t, std::int64_t>
      versions_;           // by shard; only shards that were updated, cut or taken over
  std::int64_t most_ = 0;  // the highest version that all shards have reached
  std::map<std::uint32_t, std::set<std::int64_t>> received_;  // versions, by node
};

}  // namespace

void add_serving_check(const Evidence& evidence, Checks& checks) { add_checks<Served>(evidence, checks); }

}  // namespace psim::analysis
