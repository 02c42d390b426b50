// What a message goes through before it is sent, so that fewer bytes travel: the filters of parameter
// servers and the gradient compressors of the field, as rows of one table and as chains of them.
//
// A chain of filters stands for every sender, receiver, range and direction. Each filter has a stage, and
// stages come in this order: select values, quantise them, cache keys, compress bytes. Decisions:
// - The bytes are real: quantisers write their codes and read them back, and Snappy compresses the payload
//   as it stands. So the version of the Snappy library is part of a run's identity.
// - Error feedback is one residual per chain. A filter that has it adds what it lost of a value to the
//   residual, and the next push starts from gradient + residual. So what was sent and what is left are
//   together what was given, also through several filters. A filter without it loses for good.
// - Without error feedback, random-k and random-skip scale up what they send, so that its mean is right.
// - A dense message stays dense for the receiver: what a push left out is 0. What a pull left out is what
//   the receiver had, so significant and random-skip remember that, and a pull's first message sends
//   everything.
// - A pull says whose answer its worker took last. If that is not what the server sent last (it was lost or
//   late, another owner answered meanwhile, or the worker crashed), the server sends every value.
// - A message that holds every value of its range needs no positions, whatever filters it went through.
// - Filters whose bytes depend on the data do not work on phantom messages. Which values of a phantom are
//   the largest is not known, so keys behind top-k always count as new there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/random.hpp"
#include "model/values.hpp"

namespace psim {

enum class FilterKind : std::uint8_t {
  key_caching,
  snappy,
  fp16,
  fixed_point,
  one_bit,
  two_bit,
  top_k,
  random_k,
  threshold,
  significant,
  kkt,
  random_skip
};

// What a filter works on, in the order in which filters of one direction must stand.
enum class FilterStage : std::uint8_t {
  select,    // which values are sent
  quantize,  // how each is written down
  keys,      // how their keys are written down
  bytes,     // what is made of the bytes
};

// What a push lost is added to the next one (Seide et al. 2014; Karimireddy et al. 2019).
enum class ErrorFeedback : std::uint8_t { impossible, off, on };  // the latter two: unless the scenario says

constexpr std::string_view in_words(ErrorFeedback feedback) {
  constexpr std::string_view words[] = {"impossible", "if the scenario says so",
                                        "unless the scenario says no"};
  return words[static_cast<std::size_t>(feedback)];
}

struct FilterRow {
  FilterKind kind;
  std::string_view name;
  std::string_view aliases;  // separated by spaces
  FilterStage stage;
  bool needs_numbers;  // its bytes depend on the data, so it does not work on phantom messages
  bool push_only;      // makes sense of gradients only
  ErrorFeedback error_feedback;
  std::string_view does, wire;  // in words, for help and the reference page
  std::string_view source;
};

inline constexpr std::array<FilterRow, 12> filter_rows{{
    {FilterKind::key_caching, "key-caching", "", FilterStage::keys, false, false, ErrorFeedback::impossible,
     "a list of keys that the receiver has from the message before is replaced by its signature",
     "8 bytes for the keys; the first time, and after a change, the keys too",
     "Li et al., OSDI 2014; parameter_server KEY_CACHING"},
    {FilterKind::snappy, "snappy", "compressing", FilterStage::bytes, true, false, ErrorFeedback::impossible,
     "the message's bytes are compressed without loss", "what Snappy makes of keys and values",
     "Li et al., OSDI 2014; parameter_server COMPRESSING"},
    {FilterKind::fp16, "fp16", "half", FilterStage::quantize, false, false, ErrorFeedback::off,
     "half precision, rounded to nearest even; beyond 65504 it is infinite", "2 bytes a value",
     "IEEE 754-2008; Micikevicius et al., ICLR 2018"},
    {FilterKind::fixed_point, "fixed-point", "fixing-float", FilterStage::quantize, false, false,
     ErrorFeedback::off,
     "integers of `bits` bits, the largest magnitude as scale, rounded at random so that the mean is right",
     "4 bytes for the scale, `bits` bits a value",
     "parameter_server FIXING_FLOAT; with 2 bits TernGrad (Wen et al., NIPS 2017)"},
    {FilterKind::one_bit, "one-bit", "1bit", FilterStage::quantize, false, true, ErrorFeedback::on,
     "the sign, which stands for the mean of the values of that sign", "8 bytes for the means, 1 bit a value",
     "Seide et al., Interspeech 2014"},
    {FilterKind::two_bit, "two-bit", "2bit", FilterStage::quantize, false, true, ErrorFeedback::on,
     "+threshold, 0 or -threshold", "2 bits a value, in words of 4 bytes", "MXNet gradient compression 2bit"},
    {FilterKind::top_k, "top-k", "topk", FilterStage::select, false, true, ErrorFeedback::on,
     "the share `fraction` of the values that is largest in magnitude",
     "4 bytes for the position of each value sent, or its key",
     "Aji, Heafield, EMNLP 2017; Lin et al., ICLR 2018 (DGC)"},
    {FilterKind::random_k, "random-k", "randomk", FilterStage::select, false, true, ErrorFeedback::on,
     "a random share `fraction` of the values; without error feedback scaled up, so that the mean is right",
     "4 bytes for the position of each value sent, or its key",
     "Stich et al., NeurIPS 2018; Wangni et al., NeurIPS 2018"},
    {FilterKind::threshold, "threshold", "", FilterStage::quantize, true, true, ErrorFeedback::on,
     "values of at least `threshold` in magnitude, each sent as +threshold or -threshold",
     "4 bytes for each value sent: position and sign; or its key with the sign", "Strom, Interspeech 2015"},
    {FilterKind::significant, "significant", "significantly-modified", FilterStage::select, true, false,
     ErrorFeedback::on,
     "values that differ by more than `threshold` from what the receiver has; of a push, from nothing",
     "4 bytes for the position of each value sent, or its key", "Li et al., OSDI 2014 and NIPS 2014"},
    {FilterKind::kkt, "kkt", "", FilterStage::select, true, true, ErrorFeedback::impossible,
     "all but the gradients of zero weights that an l1 penalty will keep zero: at most l1 - `delta`",
     "4 bytes for the position of each value sent, or its key", "Li et al., OSDI 2014 and NIPS 2014"},
    {FilterKind::random_skip, "random-skip", "", FilterStage::select, false, false, ErrorFeedback::off,
     "each value with a probability of 1 - `probability`; of a push without error feedback scaled up",
     "4 bytes for the position of each value sent, or its key", "Li et al., NIPS 2014"},
}};

constexpr const FilterRow& row_of(FilterKind kind) { return filter_rows[static_cast<std::size_t>(kind)]; }

enum class FilterOn : std::uint8_t { push, pull, both };

// MXNet's default for two-bit is no good guess for these.
constexpr bool needs_threshold(FilterKind kind) {
  return kind == FilterKind::threshold || kind == FilterKind::significant;
}

// What a scenario says in one [[filter]].
struct FilterSpec {
  FilterKind kind = FilterKind::top_k;
  std::optional<FilterOn> on;
  std::optional<double> threshold;     // two-bit (then 0.5, as MXNet's), threshold, significant
  double fraction = 0.01;              // top-k, random-k
  double probability = 0.5;            // random-skip: that a value is left out
  std::int64_t bits = 8;               // fixed-point: 2 to 24
  double delta = 0;                    // kkt
  std::optional<bool> error_feedback;  // of pushes
  double flops_per_value = 0;          // work of the sender for each value that comes in

