#include <fmt/format.h>
#include "sim/simulation.hpp"
int main(int argc, char** argv) {
  psim::Diagnostics d; psim::LoadRequest r{.path = argv[1], .overrides = {}, .data_dirs = {}};
  unsigned threads = 1;
  for (int i = 2; i < argc; ++i) { std::string a = argv[i]; if (a.starts_with("-t")) { threads = std::stoi(a.substr(2)); continue; } auto p = a.find('='); r.overrides.push_back({a.substr(0, p), a.substr(p + 1)}); }
  auto l = psim::load_scenario(r, d);
  if (!l) { fmt::print("{}", d.render()); return 2; }
  auto x = psim::simulate(*l, {.threads = threads, .context = ""}, {});
  const auto& s = x.stats;
  fmt::print("digest {} t {:.9g} updates {} clocks {} msgs {} bytes {} recv {} lost {}\n", x.digest, x.sim_time, s.updates(), s.clocks(), s.messages, s.bytes_sent, s.bytes_received, s.bytes_lost);
  fmt::print("arrived {} applied {} dropped {} stale {:.4f} max {} gap {}\n", s.pushes_arrived, s.pushes_applied, s.pushes_dropped, s.staleness_mean(), s.staleness_max, s.clock_gap_max);
  for (auto& w : s.workers) fmt::print("  comp {:.4f} net {:.4f} wait {:.4f} clocks {} step {:.9g}\n", w.time.compute, w.time.network, w.time.wait, w.clocks, w.mean_step());
  if (!x.curve.empty()) for (auto& p : x.curve) fmt::print("  {:.6g} {} {:.17g} {}\n", p.at, p.updates, p.result.loss, p.result.accuracy.value_or(-1));
}
