#include "sim/scenario/spec/fault_kinds.hpp"

#include <array>

#include "sim/scenario/spec/faults.hpp"

namespace psim {
namespace {

constexpr std::string_view window_end = "until, or lasts";

bool restart(FaultTarget& target, std::uint32_t node, const FaultSpec&) { return target.restart(node); }

constexpr std::array<FaultKindRow, 14> table{{
    {.name = "crash",
     .doc = "the nodes stop and lose their memory; messages to and from them are lost",
     .begin = [](auto& target, auto node,
                 const auto& spec) { return target.crash(node, spec.disk == Disk::lost); },
     .end = restart,
     .crashes = true,
     .in_vain = "its nodes were down already",
     .fields = "restart_after, disk",
     .over = "restart_after, or a restart"},
    {.name = "restart",
     .doc = "crashed nodes start again, after a `crash` without `restart_after`",
     .begin = restart,
     .restarts = true,
     .undoes = "crash",
     .in_vain = "its nodes were up already"},
    {.name = "leave",
     .doc = "the nodes leave in an orderly way",
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
     .doc = "the nodes compute at `factor` times their speed; with 0 they freeze and do nothing",
     .window = true,
     .slows = true,
     .fields = "speed factor, 0 freezes",
     .over = window_end},
    {.name = "link-down",
     .doc = "no message from or to the nodes gets through",
     .aliases = "link_down",
     .window = true,
     .cuts = true,
     .over = window_end},
    {.name = "degrade",
     .doc = "the nodes' own links have `factor` times their bandwidth",
     .window = true,
     .degrades = true,
     .fields = "factor of the bandwidth",
     .over = window_end},
    {.name = "partition",
     .doc = "no message `between` two sets of nodes gets through",
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
     .doc = "messages arrive twice, and use the network twice",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto&, auto&) { ++fate.copies; },
     .whom = "nodes or between",
     .fields = "messages, probability",
     .over = window_end},
    {.name = "delay",
     .doc = "messages arrive later by `delay`",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec, auto&) { fate.delay += spec.delay->value; },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "reorder",
     .doc = "messages arrive later by a time between 0 and `delay`, and may overtake each other",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec,
                auto& stream) { fate.delay += spec.delay->value * stream.uniform(); },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "disk-loss",
     .doc = "the storage node loses everything that it has written: the snapshots",
     .aliases = "disk_loss",
     .begin = [](auto& target, auto node, const auto&) { return target.lose_disk(node); },
     .loses_disk = true,
     .in_vain = "there was nothing on the disk",
     .whom = "nodes: the storage"},
}};

}  // namespace

template <>
std::deque<FaultKindRow> built_in_rows() {
  return {table.begin(), table.end()};
}

}  // namespace psim
