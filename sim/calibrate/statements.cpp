#include "sim/calibrate/statements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/render/text_table.hpp"

namespace psim::calibrate {
namespace {

// The values that the scenario lacks. Without them messages take no time.
std::vector<std::string> lacks(const Calibration& calibration) {
  std::vector<std::string> missing;
  if (!calibration.runs.empty()) return missing;
  if (calibration.network.values.bandwidth == NetworkValues().bandwidth &&
      !calibration.facts.gives("cluster.network.bandwidth"))
    missing.push_back("the bandwidth (1e15 B/s here)");
  if (!calibration.facts.model_bytes && !calibration.facts.gives("model."))
    missing.push_back("the size of the model (4 B here)");
  return missing;
}

// The lines of a comment in a file.
std::string as_comment(const std::string& text) {
  std::string out;
  for (const std::string& line : analysis::wrapped(text, 100)) out += "# " + line + "\n";
  return out;
}

}  // namespace

std::string verdict_line(const Calibration& calibration) {
  const Verdict& verdict = *calibration.verdict;
  const char *holds = verdict.holds ? "holds" : "does not hold", *subject = "The model", *rest = "";
  if (verdict.only_computations) {
    subject = "The model of the computations";
    rest = calibration.times.rest.empty()
               ? " Communication is not judged: the log has no push and pull."
               : " Communication is not judged: the log does not tell the size of the model (--model-bytes).";
  }
  return fmt::format("{} {} within {:.3g} %.{}", subject, holds, 100 * verdict.within, rest);
}

std::string judgement(const Compared& judged, double within) {
  return fmt::format("{} {:.3g} %", std::abs(judged.error()) <= within ? "within" : "beyond", 100 * within);
}

std::vector<std::string> warnings(const Calibration& calibration) {
  const std::vector<std::string> missing = lacks(calibration);
  if (missing.empty()) return {};
  return {fmt::format(
      "Communication is free in this scenario, because the log does not tell {}. So predictions are those of "
      "a cluster that only computes. Calibrate with a link test too (a file of bytes,seconds, nccl-tests or "
      "iperf3), or with push_s and pull_s in the log, and with --model-bytes SIZE. Or set the values: "
      "--set cluster.network.bandwidth=10Gbps --model-bytes 100MB.",
      fmt::join(missing, " and "))};
}

std::string scenario_title(const Calibration& calibration) {
  std::string title = "A cluster as its log shows it";
  if (!lacks(calibration).empty()) title += "; communication is free";
  if (calibration.verdict && !calibration.verdict->holds)
    title += fmt::format("; the model does not hold within {:.3g} %", 100 * calibration.verdict->within);
  return title;
}

std::string scenario_comment(const Calibration& calibration) {
  std::string out = as_comment("Made by psim calibrate; calibration.json has every value with its interval.");
  if (!calibration.verdict) {
    out += as_comment("No verdict: no part of the log was held out.");
  } else {
    const std::vector<Compared>& judged = calibration.verdict->judged;
    const auto worst =
        std::ranges::max_element(judged, {}, [](const Compared& one) { return std::abs(one.error()); });
    out += as_comment(fmt::format("Verdict on the last {}: {} Worst: {}, {:+.1f} %.", calibration.judged_on(),
                                  verdict_line(calibration), worst->name, 100 * worst->error()));
  }
  for (const std::string& warning : warnings(calibration)) out += as_comment("WARNING: " + warning);
  return out;
}

}  // namespace psim::calibrate
