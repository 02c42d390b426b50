#include "analysis/links/lone.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/database.hpp"

namespace psim::analysis {
namespace {

double number(sqlite3_stmt* row, int column, double otherwise) {
  return is_null(row, column) ? otherwise : sqlite3_column_double(row, column);
}

}  // namespace

Lone::Lone(const RunRecord& run) {
  query(run.database(), "SELECT name, bandwidth, latency_s, shared FROM link ORDER BY link",
        [this](sqlite3_stmt* row) {
          links_.push_back({std::string(text(row, 0)), number(row, 1, unlimited),
                            sqlite3_column_double(row, 2), sqlite3_column_int(row, 3) != 0});
        });
  query(run.database(), "SELECT sender, receiver, position, link FROM hop ORDER BY position",
        [&](sqlite3_stmt* row) {
          const Hop hop{sqlite3_column_int64(row, 2), id_in(row, 3)};
          if (hop.link >= links_.size())
            throw Unverifiable(fmt::format("{}: a message crosses link {}, and there are {}",
                                           run.database().path().string(), hop.link, links_.size()),
                               damaged);
          if (is_null(row, 1)) from_[id_in(row, 0)].push_back(hop);
          else if (is_null(row, 0)) to_[id_in(row, 1)].push_back(hop);
          else between_[{id_in(row, 0), id_in(row, 1)}].push_back(hop);
        });
  query(run.database(), "SELECT window_bytes FROM ends",
        [this](sqlite3_stmt* row) { window_ = number(row, 0, unlimited); });
}

void Lone::add(const std::map<std::uint32_t, Hops>& hops, std::uint32_t node, Hops& way) {
  const auto found = hops.find(node);
  if (found != hops.end()) way.insert(way.end(), found->second.begin(), found->second.end());
}

std::vector<std::uint32_t> Lone::way(std::uint32_t from, std::uint32_t to) const {
  Hops hops;
  add(from_, from, hops);
  add(to_, to, hops);
  const auto between = between_.find({from, to});
  if (between != between_.end()) hops.insert(hops.end(), between->second.begin(), between->second.end());
  std::ranges::sort(hops, {}, &Hop::position);
  std::vector<std::uint32_t> way;
  for (const Hop& hop : hops) way.push_back(hop.link);
  return way;
}

double Lone::latency(std::uint32_t from, std::uint32_t to) const {
  double latency = 0;
  for (const std::uint32_t link : way(from, to)) latency += links_[link].latency;
  return latency;
}

double Lone::transfer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const {
  double bandwidth = unlimited, latency = 0;
  for (const std::uint32_t link : way(from, to)) {
    bandwidth = std::min(bandwidth, links_[link].bandwidth);
    latency += links_[link].latency;
  }
  if (latency > 0) bandwidth = std::min(bandwidth, window_ / latency);
  return static_cast<double>(bytes) / bandwidth;
}

}  // namespace psim::analysis
