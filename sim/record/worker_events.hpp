// Events of workers and of inference nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/enum_names.hpp"
#include "sim/protocol/message.hpp"
#include "sim/record/event_column.hpp"

namespace psim {

enum class Work : std::uint8_t { step, filter, piece };
inline constexpr auto work_names = enum_names<Work>();
constexpr const auto& names_of(Work) { return work_names; }

enum class ComputePhase : std::uint8_t { begun, paused, resumed, ended, cancelled, killed };
inline constexpr auto phase_names = enum_names<ComputePhase>();
constexpr const auto& names_of(ComputePhase) { return phase_names; }

struct Computation {
  ComputePhase phase = ComputePhase::begun;
  Work work = Work::step;
  std::optional<std::int64_t> clock = {}, version = {};
  std::optional<std::int64_t> samples = {};
  std::int64_t part = 0, parts = 1;
  bool is_first() const { return part == 0; }
  bool is_last() const { return part + 1 == parts; }
  static constexpr const char* table = "computation";
  static constexpr const char* about = "Worker `node` starts or stops computing";
  static constexpr void fields(auto&& column) {
    column("phase",
           "begun; paused: it waits for weights that it needs now; resumed; ended; cancelled: a newer "
           "version has arrived; killed: the worker crashed, even if it did not compute",
           &Computation::phase);
    column(
        "work",
        "step: its own clock; filter: the worker filters a message; piece: samples of another worker's batch",
        &Computation::work);
    column("clock", "the clock that it computes", &Computation::clock);
    column("version", "version of the first shard's weights", &Computation::version);
    column("samples", "number of samples whose gradients are complete when it ends", &Computation::samples);
    column("part", "number of the part in the step, from 0: micro-batches forward and backward in a pipeline",
           &Computation::part);
    column("parts", "number of parts of the step", &Computation::parts);
  }
};

struct Finish {
  std::int64_t clock = 0;
  bool leaves = false;
  static constexpr const char* table = "finish";
  static constexpr const char* about = "Worker `node` has finished";
  static constexpr void fields(auto&& column) {
    column("clock", "the clock that it has reached", &Finish::clock);
    column("leaves", "1: it leaves before its last clock", &Finish::leaves);
  }
};

struct Acknowledgement {
  NodeId server = 0;
  std::uint32_t shard = 0, epoch = 0;
  std::int64_t pushes = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "acknowledgement";
  static constexpr const char* about =
      "Worker `node` learns that pushes are safe: no single crash undoes them";
  static constexpr void fields(auto&& column) {
    column("server", "the node that says so", &Acknowledgement::server);
    column("shard", shard_meaning, &Acknowledgement::shard);
    column("epoch", "the epoch in which the server owns the shard", &Acknowledgement::epoch);
    column("pushes", "how many of its first pushes to this shard are safe", &Acknowledgement::pushes);
  }
};

struct Prediction {
  std::int64_t request = 0, version = 0, staleness = 0;
  static constexpr InChain in_chain = InChain::detail;
  static constexpr const char* table = "prediction";
  static constexpr const char* about = "Inference node `node` answers a request";
  static constexpr void fields(auto&& column) {
    column("request", "number of the node's request, from 0", &Prediction::request);
    column("version", "version of the weights that it uses", &Prediction::version);
    column("staleness_updates", "updates that all servers had applied after that version",
           &Prediction::staleness);
  }
};

enum class Awaited : std::uint8_t { weights, acknowledgement, samples, peers };
inline constexpr auto awaited_names = enum_names<Awaited>();
constexpr const auto& names_of(Awaited) { return awaited_names; }

struct Wait {
  Awaited awaited = Awaited::weights;
  double since = 0;
  std::optional<std::int64_t> clock = {};
  NodeId sender = 0;
  std::optional<std::uint32_t> shard = {};
  std::uint64_t message = 0;
  static constexpr const char* table = "wait";
  static constexpr const char* about =
      "Worker `node` stops waiting: the last message that it waited for has arrived";
  static constexpr void fields(auto&& column) {
    column("awaited",
           "weights; acknowledgement: its push is accepted; samples: of its next batch; peers: their part of "
           "a sum, or of a pipeline's work",
           &Wait::awaited);
    column("since_s", "simulated seconds", &Wait::since);
    column("clock", "the clock that it is in, or waits to start", &Wait::clock);
    column("sender", "the node that sent that message", &Wait::sender);
    column("shard", "the shard that the message is about", &Wait::shard);
    column("message", "its number in `sent`", &Wait::message);
  }
};

}  // namespace psim
