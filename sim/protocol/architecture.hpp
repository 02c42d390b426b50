// How a cluster shares the work of training: through servers, by messages among all workers, or layer by
// layer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace psim {

enum class Architecture : std::uint8_t { parameter_server, all_reduce, model_parallel };
enum class AllReduceAlgorithm : std::uint8_t { ring, tree, halving_doubling };
// The order in which workers get their ranks.
enum class RankOrder : std::uint8_t { topology, index };
enum class PipelineSchedule : std::uint8_t { gpipe, one_forward_one_backward };
// The stages of a pipeline: machines, or the devices of one machine.
enum class PipelineOver : std::uint8_t { nodes, devices };

// The table [architecture] of a scenario.
struct ArchitectureSpec {
  Architecture kind = Architecture::parameter_server;
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::ring;  // all-reduce
  RankOrder rank_order = RankOrder::topology;               // all-reduce
  std::vector<std::uint32_t> ranks = {};                    // by worker; empty: its index
  std::optional<bool> divide_first = {};                    // all-reduce: by the workers, then sum
  std::optional<std::int64_t> micro_batches;                // model-parallel
  PipelineSchedule schedule = PipelineSchedule::gpipe;      // model-parallel
  PipelineOver over = PipelineOver::nodes;                  // model-parallel

  std::uint32_t rank_of(std::uint32_t worker) const { return ranks.empty() ? worker : ranks[worker]; }
  bool has_servers() const { return kind == Architecture::parameter_server; }
  bool is_on_one_machine() const {
    return kind == Architecture::model_parallel && over == PipelineOver::devices;
  }
};

// Whether workers `a` and `b` of `workers` ever exchange messages in one group of all of them.
bool workers_talk(const ArchitectureSpec& spec, std::uint32_t workers, std::uint32_t a, std::uint32_t b);

}  // namespace psim
