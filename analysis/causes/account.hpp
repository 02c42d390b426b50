// The seconds of a run's critical path that one cause took, and the nodes that are to blame.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace psim::analysis {

// Seconds of the path, by node and by link.
struct Account {
  double seconds = 0;
  double even = 0;  // of these on links that are as wide as all of their kind
  std::map<std::uint32_t, double> nodes;
  std::map<std::string, double> links;
  void add(double more, std::uint32_t node) {
    if (!(more > 0)) return;
    seconds += more;
    nodes[node] += more;
  }
  // Those that have nearly all of it, the most first, as few as that takes.
  std::vector<std::uint32_t> blamed() const {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (const auto& [node, part] : nodes) all.emplace_back(part, node);
    std::ranges::sort(all, std::ranges::greater{});
    std::vector<std::uint32_t> blamed;
    double sum = 0;
    for (const auto& [part, node] : all) {
      if (sum >= 0.9 * seconds) break;
      sum += part;
      blamed.push_back(node);
    }
    std::ranges::sort(blamed);
    return blamed;
  }
  std::string link() const {
    const auto most = std::ranges::max_element(links, {}, [](const auto& one) { return one.second; });
    return most == links.end() ? "" : most->first;
  }
};

}  // namespace psim::analysis
