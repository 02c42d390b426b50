// The filters that make a message smaller before it is sent: the filters of parameter servers and the
// gradient compressors of the field, as rows of one table and as chains of them.
//
// Each sender, receiver, range and direction has its own chain of filters. Each filter has a stage, and
// stages come in this order: select values, quantise them, cache keys, compress bytes. Decisions:
// - The bytes are real: quantisers write their codes and read them back, and Snappy compresses the real
//   payload. So the version of the Snappy library is part of a run's identity.
// - Error feedback is one residual per chain. A filter with error feedback adds the lost part of each value
//   to the residual, and the next push starts from gradient + residual. So the sent part plus the residual
//   equals the input, also through several filters. A filter without error feedback loses that part for good.
// - With memory = "difference" (EF21) the memory is the sum of what the chain has sent. The filters get the
//   difference of the gradient to this sum, and the receiver adds what comes to its own copy of the sum. So
//   both ends must agree, and no message may be lost. psim hands the receiver the sum itself, with the bytes
//   of the difference; so a server that drops a late push has the right sum, too. Each difference is rounded
//   to half precision where gradients are, and the sum is not.
// - Without error feedback, random-k and random-skip scale up the sent values, so that their mean is right.
// - A dense message stays dense for the receiver. A value that a push omits is 0. The receiver keeps its old
//   value for anything that a pull omits. So significant and random-skip remember the receiver's values, and
//   the first message of a pull sends everything.
// - A pull gives the number of the last pull whose answer its worker took. If that is not the last answer
// that
//   the server sent (it was lost or late, another owner answered meanwhile, or the worker crashed), the
//   server sends every value.
// - A message that holds every value of its range needs no positions, whatever its filters were.
// - Key caching (Li et al., OSDI 2014, section 4.2). A receiver remembers the last list of keys that it took
//   from a sender, for each shard and block of features. A message with the same list carries only the list's
//   signature. Where nodes fail or messages get lost, the receiver may lack the list. The sender can tell: a
//   new owner of the shard has no list; pushes are taken in order; a pull says which answer came last, and an
//   answer says that its pull came. So the sender sends the keys again to a new owner, after an answer that
//   did not come, and with every repeated message. The paper leaves this case open. A receiver that does not
//   know the signature treats the message as lost; the sender repeats it, with its keys.
// - Filters whose bytes depend on the data do not work on phantom messages. A phantom has no values, so psim
//   does not know which are the largest; keys after top-k always count as new.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "model/base/settings.hpp"
#include "model/base/table.hpp"
#include "model/parameters.hpp"
#include "model/values.hpp"

namespace psim {

// A filter is a row of the table of its stage (filter_select.cpp; keys and bytes in filter.cpp, which
// joins them) and the functions of that stage.

// The part of a message that a filter changes. Filters of one direction must stand in this order.
enum class FilterStage : std::uint8_t {
  select,    // which values are sent
  quantize,  // how each value is coded
  keys,      // how the keys are coded
  bytes,     // how the bytes are compressed
};

// The next push adds what the last push lost (Seide et al. 2014; Karimireddy et al. 2019).
enum class ErrorFeedback : std::uint8_t { impossible, off, on };  // off, on: the default of the scenario

constexpr std::string_view in_words(ErrorFeedback feedback) {
  constexpr std::string_view words[] = {"impossible", "if the scenario says so",
                                        "unless the scenario says no"};
  return words[static_cast<std::size_t>(feedback)];
}

struct FilterRow;
using FilterKind = Chosen<FilterRow>;

// The filters that made some message smaller, and whether it was a push.
using FiltersUsed = std::set<std::pair<FilterKind, bool>>;

// Memory that the chains of one run may share, because only one chain encodes at a time.
struct FilterBuffers {
  std::vector<std::uint32_t> entries, kept;
  std::vector<std::byte> coded, payload, compressed;
  std::vector<double> magnitudes;
  FiltersUsed used;
  std::set<FilterKind> overflowed = {};  // they made a finite value infinite
};

// The values of a message that remain. A filter that selects writes the places of the values that it keeps
// into buffers.kept, rising.
template <class Scalar>
struct Selection {
  const Settings& settings;
  std::size_t count;
  std::span<const Scalar> values;          // empty for a phantom message
  const std::uint32_t* entries;            // the place of each value in the message; null: in order
  const std::vector<std::uint32_t>* keys;  // the place of each entry in the range; null: in order
  std::span<const Scalar> weights;         // for pushes, by entry, for filters that need them
  double l1;                               // of the optimizer
  std::span<const Scalar> known;           // for pulls, by place in the range: the receiver's values ...
  const std::vector<bool>* is_known;       // ... at the places where it has a value; null for pushes
  Stream stream;
  FilterBuffers& buffers;

