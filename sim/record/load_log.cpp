#include "sim/record/load_log.hpp"

#include <utility>

namespace psim {

void LoadLog::on(double, const Sent& message) {
  if (message.kind != MessageKind::push && message.kind != MessageKind::weights) return;
  const NodeId server = message.kind == MessageKind::push ? message.to : message.from;
  if (server > 0 && server <= values_.size()) values_[server - 1] += message.values;
}

void LoadLog::on(double at, const ShardCut& cut) { ++of_view(at, cut.view).cuts; }

void LoadLog::on(double at, const ShardMove& move) {
  Rebalancing& here = of_view(at, move.view);
  ++here.shards;
  here.values += move.values;
}

Rebalancing& LoadLog::of_view(double at, std::int64_t view) {
  if (!all_.empty() && all_.back().view == view) return all_.back();
  std::vector<double> rates = take_rates(at);
  if (!all_.empty()) all_.back().after = rates;
  return all_.emplace_back(Rebalancing{.at = at, .view = view, .before = std::move(rates)});
}

std::vector<double> LoadLog::take_rates(double at) {
  std::vector<double> rates;
  for (std::uint64_t& values : values_) {
    rates.push_back(at > since_ ? static_cast<double>(values) / (at - since_) : 0);
    values = 0;
  }
  since_ = at;
  return rates;
}

void LoadLog::close(double at) {
  if (!all_.empty()) all_.back().after = take_rates(at);
}

}  // namespace psim
