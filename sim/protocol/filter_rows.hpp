// A filter is a row of the table of its stage (filter_select.cpp, filter_quantize.cpp; keys and bytes in
// filter_rows.cpp, which joins them) and the functions of that stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/random.hpp"
#include "model/scalar_code.hpp"
#include "model/settings.hpp"
#include "model/table.hpp"

namespace psim {

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
std::deque<FilterRow> quantizing_filters();  // filter_quantize.cpp

}  // namespace psim