  double operator()(const Setting& setting) const { return settings.of(setting); }
  bool phantom() const { return values.empty(); }
  std::size_t entry(std::size_t j) const { return entries ? entries[j] : j; }
  std::size_t position(std::size_t j) const { return keys ? (*keys)[entry(j)] : entry(j); }
  bool is_new(std::size_t j) const { return is_known && !(*is_known)[position(j)]; }
  // The value that the receiver assumes if no value is sent.
  Scalar assumed(std::size_t j) const { return is_known ? known[position(j)] : Scalar{0}; }

  template <class Predicate>
  void keep_where(Predicate&& stays) {
    buffers.kept.clear();
    for (std::size_t j = 0; j < count; ++j) {
      if (stays(j)) buffers.kept.push_back(static_cast<std::uint32_t>(j));
    }
  }
};

// Values to code into `coded`; the decoded values replace them.
template <class Scalar>
struct Quantization {
  const Settings& settings;
  std::span<Scalar> values;
  Stream stream;
  std::vector<std::byte>& coded;  // empty at first

  double operator()(const Setting& setting) const { return settings.of(setting); }
};

struct FilterRow {
  std::string_view name;
  std::string_view aliases = {};  // separated by spaces
  FilterStage stage;
  bool needs_numbers = false;  // its bytes depend on the data, so it does not work on phantom messages
  bool push_only = false;      // only useful for gradients
  bool needs_weights = false;  // reads the weights that the gradients belong to, and l1
  bool is_half = false;        // does nothing to values of half precision
  ErrorFeedback error_feedback = ErrorFeedback::impossible;
  SettingList settings = {};
  // Stage select. In stage quantize: which values are coded; their signs travel with their keys.
  ScalarCode<Selection> select = {};
  // Stage select without error feedback: the factor for the remaining values that keeps their mean right;
  // `left` is above 0.
  double (*makes_up)(const Settings&, std::size_t before, std::size_t left) = nullptr;
  bool guesses_phantoms = false;  // for a phantom message it knows how many values remain, but not which
  // Stage quantize, with the bytes of `count` coded values.
  ScalarCode<Quantization> quantize = {};
  std::size_t (*coded_bytes)(const Settings&, std::size_t count) = nullptr;
  // Stage bytes: returns the size; `out` is a buffer.
  std::size_t (*compress)(std::span<const std::byte> payload, std::vector<std::byte>& out) = nullptr;
  std::string_view doc, wire;  // what it sends, and the bytes of that, for help and the reference page
  std::string_view source;
  double fuzz = 1;  // how often the fuzzer draws it, relative to 1

  // The name of a missing function.
  std::string_view lacks() const {
    switch (stage) {
      case FilterStage::keys: return "";
      case FilterStage::select: return select ? "" : "select";
      case FilterStage::quantize: return !quantize ? "quantize" : coded_bytes == nullptr ? "coded_bytes" : "";
      case FilterStage::bytes: return compress == nullptr ? "compress" : "";
    }
    return "";
  }
};

template <>
std::deque<FilterRow> built_in_rows();
std::deque<FilterRow> selecting_filters();   // filter_select.cpp
std::deque<FilterRow> quantizing_filters();  // filter_select.cpp

enum class FilterOn : std::uint8_t { push, pull, both };

// What a filter with error feedback remembers: the part that it has not sent; or, in EF21 (Richtárik et al.,
// NeurIPS 2021), the sum of all that it has sent.
enum class FilterMemory : std::uint8_t { residual, difference };

// One [[filter]] of a scenario.
struct FilterSpec {
  FilterKind kind;
  std::optional<FilterOn> on;
  Settings settings;                   // of the kind
  std::optional<bool> error_feedback;  // only for pushes
  FilterMemory memory = FilterMemory::residual;
  double flops_per_value = 0;  // work of the sender for each incoming value

