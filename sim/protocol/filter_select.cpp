// Filters that choose which values of a message are sent.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "model/parameters.hpp"
#include "sim/protocol/filter.hpp"

namespace psim {

// Filters that code values in fewer bits. Each filter writes real bytes and reads them back; scales and means
// travel in single precision.

namespace {

using Bytes = std::vector<std::byte>;

const Setting code_bits{.key = "bits",
                        .doc = "Bits per value, including its sign.",
                        .value = std::int64_t{8},
                        .min = 2,
                        .max = 24,
                        .draws = {"8"}};
const Setting step_size{
    .key = "threshold",
    .doc = "Size of a step (two-bit, threshold), or change above which a value is sent (significant).",
    .value = 0.5,
    .min = 0,
    .max = 1e30,
    .above_min = true,
    .default_text = "0.5 for two-bit, else required"};
const Setting large_setting{.key = "threshold",
                            .doc = "Magnitude from which a value counts as large.",
                            .value = 0.5,
                            .min = 0,
                            .max = 1e30,
                            .above_min = true,
                            .required = true,
                            .draws = {"0.001"}};

template <class T>
void append(Bytes& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <class T>
T read_at(const Bytes& in, std::size_t at) {
  T value;
  std::memcpy(&value, in.data() + at, sizeof value);
  return value;
}

// Codes of a few bits each, least significant bit first.
class BitWriter {
 public:
  explicit BitWriter(Bytes& out) : out_(out) {}
  void put(std::uint32_t code, unsigned bits) {
    pending_ |= std::uint64_t{code} << filled_;
    for (filled_ += bits; filled_ >= 8; filled_ -= 8) next_byte();
  }
  void finish() {
    if (filled_ > 0) next_byte();
    filled_ = 0;
  }

 private:
  void next_byte() {
    out_.push_back(static_cast<std::byte>(pending_ & 0xffU));
    pending_ >>= 8U;
  }
  Bytes& out_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

class BitReader {
 public:
  BitReader(const Bytes& in, std::size_t begin) : in_(in), at_(begin) {}
  std::uint32_t get(unsigned bits) {
    for (; filled_ < bits; filled_ += 8) pending_ |= std::to_integer<std::uint64_t>(in_[at_++]) << filled_;
    const auto code = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << bits) - 1));
    pending_ >>= bits;
    filled_ -= bits;
    return code;
  }

 private:
  const Bytes& in_;
  std::size_t at_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

template <class Scalar>
void fp16(std::span<Scalar> values, Bytes& coded) {
  for (const Scalar x : values) append(coded, half_bits(Precision::float16, static_cast<float>(x)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = read_at<std::uint16_t>(coded, 2 * i);
    values[i] = static_cast<Scalar>(from_half_bits(Precision::float16, bits));
  }
}

// The largest magnitude, rounded up to single precision; not-a-number if a value is not finite.
template <class Scalar>
float scale_of(std::span<const Scalar> values) {
  Scalar largest = 0;
  for (const Scalar x : values) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(x));
  }
  const auto scale = static_cast<float>(largest);
  if (static_cast<Scalar>(scale) >= largest) return scale;
  return std::nextafter(scale, std::numeric_limits<float>::infinity());
}

// Integers from -levels to levels. y becomes floor(y + U(0, 1)), whose mean is y (Gupta et al. 2015).
template <class Scalar>
void fixed_point(std::span<Scalar> values, unsigned bits, Stream stream, Bytes& coded) {
  const std::int64_t levels = (std::int64_t{1} << (bits - 1)) - 1;
  const auto most = static_cast<double>(levels);
  const double scale = scale_of(std::span<const Scalar>(values));
  append(coded, static_cast<float>(scale));
  BitWriter writer(coded);
  for (const Scalar x : values) {
    const double y = scale > 0 ? static_cast<double>(x) / scale * most : 0;
    const double rounded = std::clamp(std::floor(y + stream.uniform()), -most, most);
    writer.put(static_cast<std::uint32_t>(static_cast<std::int64_t>(rounded) + levels), bits);
  }
  writer.finish();

  const double received = read_at<float>(coded, 0);
  BitReader reader(coded, sizeof(float));
  for (Scalar& x : values) {
    const auto level = static_cast<double>(std::int64_t{reader.get(bits)} - levels);
    x = static_cast<Scalar>(level * received / most);
  }
}

template <class Scalar>
void one_bit(std::span<Scalar> values, Bytes& coded) {
  double sums[2] = {0, 0};
  std::size_t counts[2] = {0, 0};
  for (const Scalar x : values) {
    const bool negative = x < 0;
    sums[negative] += static_cast<double>(x);
    ++counts[negative];
  }
  for (const int sign : {0, 1})
    append(coded,
           counts[sign] > 0 ? static_cast<float>(sums[sign] / static_cast<double>(counts[sign])) : 0.0F);
  BitWriter writer(coded);
  for (const Scalar x : values) writer.put(x < 0 ? 1 : 0, 1);
  writer.finish();

  const float means[2] = {read_at<float>(coded, 0), read_at<float>(coded, sizeof(float))};
  BitReader reader(coded, 2 * sizeof(float));
  for (Scalar& x : values) x = means[reader.get(1)];
}

// The codes of MXNet: 3 is +threshold, 2 is -threshold.
template <class Scalar>
void two_bit(std::span<Scalar> values, Scalar threshold, Bytes& coded) {
  constexpr std::uint32_t zero = 0, minus = 2, plus = 3;
  BitWriter writer(coded);
  for (const Scalar x : values) writer.put(x >= threshold ? plus : x <= -threshold ? minus : zero, 2);
  writer.finish();
  coded.resize((coded.size() + 3) / 4 * 4);

  BitReader reader(coded, 0);
  for (Scalar& x : values) {
    const std::uint32_t code = reader.get(2);
    x = code == plus ? threshold : code == minus ? -threshold : Scalar{0};
  }
}

constexpr std::size_t whole(std::size_t bits, std::size_t unit) { return (bits + unit - 1) / unit; }

std::size_t fixed_point_bytes(const Settings& settings, std::size_t count) {
  return 4 + whole(static_cast<std::size_t>(settings.of(code_bits)) * count, 8);
}

const auto keep_large = []<class Scalar>(Selection<Scalar>& s) {
  const auto least = static_cast<Scalar>(s(large_setting));
  s.keep_where([&](std::size_t j) { return std::abs(s.values[j]) >= least; });
};

const auto two_levels = []<class Scalar>(Quantization<Scalar>& q) {
  two_bit(q.values, static_cast<Scalar>(q(step_size)), q.coded);
};

// The sign travels with the position.
const auto only_signs = []<class Scalar>(Quantization<Scalar>& q) {
  const auto least = static_cast<Scalar>(q(large_setting));
  for (Scalar& x : q.values) x = std::copysign(least, x);
};

}  // namespace

