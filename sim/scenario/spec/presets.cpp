#include "sim/scenario/spec/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/text/document.hpp"

namespace psim {
namespace {

template <std::size_t n, std::size_t m>
constexpr std::array<PresetRow, n + m> with_rows(const std::array<PresetRow, n>& rows,
                                                 const std::array<PresetRow, m>& more) {
  std::array<PresetRow, n + m> all;
  std::ranges::copy(more, std::ranges::copy(rows, all.begin()).out);
  return all;
}

// Of whatever TCP carries: ZeroMQ, gRPC, Netty.
constexpr PresetRow tcp_acknowledges{"cluster.network.cross_traffic", "true",
                                     "TCP acknowledges what it receives, against the direction of the data",
                                     "Velho et al., TOMACS 2013"};
constexpr PresetRow tcp_takes_turns{"cluster.network.share_spread", "0.5",
                                    "a host's connections take turns of what TCP's small queue holds",
                                    "torvalds/linux net/ipv4/tcp_output.c (tcp_small_queue_check)"};

// Heartbeats are off, so no node is ever taken for dead. A newcomer of its role takes its place, but a
// server's parameters are lost.
constexpr PresetRow nobody_is_removed{
    "recovery.workers", "\"wait\"",
    "PS_HEARTBEAT_TIMEOUT is 0, so that there are no dead nodes: whoever waits for one waits for ever",
    "dmlc/ps-lite src/van.cc, src/postoffice.cc (GetDeadNodes)"};
constexpr PresetRow nobody_takes_over{
    "recovery.servers", "\"wait\"",
    "a newcomer takes a dead server's place and begins anew: its parameters are lost",
    "dmlc/ps-lite src/van.cc (UpdateLocalID), issues 59 and 68"};

constexpr std::array ps_lite_core{
    PresetRow{"consistency.model", "\"asp\"",
              "has no consistency model: a server handles each request on arrival, and anything else is what "
              "the application builds by counting",
              "dmlc/ps-lite include/ps/kv_app.h, issue 169"},
    PresetRow{"consistency.aggregation", "\"sum\"", "its default handle adds each push to the store",
              "dmlc/ps-lite include/ps/kv_app.h (KVServerDefaultHandle)"},
    PresetRow{"placement.kind", "\"even\"", "the key space in equal contiguous ranges",
              "dmlc/ps-lite src/postoffice.cc (GetServerKeyRanges)"},
    PresetRow{"messages.unit", "\"server\"", "the slicer makes one message per server of a request",
              "dmlc/ps-lite include/ps/kv_app.h (DefaultSlicer)"},
    PresetRow{"messages.order", "\"fifo\"", "one ZeroMQ socket per peer", "dmlc/ps-lite src/zmq_van.h"},
    PresetRow{"messages.acknowledge", "true", "every push is answered, and Wait(timestamp) waits for it",
              "dmlc/ps-lite include/ps/kv_app.h (Response, Wait)"},
    PresetRow{"messages.keys", "\"range\"", "with lens, one key stands for a whole segment",
              "dmlc/ps-lite include/ps/kv_app.h (KVPairs)"},
    PresetRow{"training.update", "\"server\"", "the request handle runs on the server",
              "dmlc/ps-lite include/ps/kv_app.h"},
    nobody_is_removed,
    nobody_takes_over,
    PresetRow{"replication.copies", "0", "there is no replication", "dmlc/ps-lite issue 15"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{"", "", "heartbeats are off: PS_HEARTBEAT_INTERVAL and PS_HEARTBEAT_TIMEOUT are 0",
              "dmlc/ps-lite src/van.cc, include/ps/internal/van.h"},
};
constexpr std::array not_resent{
    PresetRow{"", "", "lost messages are not resent: PS_RESEND is 0; ps-lite-resend has it on",
              "dmlc/ps-lite src/van.cc"}};
constexpr std::array ps_lite = with_rows(ps_lite_core, not_resent);

constexpr PresetRow kvstore{"placement.kind", "\"kvstore\"",
                            "small arrays to server (key * 9973) mod servers, large ones split over all",
                            "apache/mxnet src/kvstore/kvstore_dist.h (EncodeDefaultKey)"};
constexpr PresetRow bigarray_bound{"placement.bigarray_bound", "1_000_000",
                                   "MXNET_KVSTORE_BIGARRAY_BOUND, in values",
                                   "apache/mxnet src/kvstore/kvstore_dist.h"};
constexpr PresetRow per_array{"messages.unit", "\"array\"", "each array is pushed, pulled and updated alone",
                              "apache/mxnet src/kvstore/kvstore_dist.h"};
constexpr PresetRow over_ps_lite{"messages.order", "\"fifo\"", "ps-lite's one ZeroMQ socket per peer",
                                 "dmlc/ps-lite src/zmq_van.h"};
constexpr PresetRow answered{"messages.acknowledge", "true", "ps-lite answers every push",
                             "dmlc/ps-lite include/ps/kv_app.h"};
constexpr PresetRow update_on_kvstore{"training.update", "\"server\"", "MXNET_UPDATE_ON_KVSTORE is 1",
                                      "apache/mxnet python/mxnet/model.py (_create_kvstore)"};
constexpr PresetRow no_detection{"", "", "ps-lite's heartbeats and resends are off",
                                 "dmlc/ps-lite src/van.cc"};

constexpr std::array resend{
    PresetRow{"recovery.enabled", "true",
              "PS_RESEND = 1: messages are acknowledged, and sent again until "
              "they are",
              "dmlc/ps-lite src/van.cc, src/resender.h"},
    PresetRow{"recovery.retry", "\"1s\"", "PS_RESEND_TIMEOUT = 1000 ms", "dmlc/ps-lite src/van.cc"},
    PresetRow{"recovery.backoff", "1.0", "a message's send time is never renewed: one repetition per timeout",
              "dmlc/ps-lite src/resender.h"},
    PresetRow{"recovery.retry_limit", "9",
              "max_num_retry is 10, checked after counting: nine repetitions go "
              "out, and the tenth expiry aborts the process",
              "dmlc/ps-lite src/resender.h"},
    PresetRow{"recovery.semantics", "\"exactly-once\"",
              "the receiver knows each message's signature (app, sender, receiver, timestamp, request), and "
              "drops a second one",
              "dmlc/ps-lite src/resender.h"},
    PresetRow{"", "",
              "acknowledgements of the transport: here the answer to a request is one, so that a "
              "request which waits ten seconds at its server ends the run too",
              "dmlc/ps-lite src/resender.h"},
};
constexpr std::array ps_lite_resend = with_rows(ps_lite_core, resend);

constexpr std::array mxnet_dist_sync{
    PresetRow{"consistency.model", "\"bsp\"", "a server updates a key when every worker has pushed it",
              "apache/mxnet src/kvstore/kvstore_dist_server.h (ApplyUpdates)"},
    PresetRow{"consistency.aggregation", "\"sum\"",
              "the server adds the workers' gradients; Trainer.step divides by a worker's own batch only "
              "(the older Module divides by the batch of all workers: that is \"mean\")",
              "apache/mxnet src/kvstore/kvstore_dist_server.h, python/mxnet/gluon/trainer.py, "
              "python/mxnet/module/module.py"},
    kvstore,
    bigarray_bound,
    per_array,
    over_ps_lite,
    answered,
    update_on_kvstore,
    PresetRow{"recovery.workers", "\"wait\"", "a worker that crashes halts all the others",
              "apache/mxnet docs, distributed_training.md"},
    nobody_takes_over,
    tcp_acknowledges,
    tcp_takes_turns,
    no_detection,
    PresetRow{"", "", "2-bit compression (threshold 0.5, of pushes only) is there, and off",
              "apache/mxnet src/kvstore/gradient_compression.cc"},
};

constexpr std::array mxnet_dist_async{
    PresetRow{"consistency.model", "\"asp\"", "a server updates on every push",
              "apache/mxnet src/kvstore/kvstore_dist_server.h"},
    PresetRow{"consistency.aggregation", "\"sum\"", "every gradient is applied at the full learning rate",
              "apache/mxnet src/kvstore/kvstore_dist_server.h"},
    kvstore,
    bigarray_bound,
    per_array,
    over_ps_lite,
    answered,
    PresetRow{"training.update", "\"server\"", "the only possibility: workers cannot update themselves",
              "apache/mxnet python/mxnet/gluon/trainer.py"},
    nobody_is_removed,
    nobody_takes_over,
    tcp_acknowledges,
    tcp_takes_turns,
    no_detection,
};

constexpr std::array on_device{
    PresetRow{"cluster.worker.device.aggregate", "\"device\"",
              "a type with \"device\" in its name adds a worker's gradients on its devices",
              "apache/mxnet src/kvstore/kvstore.cc (KVStore::Create), docs, "
              "distributed_training.md"}};
constexpr std::array mxnet_dist_sync_device = with_rows(mxnet_dist_sync, on_device);
constexpr std::array mxnet_dist_async_device = with_rows(mxnet_dist_async, on_device);

constexpr std::array tf1_syncreplicas{
    PresetRow{
        "consistency.model", "\"k-sync\"",
        "a worker pushes, then waits for a token (\"effectively a barrier\"), of which an update gives one "
        "for "
        "each worker: so nobody gives an update two gradients, unless another left its token",
        "tensorflow python/training/sync_replicas_optimizer.py (apply_gradients: sync_token_queue.dequeue)"},
    PresetRow{"consistency.k", all_workers,
              "total_num_replicas defaults to replicas_to_aggregate: then it is bsp; with fewer to aggregate "
              "the others are backups",
              "tensorflow python/training/sync_replicas_optimizer.py (__init__)"},
    PresetRow{"consistency.late", "\"drop\"", "accumulators throw away gradients of an older local step",
              "tensorflow python/training/sync_replicas_optimizer.py"},
    PresetRow{"consistency.aggregation", "\"mean\"", "accumulators give the average",
              "tensorflow python/training/sync_replicas_optimizer.py (take_grad)"},
    PresetRow{"placement.kind", "\"round-robin\"", "variables go to the servers in turn",
              "tensorflow python/training/device_setter.py (replica_device_setter)"},
    PresetRow{"messages.unit", "\"array\"", "each variable travels alone",
              "tensorflow python/training/device_setter.py"},
    PresetRow{"training.update", "\"server\"", "variables and their updates live on the servers",
              "tensorflow python/training/device_setter.py"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{
        "", "",
        "with backups, tokens of workers that are late stay in the queue, and carry their step's number: who "
        "takes one gives a gradient that counts as stale; and with more gradients to aggregate than there "
        "are "
        "workers, there are more tokens than workers, so that one takes several",
        "tensorflow python/training/sync_replicas_optimizer.py (tokens_per_step, get_init_tokens_op)"},
    PresetRow{"", "", "a worker that takes a token and dies can hang all the others",
              "tensorflow/tensorflow issue 5022"},
    PresetRow{"", "", "a lost server means a restart from the last checkpoint",
              "tensorflow docs, parameter_server_training"},
};

constexpr std::array bosen_ssppush{
    PresetRow{"consistency.model", "\"ssp\"", "a row may be read when its clock is at least the reader's - s",
              "sailing-pmls/bosen ssp_consistency_controller.cpp"},
    PresetRow{"consistency.staleness", "0", "table_staleness, of each table",
              "sailing-pmls/bosen table_gflags.hpp"},
    PresetRow{"consistency.aggregation", "\"sum\"", "workers' increments are added to the rows",
              "Ho et al., NIPS 2013"},
    PresetRow{"placement.kind", "\"even\"",
              "rows are dealt out in turn; they are many and small, so that servers hold equal parts",
              "sailing-pmls/bosen (GlobalContext::GetPartitionServerID)"},
    PresetRow{"messages.unit", "\"server\"", "a clock's increments go in one message to each server",
              "sailing-pmls/bosen src/petuum_ps (op-logs)"},
    PresetRow{"training.update", "\"server\"", "servers add what workers send", "Ho et al., NIPS 2013"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{"", "", "servers push rows to the clients that read them before; here workers pull",
              "sailing-pmls/bosen system_gflags.hpp (SSPPush)"},
    PresetRow{"", "", "two levels of cache, of the process and of the thread",
              "sailing-pmls/bosen ssp_consistency_controller.cpp"},
    PresetRow{"", "", "snapshots every snapshot_clock clocks are off, resuming is by hand; no heartbeats",
              "sailing-pmls/bosen configs.hpp"},
};

constexpr std::array angel_ssp{
    PresetRow{"consistency.model", "\"ssp\"", "servers keep a vector clock per partition",
              "Angel-ML/angel docs/design/sync_controller_en.md"},
    PresetRow{"consistency.staleness", "0", "angel.staleness: 0 is bsp, N is ssp, -1 is asp",
              "Angel-ML/angel AngelConf.java"},
    PresetRow{"placement.kind", "\"even\"", "matrices are cut in blocks of equal size",
              "Angel-ML/angel docs/design/sync_controller_en.md (partitions)"},
    PresetRow{"messages.unit", "\"server\"", "a clock's update goes in one message to each server",
              "Angel-ML/angel docs/design"},
    PresetRow{"training.update", "\"server\"", "server-side functions (psFunc) update",
              "Angel-ML/angel docs/design"},
    PresetRow{"recovery.heartbeat", "\"5s\"", "of workers and servers", "Angel-ML/angel AngelConf.java"},
    PresetRow{"recovery.timeout", "\"600s\"", "a node is lost after so long a silence",
              "Angel-ML/angel AngelConf.java"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{"", "", "one copy of each partition; with more, pushed when written and every 30 s",
              "Angel-ML/angel AngelConf.java (angel.ps.ha)"},
    PresetRow{"", "", "snapshots of the servers every 300 s; four attempts per node",
              "Angel-ML/angel AngelConf.java"},
    PresetRow{"", "", "the check for slow workers (below 0.7 of the mean rate) is off",
              "Angel-ML/angel AngelConf.java"},
};

constexpr std::array byteps{
    PresetRow{"consistency.model", "\"bsp\"", "BYTEPS_ENABLE_ASYNC is 0", "bytedance/byteps docs/env.md"},
    PresetRow{"consistency.aggregation", "\"mean\"", "push_pull(average=True)",
              "bytedance/byteps byteps/tensorflow/__init__.py"},
    PresetRow{"training.update", "\"worker\"", "servers only sum; workers run the optimizer",
              "bytedance/byteps README"},
    PresetRow{"messages.unit", "\"array\"", "each tensor is a task", "bytedance/byteps byteps/common"},
    PresetRow{"messages.slice", "1_024_000", "BYTEPS_PARTITION_BYTES = 4,096,000, in single precision",
              "bytedance/byteps byteps/common/global.cc"},
    PresetRow{"messages.order", "\"priority\"", "the first layers' partitions go first",
              "bytedance/byteps byteps/common/scheduled_queue.cc"},
    PresetRow{"messages.overlap", "true", "a tensor is pushed as soon as the backward pass has it",
              "bytedance/byteps docs/rationale.md"},
    PresetRow{"placement.kind", "\"even\"",
              "partitions by hash (djb2) of their key, which spreads many of them evenly",
              "bytedance/byteps byteps/common/global.cc (BYTEPS_KEY_HASH_FN)"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{"", "", "a server engine of four threads, without scheduling of its own",
              "bytedance/byteps docs/env.md"},
    PresetRow{"", "", "compression is off; when on, of tensors from 65,536 bytes",
              "bytedance/byteps docs/gradient-compression.md"},
    PresetRow{"", "", "neither fault tolerance nor stragglers: future plans", "bytedance/byteps README"},
};

constexpr std::array osdi14{
    PresetRow{"consistency.model", "\"ssp\"", "bounded delay: a task waits for those of tau clocks before",
              "Li et al., OSDI 2014, 3.5; dmlc/parameter_server src/system/proto/task.proto (wait_time)"},
    PresetRow{"consistency.staleness", "0", "SGDConfig.max_delay",
              "dmlc/parameter_server (max_delay, max_block_delay)"},
    PresetRow{"consistency.aggregation", "\"sum\"", "servers add the workers' gradients",
              "Li et al., OSDI 2014, algorithm 1"},
    PresetRow{"placement.kind", "\"hash-ring\"", "consistent hashing with virtual servers",
              "Li et al., OSDI 2014, 4.3"},
    PresetRow{"messages.unit", "\"server\"", "range-based push and pull", "Li et al., OSDI 2014, 3.3"},
    PresetRow{"messages.keys", "\"per-value\"", "messages are lists of keys and values",
              "Li et al., OSDI 2014, 4.2"},
    PresetRow{"filter", R"([{ kind = "key-caching" }, { kind = "snappy" }])",
              "a list of keys that the receiver knows is sent as its hash; the rest is compressed",
              "Li et al., OSDI 2014, 4.2"},
    PresetRow{"training.update", "\"server\"", "servers run the update", "Li et al., OSDI 2014, algorithm 1"},
    tcp_acknowledges,
    tcp_takes_turns,
    PresetRow{"", "", "k copies of each range on the ring's next servers (num_replicas is 0 in the code)",
              "Li et al., OSDI 2014, 4.3; dmlc/parameter_server"},
    PresetRow{"", "", "heartbeats to the scheduler; a range fails over to the next server within a second",
              "Li et al., OSDI 2014, 4.4"},
};

std::int64_t workers_of(const toml::table& root) {
  const auto given = root["cluster"]["workers"].value_exact<std::int64_t>();
  return given.value_or(Scenario{}.cluster.workers);
}

}  // namespace

template <>
std::deque<PresetTable> built_in_rows() {
  return {
      {.name = "none", .doc = "psim's own defaults"},
      {.name = "ps-lite",
       .doc = "the key-value layer of MXNet and BytePS, with its default handle",
       .rows = ps_lite},
      {.name = "ps-lite-resend",
       .doc = "ps-lite with PS_RESEND = 1: lost messages are sent again",
       .rows = ps_lite_resend},
      {.name = "mxnet-dist_sync", .doc = "MXNet's KVStore, synchronous", .rows = mxnet_dist_sync},
      {.name = "mxnet-dist_async", .doc = "MXNet's KVStore, asynchronous", .rows = mxnet_dist_async},
      {.name = "mxnet-dist_sync_device",
       .doc = "as mxnet-dist_sync, with the sum of a worker's devices on a device",
       .rows = mxnet_dist_sync_device},
      {.name = "mxnet-dist_async_device",
       .doc = "as mxnet-dist_async, with the sum of a worker's devices on a device",
       .rows = mxnet_dist_async_device},
      {.name = "tf1-syncreplicas", .doc = "TensorFlow 1's SyncReplicasOptimizer", .rows = tf1_syncreplicas},
      {.name = "bosen-ssppush",
       .doc = "Petuum Bösen with its default consistency, SSPPush",
       .rows = bosen_ssppush},
      {.name = "angel-ssp", .doc = "Tencent's Angel with its default staleness", .rows = angel_ssp},
      {.name = "byteps", .doc = "BytePS: servers sum, tensors are cut and go by priority", .rows = byteps},
      {.name = "osdi14", .doc = "the parameter server of Li et al., OSDI 2014", .rows = osdi14},
  };
}

bool sets(Preset preset, std::string_view field) {
  return std::ranges::find(preset->rows, field, &PresetRow::field) != preset->rows.end();
}

void take_preset(Document& document, Diagnostics& diagnostics) {
  document.preset.reset();
  const toml::node* given = document.root.get("preset");
  const auto name = given == nullptr ? std::nullopt : given->value_exact<std::string>();
  const auto& tables = all_rows<PresetTable>();
  const auto found = std::ranges::find_if(
      tables, [&](const PresetTable& table) { return answers_to(table, name.value_or("none")); });
  if (found == tables.end() || found->rows.empty()) return;  // the reader tells what names there are
  std::string text;
  for (const PresetRow& row : found->rows) {
    const std::string value =
        row.value == all_workers ? fmt::to_string(workers_of(document.root)) : std::string(row.value);
    if (!row.field.empty()) text += fmt::format("{} = {}\n", row.field, value);
  }
  const std::size_t source = diagnostics.add_source({fmt::format("preset {}", *name), text});
  document.preset = {.name = *name,
                     .rows = parse_text(text, source).root,
                     .source = source,
                     .given_in = place_of(given->source()).source};
}

std::string explain_preset(const PresetTable& table) {
  std::string out = fmt::format("{}: a preset, {}\n", table.name, table.doc);
  for (const PresetRow& row : table.rows) {
    if (!row.field.empty())
      out += fmt::format("\n  {} = {}\n    {}\n    {}\n", row.field, row.value, row.does, row.source);
  }
  if (table.rows.empty()) return out;
  out += "\nNot simulated:\n";
  for (const PresetRow& row : table.rows) {
    if (row.field.empty()) out += fmt::format("  - {}\n    {}\n", row.does, row.source);
  }
  return out + fmt::format(
                   "\nIn a scenario, above its first table:\n  preset = \"{}\"\nWhat the file, --set or an "
                   "axis gives goes before it. `psim check FILE` shows what comes of it.\n",
                   table.name);
}

std::string preset_reference() {
  std::string out =
      "\n## Presets\n\nA preset puts the defaults of a real system in the place of psim's own. What the "
      "file, "
      "`--set` or an axis gives\n"
      "goes before it, and a default that has no meaning beside that is left out. `filter = []` removes a "
      "preset's filters.\n";
  for (const PresetTable& table : all_rows<PresetTable>()) {
    if (table.rows.empty()) continue;
    out +=
        fmt::format("\n### {}: {}\n\n| field | value | what the system does | source |\n|---|---|---|---|\n",
                    table.name, table.doc);
    for (const PresetRow& row : table.rows) {
      const bool simulated = !row.field.empty();
      out +=
          fmt::format("| {} | {} | {} | {} |\n", simulated ? fmt::format("`{}`", row.field) : "not simulated",
                      !simulated                 ? ""
                      : row.value == all_workers ? std::string(row.value)
                                                 : fmt::format("`{}`", row.value),
                      row.does, row.source);
    }
  }
  return out;
}

}  // namespace psim
