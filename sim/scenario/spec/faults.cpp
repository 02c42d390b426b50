#include "sim/scenario/spec/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/units.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

std::vector<bool> members(const ClusterSpec& cluster, const std::vector<std::string>& names) {
  const auto servers = static_cast<std::uint32_t>(cluster.servers);
  std::vector<bool> in(node_count(cluster), false);
  const auto add = [&in](std::uint32_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) in[static_cast<std::size_t>(first + i)] = true;
  };
  for (const std::string& name : names) {
    if (name == "all") add(0, node_count(cluster));
    else if (name == "servers") add(1, cluster.servers);
    else if (name == "workers") add(1 + servers, cluster.workers);
    else if (const std::optional<std::uint32_t> node = node_named(cluster, name)) in[*node] = true;
    else if (const std::optional<std::uint32_t> host = host_named(cluster, name)) {
      for (const std::uint32_t one : nodes_on(cluster, *host)) in[one] = true;
    }
  }
  return in;
}

std::vector<std::uint32_t> listed(const std::vector<bool>& in) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < in.size(); ++node) {
    if (in[node]) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace

bool may_lose(const FaultSpec& fault) {
  return !fault.kind->loses_nothing || (fault.kind->takes_factor() && !(fault.factor.value_or(0) > 0));
}

bool names_several_nodes(std::string_view name) {
  return name == "all" || name == "servers" || name == "workers";
}

std::vector<std::uint32_t> fault_nodes(const ClusterSpec& cluster, const std::vector<std::string>& names) {
  return listed(members(cluster, names));
}

std::array<std::vector<std::uint32_t>, 2> fault_sides(const ClusterSpec& cluster,
                                                      const std::vector<std::vector<std::string>>& between) {
  const std::vector<std::string> rest{"rest"};
  std::array<std::vector<bool>, 2> sides{members(cluster, between[0]), members(cluster, between[1])};
  for (std::size_t side = 0; side < 2; ++side) {
    if (between[side] != rest) continue;
    sides[side] = sides[1 - side];
    sides[side].flip();
  }
  return {listed(sides[0]), listed(sides[1])};
}

namespace {

using Quantity = FaultCondition::Quantity;

struct Word {
  std::string_view text;
  std::size_t begin;
};

bool is_comparison(char c) { return c == '<' || c == '>' || c == '='; }

// Comparisons are separate words, with or without blanks around them.
std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    const bool comparison = is_comparison(text[i]);
    std::size_t end = i;
    while (end < text.size() && text[end] != ' ' && is_comparison(text[end]) == comparison) ++end;
    words.push_back({text.substr(i, end - i), i});
    i = end;
  }
  return words;
}

class ConditionParser {
 public:
  explicit ConditionParser(std::string_view text) : text_(text), words_(words_of(text)) {}

  std::variant<FaultCondition, ConditionError> parse() {
    if (words_.empty()) return ConditionError{0, text_.size(), "is empty"};
    const bool known = words_.back().text == "crashed" ? parse_crashed() : parse_quantity_name();
    if (known && condition_.quantity != Quantity::crashed && parse_comparison() && parse_bound()) {
      if (next_ < words_.size()) fail("the condition ends before this");
    }
    if (error_) return *error_;
    return condition_;
  }

 private:
  bool fail(std::string label) {
    const bool at_end = next_ >= words_.size();
    error_ = at_end ? ConditionError{text_.size() - words_.back().text.size(), words_.back().text.size(),
                                     "something is missing after this: " + label}
                    : ConditionError{words_[next_].begin, words_[next_].text.size(), std::move(label)};
    return false;
  }

  bool parse_crashed() {
    condition_.quantity = Quantity::crashed;
    condition_.bound = 1;
    for (; next_ + 1 < words_.size(); ++next_) {
      if (!condition_.node.empty()) condition_.node += ' ';
      condition_.node += words_[next_].text;
    }
    return condition_.node.empty() ? fail("which node?") : true;
  }

  bool parse_quantity_name() {
    const std::string_view name = words_[next_].text;
    const auto here = [&](std::string_view word) {
      return next_ < words_.size() && words_[next_].text == word;
    };
    if (name == "loss" || name == "accuracy" || name == "updates") {
      condition_.quantity = name == "loss"       ? Quantity::loss
                            : name == "accuracy" ? Quantity::accuracy
                                                 : Quantity::updates;
      ++next_;
      return true;
    }
    if (name != "clock") {
      const std::string near = nearest(name, {"loss", "accuracy", "updates", "clock"});
      return fail(near.empty() ? "must be loss, accuracy, updates or clock"
                               : fmt::format("did you mean {}?", near));
    }
    condition_.quantity = Quantity::clock;
    ++next_;
    if (!here("of")) return fail("must be `of worker N`");
    ++next_;
    if (!here("worker")) return fail("must be `worker N`");
    ++next_;
    if (next_ >= words_.size()) return fail("which worker?");
    condition_.node = fmt::format("worker {}", words_[next_++].text);
    return true;
  }

  bool parse_comparison() {
    if (next_ >= words_.size()) return fail("a comparison");
    const std::string_view sign = words_[next_].text;
    const bool counts = condition_.quantity == Quantity::updates || condition_.quantity == Quantity::clock;
    const bool rises = sign == ">" || sign == ">=" || (sign == "=" && counts);
    const bool falls = sign == "<" || sign == "<=";
    if (!rises && !falls) return fail(counts ? "must be =, >= or >" : "must be <, <=, > or >=");
    if (falls && counts) return fail("a count never falls: must be =, >= or >");
    condition_.below = falls;
    condition_.strict = sign.size() == 1 && sign != "=";
    ++next_;
    return true;
  }

