// One cause: its seconds on the critical path of a run, and the nodes that are to blame.
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
  double even = 0;  // part of `seconds`: on links as wide as all links of their kind
  std::map<std::uint32_t, double> nodes;
  std::map<std::string, double> links;
  void add(double more, std::uint32_t node) {
    if (!(more > 0)) return;
    seconds += more;
    nodes[node] += more;
  }
  // The fewest nodes that together have nearly all of the seconds; the largest share first.
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
