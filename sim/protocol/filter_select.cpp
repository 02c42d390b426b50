// Filters that choose which values of a message are sent.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/protocol/filter_rows.hpp"

namespace psim {
namespace {

const Setting fraction{.key = "fraction",
                       .doc = "Share of a message's values that is sent, at least one value.",
                       .value = 0.01,
                       .min = 0,
                       .max = 1,
                       .above_min = true,
                       .draws = {"0.3"}};
const Setting change{.key = "threshold",
                     .doc = "Change above which a value is sent.",
                     .value = 0.5,
                     .min = 0,
                     .max = 1e30,
                     .above_min = true,
                     .required = true,
                     .draws = {"0.001"}};
const Setting margin{.key = "delta",
                     .doc = "How far below l1 the magnitude of a gradient must be for the filter to drop it.",
                     .value = 0.0,
                     .min = 0,
                     .max = 1e30,
                     .draws = {"0.0001"}};
const Setting probability{.key = "probability",
                          .doc = "Probability that a value is omitted.",
                          .value = 0.5,
                          .min = 0,
                          .max = 1,
                          .below_max = true,
                          .draws = {"0.3"}};

constexpr std::string_view positions = "4 bytes for the position of each value sent, or its key";

// The number of values of a share: at least one, except of none.
std::size_t share_of(double share, std::size_t count) {
  const auto values = static_cast<std::size_t>(std::llround(share * static_cast<double>(count)));
  return std::min(count, std::max<std::size_t>(values, 1));
}

// Among equal magnitudes the first values stay. Not-a-number counts as largest: a run that diverges should
// show it.
const auto keep_largest = [](auto& s) {
  const std::size_t k = share_of(s(fraction), s.count);
  if (s.phantom()) return s.keep_where([k](std::size_t j) { return j < k; });
  const auto magnitude = [&s](std::size_t i) {
    const double x = std::abs(static_cast<double>(s.values[i]));
    return std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
  };
  std::vector<double>& sorted = s.buffers.magnitudes;
  sorted.resize(s.count);
  for (std::size_t i = 0; i < s.count; ++i) sorted[i] = magnitude(i);
  if (k == 0) return s.buffers.kept.clear();
  const auto least = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::ranges::nth_element(sorted, least, std::greater{});
  const double bound = *least;
  std::size_t ties = k - static_cast<std::size_t>(
                             std::count_if(sorted.begin(), least, [bound](double x) { return x > bound; }));
  s.keep_where([&](std::size_t i) {
    const double x = magnitude(i);
    return x > bound || (x == bound && ties > 0 && ties-- > 0);
  });
};

// The first k values of a random order (Fisher-Yates, stopped after k).
const auto keep_random = [](auto& s) {
  const std::size_t k = share_of(s(fraction), s.count);
  std::vector<std::uint32_t>& kept = s.buffers.kept;
  kept.resize(s.count);
  std::iota(kept.begin(), kept.end(), 0U);
  for (std::size_t i = 0; i < k; ++i) std::swap(kept[i], kept[i + s.stream.below(s.count - i)]);
  kept.resize(k);
  std::ranges::sort(kept);
};

double all_over_left(const Settings&, std::size_t before, std::size_t left) {
  return static_cast<double>(before) / static_cast<double>(left);
}

// In this form the comparison treats not-a-number as significant.
const auto keep_significant = [](auto& s) {
  const double threshold = s(change);
  s.keep_where([&](std::size_t j) {
    const double moved = std::abs(static_cast<double>(s.values[j]) - static_cast<double>(s.assumed(j)));
    return s.is_new(j) || !(moved <= threshold);
  });
};

// At a zero weight the penalty cancels a gradient of at most l1, and the weight stays zero.
const auto keep_active = [](auto& s) {
  const double bound = s.l1 - s(margin);
  s.keep_where([&](std::size_t j) {
    const bool stays_zero = !s.weights.empty() && s.weights[s.entry(j)] == 0 &&
                            std::abs(static_cast<double>(s.values[j])) <= bound;
    return !stays_zero;
  });
};

const auto keep_by_chance = [](auto& s) {
  const double left_out = s(probability);
  s.keep_where([&](std::size_t j) {
    const bool by_chance = s.stream.uniform() >= left_out;  // drawn for every value, new or not
    return by_chance || s.is_new(j);
  });
};

double inverse_of_chance(const Settings& settings, std::size_t, std::size_t) {
  return 1 / (1 - settings.of(probability));
}

}  // namespace

std::deque<FilterRow> selecting_filters() {
  return {
      {.name = "top-k",
       .aliases = "topk",
       .stage = FilterStage::select,
       .push_only = true,
       .error_feedback = ErrorFeedback::on,
       .settings = {&fraction},
       .select = keep_largest,
       .guesses_phantoms = true,
       .doc = "the share `fraction` of the values with the largest magnitudes",
       .wire = positions,
       .source = "Aji, Heafield, EMNLP 2017; Lin et al., ICLR 2018 (DGC)"},
      {.name = "random-k",
       .aliases = "randomk",
       .stage = FilterStage::select,
       .push_only = true,
       .error_feedback = ErrorFeedback::on,
       .settings = {&fraction},
       .select = keep_random,
       .makes_up = all_over_left,
       .doc =
           "a random share `fraction` of the values; without error feedback scaled up, so that the mean is "
           "right",
       .wire = positions,
       .source = "Stich et al., NeurIPS 2018; Wangni et al., NeurIPS 2018"},
      {.name = "significant",
       .aliases = "significantly-modified",
       .stage = FilterStage::select,
       .needs_numbers = true,
       .error_feedback = ErrorFeedback::on,
       .settings = {&change},
       .select = keep_significant,
       .doc = "pull: the weights that differ by more than `threshold` from the receiver's copy; push: the "
              "values with a magnitude above `threshold`",
       .wire = positions,
       .source = "Li et al., OSDI 2014 and NIPS 2014"},
      {.name = "kkt",
       .stage = FilterStage::select,
       .needs_numbers = true,
       .push_only = true,
       .needs_weights = true,
       .settings = {&margin},
       .select = keep_active,
       .doc = "all gradients, except at weights that are zero and that the l1 penalty keeps at zero: there "
              "the magnitude is at most l1 - `delta`",
       .wire = positions,
       .source = "Li et al., OSDI 2014 and NIPS 2014"},
      {.name = "random-skip",
       .stage = FilterStage::select,
       .error_feedback = ErrorFeedback::off,
       .settings = {&probability},
       .select = keep_by_chance,
       .makes_up = inverse_of_chance,
       .doc =
           "each value with a probability of 1 - `probability`; scaled up for a push without error feedback",
       .wire = positions,
       .source = "Li et al., NIPS 2014"},
  };
}

}  // namespace psim