  FilterStage stage() const { return row_of(kind).stage; }
  // What loses something is for gradients unless the scenario says otherwise; the rest is for all messages.
  FilterOn direction() const {
    return on.value_or(stage() < FilterStage::keys ? FilterOn::push : FilterOn::both);
  }
  bool works_on(bool push) const {
    return direction() == FilterOn::both || (direction() == FilterOn::push) == push;
  }
  bool feeds_back() const {
    return error_feedback.value_or(row_of(kind).error_feedback == ErrorFeedback::on);
  }
  double level() const { return threshold.value_or(0.5); }
};

// The filters of one direction, in the order of the scenario.
std::vector<FilterSpec> filters_on(std::span<const FilterSpec> filters, bool push);

// Rising positions within a range: which of its values a message holds. Null: all of them.
using SharedKeys = std::shared_ptr<const std::vector<std::uint32_t>>;

// What the receiver will see, and what it costs.
struct Encoded {
  Slice values;
  SharedKeys keys;
  std::uint64_t bytes = 0;  // of keys and values on the network
  double flops = 0;         // of the sender
};

// The filters that made some message smaller, and whether it was a push.
using FiltersUsed = std::set<std::pair<FilterKind, bool>>;

// Memory that the chains of one run may share, as only one encodes at a time.
struct FilterBuffers {
  std::vector<std::uint32_t> entries, kept;
  std::vector<std::byte> coded, payload, compressed;
  std::vector<double> magnitudes;
  FiltersUsed used;
};

// The filters between a sender and a receiver, for one range and direction. It holds what both ends
// remember: what pushes lost, the keys that the receiver has, the values that it has.
class FilterChain {
 public:
  struct Options {
    std::vector<FilterSpec> filters = {};      // stages in rising order
    Precision precision = Precision::float32;  // a half one: what filters leave is rounded to it
    std::size_t count = 0;                     // values of the range
    std::uint64_t first_key = 0;               // of the range
    std::size_t key_bytes = 0;  // 8: every value travels with its key; 0: a whole range needs none
    std::uint64_t seed = 0;
    std::uint32_t sender = 0, receiver = 0;
    bool push = true;
    double scale = 1;  // of values that are rounded to half precision; see round_to
    std::shared_ptr<FilterBuffers> buffers = {};  // null: buffers of its own
  };
  explicit FilterChain(Options options);

  // Sends `values`, one for each of `keys`, or for the whole range. A dense message stays dense: what a push
  // left out is 0, and of a pull it is what the receiver had. A sparse push has the keys that are left; a
  // sparse pull has all. kkt needs the weights that belong to `values`, and l1.
  Encoded encode(const Slice& values, const SharedKeys& keys = {}, const Slice& weights = {}, double l1 = 0);

  // The next message answers pull `number` of a receiver that has the answer to its pull `has`, 0: none. If
  // that is not what was sent last, what the receiver holds is not known, and it is sent every value.
  void answer_to(std::int64_t number, std::int64_t has);
  // The receiver lost its memory: it has no keys and no values any more.
  void forget_receiver();

  // What pushes lost so far, of each value of the range; null without error feedback.
  const Values* residual() const { return residual_ ? &*residual_ : nullptr; }

  // A message that goes through no filter: nothing is copied.
  static Encoded plain(const Slice& values, const SharedKeys& keys, Precision precision,
                       std::size_t key_bytes);

 private:
  template <class Scalar>
  class Pass;

  Options options_;
  std::optional<Values> residual_;
  std::optional<Values> known_;  // pulls: what the receiver has ...
  std::vector<bool> is_known_;   // ... where it has anything
  std::int64_t answered_ = 0;    // pulls: the one that was answered last
  std::optional<std::uint64_t> signature_;
  std::uint64_t messages_ = 0;
};

}  // namespace psim
