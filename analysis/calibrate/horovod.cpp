#include "analysis/calibrate/horovod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace psim::calibrate {
namespace {

// The last step of a log may be incomplete, so the numbers of rounds of its tensors differ by one.
bool are_alike(std::size_t rounds, std::size_t others) {
  return rounds <= others + 1 && others <= rounds + 1;
}

}  // namespace

void HorovodSteps::take(const TraceEvent& event) {
  Tensor& tensor = tensors_[event.process];
  if (event.name.starts_with("NEGOTIATE_") && event.phase == "B") {
    tensor.is_negotiating = true;
    tensor.ends.push_back(0);
  } else if (tensor.is_negotiating && event.phase == "X" && last_number_in(event.name)) {
    tensor.ticks.push_back({tensor.ends.size() - 1, *last_number_in(event.name), event.begin});
  } else if (event.phase == "E") {
    if (!tensor.is_negotiating && !tensor.ends.empty())
      tensor.ends.back() = std::max(tensor.ends.back(), event.begin);
    tensor.is_negotiating = false;
  }
}

std::size_t HorovodSteps::usual_rounds() const {
  std::map<std::size_t, std::size_t> negotiations;  // by the rounds of their tensor
  for (const auto& [process, tensor] : tensors_) negotiations[tensor.ends.size()] += tensor.ends.size();
  std::size_t usual = 0, most = 0;
  for (const auto& [rounds, own] : negotiations) {
    std::size_t alike = 0;
    for (const auto& [others, count] : negotiations) alike += are_alike(rounds, others) ? count : 0;
    if (alike >= most) usual = rounds, most = alike;
  }
  return usual;
}

bool HorovodSteps::put(const std::string& path, ClusterLog& log) const {
  const std::size_t usual = usual_rounds();
  std::map<std::size_t, std::map<std::int64_t, double>> ready;  // by step and rank: microseconds
  std::map<std::size_t, double> ends;
  std::size_t others = 0;
  for (const auto& [process, tensor] : tensors_) {
    if (tensor.ends.empty()) continue;
    if (!are_alike(tensor.ends.size(), usual)) {
      ++others;
      continue;
    }
    for (const auto& [round, rank, date] : tensor.ticks) {
      double& last = ready[round][rank];
      last = std::max(last, date);
    }
    for (std::size_t round = 0; round < tensor.ends.size(); ++round)
      ends[round] = std::max(ends[round], tensor.ends[round]);
  }
  bool found = false;
  for (const auto& [step, ranks] : ready) {
    if (step == 0 || !(ends[step - 1] > 0)) continue;
    for (const auto& [rank, date] : ranks) {
      log.steps.add(rank, static_cast<std::int64_t>(step), {.compute = (date - ends[step - 1]) / 1e6});
      found = true;
    }
  }
  if (found && others > 0)
    log.note(path, fmt::format("{} not reduced once in each step, and left out.",
                               others == 1 ? "1 tensor is" : fmt::format("{} tensors are", others)));
  return found;
}

}  // namespace psim::calibrate
