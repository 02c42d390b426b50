// Checks cuts and moves of shards, and the loads of servers in the summary, only from the events.
#include <cmath>
#include <map>
#include <vector>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {
namespace {

class Moves final : public Check {
 public:
  explicit Moves(const Evidence& evidence)
      : Check(evidence, "moves",
              "a cut loses no values, every shard goes on from where it was, and the loads are those of the "
              "messages"),
        values_(facts_.servers) {}

  void on(const Row& row) override {
    if (row.is("sent", "push") && facts_.is_server(row.peer)) values_[row.peer - 1] += row.values;
    if (row.is("sent", "weights") && facts_.is_server(row.node)) values_[row.node - 1] += row.values;
    if (row.is("place")) epoch_[row.shard] = row.epoch;
    if (row.is("cut")) on_cut(row);
    if (row.is("move")) on_move(row);
    end_ = row.at;
  }

  void at_end(std::int64_t) override {
    if (!summary_.contains("failures")) return does_not_apply();
    if (shifts_.empty()) return does_not_apply();
    end_ = summary_.at("sim_time_s");
    const std::vector<double> last = take_rates();
    const Json told = summary_.at("failures").value("rebalances", Json::array());
    if (told.size() != shifts_.size())
      return violated("shards moved {} times in the events, {} in the summary", shifts_.size(), told.size());
    for (std::size_t i = 0; i < shifts_.size(); ++i) {
      const std::vector<double>& after = i + 1 < shifts_.size() ? shifts_[i + 1].before : last;
      compare(shifts_[i], after, told[i]);
    }
    std::int64_t held = 0;
    const std::int64_t all = parameters();
    for (const Json& server : summary_.at("servers")) held += server.at("parameters").get<std::int64_t>();
    examined();
    if (held > all) violated("the servers hold {} parameters of {}", held, all);
  }

 private:
  struct Shift {
    std::int64_t view = 0, shards = 0, cuts = 0, parameters = 0;
    std::vector<double> before = {};
  };

  // The parameters of all models on the servers.
  std::int64_t parameters() const {
    if (!summary_.contains("groups")) return summary_.at("model").at("parameters");
    std::map<std::int64_t, std::int64_t> of_spaces;
    for (const Json& group : summary_.at("groups"))
      of_spaces[group.at("namespace")] = group.at("model").at("parameters");
    std::int64_t sum = 0;
    for (const auto& [space, own] : of_spaces) sum += own;
    return sum;
  }
  Shift& of_view(std::int64_t view) {
    if (shifts_.empty() || shifts_.back().view != view)
      shifts_.push_back({.view = view, .before = take_rates()});
    return shifts_.back();
  }
  std::vector<double> take_rates() {
    std::vector<double> rates;
    for (std::uint64_t& values : values_) {
      rates.push_back(end_ > since_ ? static_cast<double>(values) / (end_ - since_) : 0);
      values = 0;
    }
    since_ = end_;
    return rates;
  }

  void on_cut(const Row& row) {
    examined();
    end_ = row.at;
    ++of_view(row.view).cuts;
    const auto known = size_.find(row.shard);
    if (row.values == 0 || row.new_values == 0 ||
        (known != size_.end() && known->second != row.values + row.new_values))
      violated(row, "shard {} is cut in {} and {} values", row.shard, row.values, row.new_values);
    if (row.epoch <= epoch_[row.shard])
      violated(row, "shard {} is cut within epoch {}", row.shard, row.epoch);
    size_[row.shard] = row.values;
    size_[row.new_shard] = row.new_values;
    if (const auto goal = goal_.find(row.shard); goal != goal_.end()) goal_[row.new_shard] = goal->second;
  }

  void on_move(const Row& row) {
    examined();
    end_ = row.at;
    Shift& shift = of_view(row.view);
    ++shift.shards;
    shift.parameters += static_cast<std::int64_t>(row.values);
    const auto goal = goal_.find(row.shard);
    if (row.from == row.peer || (goal != goal_.end() && goal->second != row.from))
      violated(row, "shard {} goes from {} to {}, but it was not there", row.shard, name(row.from),
               name(row.peer));
    goal_[row.shard] = row.peer;
    const auto [size, is_new] = size_.try_emplace(row.shard, row.values);
    if (!is_new && size->second != row.values)
      violated(row, "shard {} has {} values, and moves with {}", row.shard, size->second, row.values);
  }

  void compare(const Shift& shift, const std::vector<double>& after, const Json& told) {
    examined();
    bool agrees = told.at("view") == shift.view && told.at("shards") == shift.shards &&
                  told.at("cuts") == shift.cuts && told.at("parameters") == shift.parameters;
    const auto same = [](double counted, const Json& said) {
      return std::abs(said.get<double>() - counted) <= 1e-9 * (1 + counted);
    };
    for (std::size_t s = 0; s < shift.before.size(); ++s) {
      const Json& server = told.at("servers").at(s);
      agrees = agrees && same(shift.before[s], server.at("load_before_per_s")) &&
               same(after[s], server.at("load_after_per_s"));
    }
    if (!agrees) violated("view {}: the summary tells of its moves what the events do not", shift.view);
  }

  std::vector<std::uint64_t> values_;  // by server, since the last shift
  double since_ = 0, end_ = 0;
  std::vector<Shift> shifts_;
  std::map<std::uint32_t, std::int64_t> epoch_;  // by shard, in the last view
  std::map<std::uint32_t, std::uint64_t> size_;  // by shard
  std::map<std::uint32_t, std::uint32_t> goal_;  // by shard: its last destination
};

}  // namespace

void add_move_check(const Evidence& evidence, Checks& checks) { add_checks<Moves>(evidence, checks); }

}  // namespace psim::analysis