  FilterStage stage() const { return kind->stage; }
  // Without a direction in the scenario, filters that lose information apply to gradients only; all others
  // apply to all messages.
  FilterOn direction() const {
    return on.value_or(stage() < FilterStage::keys ? FilterOn::push : FilterOn::both);
  }
  bool works_on(bool push) const {
    return direction() == FilterOn::both || (direction() == FilterOn::push) == push;
  }
  bool feeds_back() const { return error_feedback.value_or(kind->error_feedback == ErrorFeedback::on); }
  bool sends_differences() const {
    return works_on(true) && feeds_back() && memory == FilterMemory::difference;
  }
};

// The filters of one direction, in the order of the scenario.
std::vector<FilterSpec> filters_on(std::span<const FilterSpec> filters, bool push);

// Rising positions within a range: which of its values a message holds. Null: all of them.
using SharedKeys = std::shared_ptr<const std::vector<std::uint32_t>>;

inline constexpr std::size_t signature_bytes = 8;  // of a list of keys

// Key caching: the list of a message's keys, as far as the message contains it.
struct KeyList {
  std::uint64_t signature = 0;     // 0: the receiver need not remember a list
  std::uint64_t bytes_listed = 0;  // for a message with only the signature: its bytes with the list
  bool is_listed() const { return bytes_listed == 0; }
};

// What both ends remember of a sender's lists of keys: the signatures of the last lists. Their number is the
// number of blocks of features, because each block has its own list.
class KeyMemory {
 public:
  explicit KeyMemory(std::int64_t most = 1) : most_(static_cast<std::size_t>(most)) {}
  bool has(std::uint64_t signature) const { return std::ranges::find(last_, signature) != last_.end(); }
  // This list is the last one from now on.
  void note(std::uint64_t signature) {
    std::erase(last_, signature);
    if (last_.size() == most_) last_.erase(last_.begin());
    last_.push_back(signature);
  }
  void forget() { last_.clear(); }
  // The receiver's part: whether it can read a message with this list. If it can, it remembers the list.
  bool reads(const KeyList& list) {
    if (!list.is_listed() && !has(list.signature)) return false;
    if (list.signature != 0) note(list.signature);
    return true;
  }

 private:
  std::size_t most_;
  std::vector<std::uint64_t> last_;
};

// The message that the receiver sees, and its cost.
struct Encoded {
  Slice values;
  SharedKeys keys;
  std::uint64_t bytes = 0;  // of keys and values on the network
  double flops = 0;         // of the sender
  KeyList list = {};
};

// Bytes of the key of a value in a message.
struct KeyBytes {
  std::size_t always = 0;      // 8: every value travels with its key; 0: a whole range needs none
  bool are_in_ranges = false;  // listed keys are few ranges, which need no bytes for each key
  std::size_t of(bool listed) const {
    constexpr std::size_t position = 4;  // of a value in its range
    return always > 0 ? always : listed && !are_in_ranges ? position : 0;
  }
};

// The filters between a sender and a receiver, for one range and direction. The chain holds what both ends
// remember: the losses of pushes, the receiver's keys, and the receiver's values.
class FilterChain {
 public:
  struct Options {
    std::vector<FilterSpec> filters = {};      // stages in rising order
    Precision precision = Precision::float32;  // half precision: the output of the filters is rounded to it
    std::size_t count = 0;                     // values of the range
    std::uint64_t first_key = 0;               // of the range
    KeyBytes key_bytes = {};
    std::uint64_t seed = 0;
    std::uint32_t sender = 0, receiver = 0;
    bool push = true;
    double scale = 1;            // of values that are rounded to half precision; see round_to
    bool repeats = false;        // a message may be lost, and be sent again
    std::int64_t key_lists = 1;  // lists of keys that a receiver remembers
    std::shared_ptr<FilterBuffers> buffers = {};  // null: buffers of its own
  };
  explicit FilterChain(Options options);

  // Sends `values`, one for each of `keys`, or for the whole range. A dense message stays dense: an omitted
  // value of a push is 0, and an omitted value of a pull is the receiver's old value. A sparse push carries
  // the remaining keys; a sparse pull carries all keys. kkt needs the weights that belong to `values`, and
  // l1.
  Encoded encode(const Slice& values, const SharedKeys& keys = {}, const Slice& weights = {}, double l1 = 0);

  // The next message answers pull `number` of a receiver that has the answer to its pull `has`; 0: it has
  // none. If `has` is not the last answer that was sent, the receiver's values are unknown, and it gets every
  // value.
  void answer_to(std::int64_t number, std::int64_t has);
  // The receiver is a new one or lost its memory: it has no list of keys, or no values either.
  void forget_keys();
  void forget_receiver();

  // Cuts the range: this chain keeps the first `at` values. The new chain has the options `rest` and gets the
  // memory of the other values. Both chains send their next message whole, with its keys.
  std::unique_ptr<FilterChain> cut(std::size_t at, Options rest);

  // The losses of pushes so far, or the sum of what was sent, for each value of the range; null without error
  // feedback.
  const Values* residual() const { return residual_ ? &*residual_ : nullptr; }

  // A message without filters: nothing is copied.
  static Encoded plain(const Slice& values, const SharedKeys& keys, Precision precision,
                       const KeyBytes& key_bytes);

 private:
  template <class Scalar>
  class Pass;

  Options options_;
  std::optional<Values> residual_;
  std::optional<Values> known_;  // pulls: the receiver's values ...
  std::vector<bool> is_known_;   // ... at the places where it has a value
  std::int64_t answered_ = 0;    // pulls: the last answered pull
  KeyMemory known_keys_;         // of the receiver
  std::uint64_t signature_ = 0;  // of the last list
  std::uint64_t messages_ = 0;
};

}  // namespace psim