std::deque<FilterRow> quantizing_filters() {
  return {
      {.name = "fp16",
       .aliases = "half",
       .stage = FilterStage::quantize,
       .is_half = true,
       .error_feedback = ErrorFeedback::off,
       .quantize = [](auto& q) { fp16(q.values, q.coded); },
       .coded_bytes = [](const Settings&, std::size_t count) { return 2 * count; },
       .doc = "half precision, rounded to nearest even; magnitudes beyond 65504 become infinite",
       .wire = "2 bytes a value",
       .source = "IEEE 754-2008; Micikevicius et al., ICLR 2018"},
      {.name = "fixed-point",
       .aliases = "fixing-float",
       .stage = FilterStage::quantize,
       .error_feedback = ErrorFeedback::off,
       .settings = {&code_bits},
       .quantize =
           [](auto& q) { fixed_point(q.values, static_cast<unsigned>(q(code_bits)), q.stream, q.coded); },
       .coded_bytes = fixed_point_bytes,
       .doc =
           "integers of `bits` bits, scaled by the largest magnitude, rounded at random so that the mean is "
           "right",
       .wire = "4 bytes for the scale, `bits` bits a value",
       .source = "parameter_server FIXING_FLOAT; with 2 bits TernGrad (Wen et al., NIPS 2017)"},
      {.name = "one-bit",
       .aliases = "1bit",
       .stage = FilterStage::quantize,
       .push_only = true,
       .error_feedback = ErrorFeedback::on,
       .quantize = [](auto& q) { one_bit(q.values, q.coded); },
       .coded_bytes = [](const Settings&, std::size_t count) { return 8 + whole(count, 8); },
       .doc = "the sign; the receiver takes the mean of the values with that sign",
       .wire = "8 bytes for the means, 1 bit a value",
       .source = "Seide et al., Interspeech 2014"},
      {.name = "two-bit",
       .aliases = "2bit",
       .stage = FilterStage::quantize,
       .push_only = true,
       .error_feedback = ErrorFeedback::on,
       .settings = {&step_size},
       .quantize = two_levels,
       .coded_bytes = [](const Settings&, std::size_t count) { return 4 * whole(count, 16); },
       .doc = "+threshold, 0 or -threshold",
       .wire = "2 bits a value, in words of 4 bytes",
       .source = "MXNet gradient compression 2bit"},
      {.name = "threshold",
       .stage = FilterStage::quantize,
       .needs_numbers = true,
       .push_only = true,
       .error_feedback = ErrorFeedback::on,
       .settings = {&large_setting},
       .select = keep_large,
       .quantize = only_signs,
       .coded_bytes = [](const Settings&, std::size_t) { return std::size_t{0}; },
       .doc = "values of at least `threshold` in magnitude, each sent as +threshold or -threshold",
       .wire = "4 bytes for each value sent: position and sign; or its key with the sign",
       .source = "Strom, Interspeech 2015"},
  };
}

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