  bool parse_bound() {
    if (next_ >= words_.size()) return fail("a number");
    static constexpr UnitName none[] = {{"", 1, 1}};
    const std::optional<double> bound = parse_quantity(words_[next_].text, none);
    if (!bound) return fail("must be a number");
    condition_.bound = *bound;
    const bool counts = condition_.quantity == Quantity::updates || condition_.quantity == Quantity::clock;
    if (counts && (*bound < 0 || *bound != std::floor(*bound))) return fail("must be a count");
    if (condition_.quantity == Quantity::accuracy && (*bound < 0 || *bound > 1))
      return fail("an accuracy is between 0 and 1");
    ++next_;
    return true;
  }

  std::string_view text_;
  std::vector<Word> words_;
  std::size_t next_ = 0;
  FaultCondition condition_;
  std::optional<ConditionError> error_;
};

}  // namespace

std::variant<FaultCondition, ConditionError> parse_condition(std::string_view text) {
  return ConditionParser(text).parse();
}

namespace {

constexpr std::string_view window_end = "until, or lasts";

bool restart(FaultTarget& target, std::uint32_t node, const FaultSpec&) { return target.restart(node); }

constexpr std::array<FaultKindRow, 15> fault_rows{{
    {.name = "crash",
     .doc = "the nodes stop and lose their memory; the messages to and from them are lost",
     .begin = [](auto& target, auto node,
                 const auto& spec) { return target.crash(node, spec.disk == Disk::lost); },
     .end = restart,
     .crashes = true,
     .in_vain = "its nodes were down already",
     .fields = "restart_after, disk",
     .over = "restart_after, or a restart"},
    {.name = "restart",
     .doc = "crashed nodes start again after a `crash` without `restart_after`",
     .begin = restart,
     .restarts = true,
     .undoes = "crash",
     .in_vain = "its nodes were up already"},
    {.name = "leave",
     .doc = "the nodes hand over their shards or samples, and leave",
     .begin = [](auto& target, auto node, const auto&) { return target.leave(node); },
     .leaves = true,
     .in_vain = "its nodes were down already",
     .over = "by a join"},
    {.name = "join",
     .doc = "nodes that have left join again",
     .begin = [](auto& target, auto node, const auto&) { return target.join(node); },
     .joins = true,
     .in_vain = "its nodes were up already"},
    {.name = "slow",
     .doc = "the nodes compute with `factor` times their speed; with 0 they freeze",
     .window = true,
     .slows = true,
     .loses_nothing = true,
     .fields = "speed factor, 0 freezes",
     .over = window_end},
    {.name = "link-down",
     .doc = "every message from or to the nodes is lost",
     .aliases = "link_down",
     .window = true,
     .cuts = true,
     .over = window_end},
    {.name = "degrade",
     .doc = "the links of the nodes have `factor` times their bandwidth",
     .window = true,
     .degrades = true,
     .loses_nothing = true,
     .fields = "factor of the bandwidth",
     .over = window_end},
    {.name = "partition",
     .doc = "every message `between` two sets of nodes is lost",
     .on = FaultOn::sides,
     .window = true,
     .cuts = true,
     .whom = "between two sides",
     .over = "until, lasts, or a heal"},
    {.name = "heal",
     .doc = "all partitions end",
     .on = FaultOn::everything,
     .undoes = "partition",
     .whom = "all partitions"},
    {.name = "drop",
     .doc = "messages are lost after they have crossed the network",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto&, auto&) { fate.dropped = true; },
     .drops = true,
     .whom = "nodes or between",
     .fields = "messages, probability",
     .over = window_end},
    {.name = "duplicate",
     .doc = "messages travel and arrive twice",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto&, auto&) { ++fate.copies; },
     .whom = "nodes or between",
     .fields = "messages, probability",
     .over = window_end},
    {.name = "delay",
     .doc = "messages arrive `delay` later",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec, auto&) { fate.delay += spec.delay->value; },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "reorder",
     .doc = "messages arrive a random time between 0 and `delay` later, and may overtake each other",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec,
                auto& stream) { fate.delay += spec.delay->value * stream.uniform(); },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "disk-loss",
     .doc = "the storage node loses everything that it has written, which are the snapshots",
     .aliases = "disk_loss",
     .begin = [](auto& target, auto node, const auto&) { return target.lose_disk(node); },
     .loses_disk = true,
     .in_vain = "there was nothing on the disk",
     .whom = "nodes: the storage"},
    {.name = "corrupt",
     .doc = "the workers push wrong values, as `how` says (Blanchard et al., NIPS 2017)",
     .window = true,
     .begin = [](auto& target, auto node, const auto& spec) { return target.corrupt(node, spec, true); },
     .end = [](auto& target, auto node, const auto& spec) { return target.corrupt(node, spec, false); },
     .loses_nothing = true,
     .corrupts = true,
     .whom = "nodes: workers",
     .fields = "how, factor, of",
     .over = window_end},
}};

}  // namespace

template <>
std::deque<FaultKindRow> built_in_rows() {
  return {fault_rows.begin(), fault_rows.end()};
}

}  // namespace psim
