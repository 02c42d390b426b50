#include "sim/scenario/spec/fault_kinds.hpp"

#include <array>

#include "sim/scenario/spec/faults.hpp"

namespace psim {
namespace {

constexpr std::string_view window_end = "until, or lasts";

bool restart(FaultTarget& target, std::uint32_t node, const FaultSpec&) { return target.restart(node); }

constexpr std::array<FaultKindRow, 14> table{{
    {.name = "crash",
     .doc = "the nodes are gone with all that they had in memory, and so are messages to and from them",
     .begin = [](auto& target, auto node,
                 const auto& spec) { return target.crash(node, spec.disk == Disk::lost); },
     .end = restart,
     .crashes = true,
     .in_vain = "its nodes were down already",
     .fields = "restart_after, disk",
     .over = "restart_after, or a restart"},
    {.name = "restart",
     .doc = "crashed nodes are back, after `crash` without `restart_after`",
     .begin = restart,
     .restarts = true,
     .undoes = "crash",
     .in_vain = "its nodes were up already"},
    {.name = "leave",
     .doc = "the nodes go in good order",
     .begin = [](auto& target, auto node, const auto&) { return target.leave(node); },
     .leaves = true,
     .in_vain = "its nodes were down already",
     .over = "by a join"},
    {.name = "join",
     .doc = "nodes that have left come back",
     .begin = [](auto& target, auto node, const auto&) { return target.join(node); },
     .joins = true,
     .in_vain = "its nodes were up already"},
    {.name = "slow",
     .doc = "the nodes compute at `factor` times their speed; 0: they are frozen and do nothing",
     .window = true,
     .slows = true,
     .fields = "factor of the speed, 0 frozen",
     .over = window_end},
    {.name = "link-down",
     .doc = "nothing comes through from the nodes or to them",
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
     .doc = "nothing comes through `between` two sets of nodes",
     .on = FaultOn::sides,
     .window = true,
     .cuts = true,
     .whom = "between two sides",
     .over = "until, lasts, or a heal"},
    {.name = "heal",
     .doc = "all partitions are over",
     .on = FaultOn::everything,
     .undoes = "partition",
     .whom = "all partitions"},
    {.name = "drop",
     .doc = "messages are lost after their way through the network",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto&, auto&) { fate.dropped = true; },
     .drops = true,
     .whom = "nodes or between",
     .fields = "messages, probability",
     .over = window_end},
    {.name = "duplicate",
     .doc = "messages come twice, and take the network twice",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto&, auto&) { ++fate.copies; },
     .whom = "nodes or between",
     .fields = "messages, probability",
     .over = window_end},
    {.name = "delay",
     .doc = "messages come later by `delay`",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec, auto&) { fate.delay += spec.delay->value; },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "reorder",
     .doc = "messages come later by a time between 0 and `delay`, and may overtake one another",
     .on = FaultOn::messages,
     .window = true,
     .meet = [](auto& fate, const auto& spec,
                auto& stream) { fate.delay += spec.delay->value * stream.uniform(); },
     .takes_delay = true,
     .whom = "nodes or between",
     .fields = "messages, probability, delay",
     .over = window_end},
    {.name = "disk-loss",
     .doc = "what the storage has written, the snapshots, is gone",
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
