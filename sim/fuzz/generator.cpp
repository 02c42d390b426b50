#include "sim/fuzz/generator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

void draw_settings(const SettingList& settings, Table& table, Dice& dice) {
  for (const Setting* setting : settings) {
    if (!setting->draws.empty() && (setting->required || dice.chance(0.7)))
      table.rows.push_back({std::string(setting->key), std::string(dice.one_of(setting->draws))});
  }
}

namespace {

void draw_messages(Draft& draft, bool dense, Dice& dice) {
  if (dice.chance(0.5)) {
    Table& placement = draft["placement"];
    placement.rows = {{"kind", dice.text_of({"even", "hash-ring", "kvstore", "greedy", "round-robin"})}};
    if (placement.rows[0].value == "\"hash-ring\"")
      placement.rows.push_back({"virtual_nodes", dice.number(1, 16)});
    if (placement.rows[0].value == "\"kvstore\"") placement.rows.push_back({"bigarray_bound", "50"});
  }
  std::vector<Row> rows;
  if (dice.chance(0.35)) {
    rows.push_back({"unit", "\"array\""});
    if (dice.chance(0.3)) rows.push_back({"slice", dice.number(20, 200)});
    if (dense && dice.chance(0.3)) rows.push_back({"overlap", "true"});
  }
  if (dice.chance(0.3)) rows.push_back({"order", dice.text_of({"fifo", "priority"})});
  if (dice.chance(0.2)) rows.push_back({"acknowledge", "true"});
  if (dice.chance(0.15)) rows.push_back({"keys", "\"per-value\""});
  if (!rows.empty()) draft["messages"].rows = std::move(rows);
}

void draw_filter(Draft& draft, FilterStage stage, Dice& dice) {
  const bool penalty = draft.find("training", "l1") != nullptr;
  const auto& row = drawn_row<FilterRow>(
      dice, [&](const FilterRow& one) { return one.stage == stage && (penalty || !one.needs_weights); });
  Table table{.name = "filter", .many = true, .rows = {{"kind", in_quotes(row.name)}}};
  draw_settings(row.settings, table, dice);
  if (!row.push_only && dice.chance(0.4)) table.rows.push_back({"on", dice.text_of({"pull", "both"})});
  draft.tables.push_back(std::move(table));
}

void draw_key_filter(Draft& draft, Dice& dice) {
  const std::string* const keys = draft.find("messages", "keys");
  if (keys != nullptr && *keys == "\"per-value\"" && dice.chance(0.7))
    draw_filter(draft, FilterStage::keys, dice);
}

void draw_filters(Draft& draft, Dice& dice) {
  if (dice.chance(0.5)) draw_filter(draft, FilterStage::select, dice);
  if (dice.chance(0.5)) draw_filter(draft, FilterStage::quantize, dice);
  draw_key_filter(draft, dice);
  if (dice.chance(0.3)) draw_filter(draft, FilterStage::bytes, dice);
}

void draw_cluster(Draft& draft, const Victims& v, Dice& dice) {
  draft["cluster"].rows = {{"workers", std::to_string(v.workers), true},
                           {"servers", std::to_string(v.servers), true}};
  if (v.colocated) draft["cluster"].rows.push_back({"colocate", "true"});
  Table& network = draft["cluster.network"];
  network.rows = {{"bandwidth", dice.text_of({"10Gbps", "1Gbps", "200Mbps"}), true},
                  {"latency", dice.text_of({"1us", "10us", "30us"}), true}};
  if (dice.chance(0.25)) {
    network.rows.push_back({"topology", "\"two-tier\""});
    network.rows.push_back({"racks", dice.number(2, 3)});
  }
  if (dice.chance(0.3)) network.rows.push_back({"model", "\"nic\""});
  if (dice.chance(0.1))
    draft["cluster.network.endpoint"].rows = {{"send_overhead", dice.time(1, 50)},
                                              {"receive_overhead", dice.time(1, 50)},
                                              {"receive_bandwidth", "\"1GBps\""}};
  if (dice.chance(0.2)) {  // machines of several speeds, and matching batches
    std::string speeds;
    for (std::int64_t w = 0; w < v.workers; ++w)
      speeds += fmt::format("{}\"{}Gf\"", w > 0 ? ", " : "", dice.between(1, 4));
    draft["cluster.worker"].rows = {{"speed", '[' + speeds + ']'}};
    draft["cluster.worker.device"].rows = {{"speeds", "\"2Gf\""}};  // this speed decides the time of a step
    if (dice.chance(0.7)) draft["training"].rows.push_back({"work", "\"proportional\""});
  }
  if (dice.chance(0.05))
    for (Row& row :
         std::vector<Row>{{"count", dice.number(2, 3)}, {"aggregate", dice.text_of({"host", "device"})}})
      draft["cluster.worker.device"].rows.push_back(std::move(row));
  draft["compute"].rows = {{"time", fmt::format("\"{}us\"", step_us), true}};
  if (dice.chance(0.6)) draw_row<DistributionRow>(draft["compute"], "distribution", dice);
  if (dice.chance(0.15))
    draft.tables.push_back({.name = "straggler",
                            .many = true,
                            .rows = {{"workers", fmt::format("[{}]", dice.between(0, v.workers - 1))},
                                     {"slowdown", dice.number(2, 8)}}});
}

void draw_recovery(Draft& draft, Dice& dice) {
  Table& recovery = draft["recovery"];
  const std::int64_t heartbeat = dice.between(2000, 5000);
  recovery.rows = {{"enabled", "true"},
                   {"heartbeat", fmt::format("\"{}us\"", heartbeat), true},
                   {"timeout", fmt::format("\"{}us\"", heartbeat * dice.between(3, 6) + 4000), true},
                   {"retry", dice.time(3000, 12'000), true},
                   {"longest_retry", dice.time(50'000, 300'000), true},
                   {"patience", "\"10s\"", true}};
  auto& rows = recovery.rows;
  if (dice.chance(0.03)) rows[1].value = dice.time(1, 100);  // perhaps more than the links can carry
  if (dice.chance(0.03)) rows[3].value = dice.time(1, 500);  // less than a round trip
  if (dice.chance(0.3)) {
    rows.push_back({"detector", "\"phi-accrual\""});
    if (dice.chance(0.5)) rows.push_back({"threshold", dice.number(2, 12)});
  }
  if (dice.chance(0.4)) rows.push_back({"workers", "\"wait\""});
  if (dice.chance(0.25)) rows.push_back({"lost_data", "\"reassign\""});
  if (dice.chance(0.4)) rows.push_back({"servers", "\"wait\""});
  if (dice.chance(0.4)) rows.push_back({"rebalance", "\"none\""});
  if (dice.chance(0.2)) rows.push_back({"hand_over", "\"stop-and-copy\""});
  if (dice.chance(0.25)) rows.push_back({"semantics", "\"at-least-once\""});
  if (dice.chance(0.2)) rows.push_back({"backoff", std::string(dice.one_of({"1.5", "3"}))});
  if (dice.chance(0.05)) rows.push_back({"retry_limit", dice.number(3, 20)});
}

void draw_copies(Draft& draft, Victims& v, Dice& dice) {
  if (v.servers > 1 && dice.chance(0.5)) {
    Table& replication = draft["replication"];
    replication.rows = {{"copies", dice.number(1, v.servers - 1)}};
    if (dice.chance(0.4)) replication.rows.push_back({"when", "\"every-push\""});
    if (dice.chance(0.4)) replication.rows.push_back({"layout", "\"chain\""});
    if (dice.chance(0.3)) replication.rows.push_back({"window", dice.number(1, 5)});
  }
  v.snapshots = dice.chance(0.3);
  if (!v.snapshots) return;
  draft["snapshot"].rows = {
      {"every", dice.chance(0.5) ? fmt::format("\"{} updates\"", dice.between(1, 6)) : dice.time(500, 5000)}};
  if (dice.chance(0.4)) draft["snapshot"].rows.push_back({"bandwidth", "\"1MBps\""});
}

void draw_inference(Draft& draft, Victims& v, Dice& dice) {
  v.readers = dice.between(1, 3);
  draft["inference"].rows = {{"nodes", std::to_string(v.readers)},
                             {"rate", dice.number(100, 2000)},
                             {"refresh", dice.time(1000, 10'000)}};
}

// Two groups; `set`: fields that may differ in the second group.
void draw_groups(Draft& draft, const Victims& v, std::initializer_list<std::string_view> sets, Dice& dice) {
  const std::int64_t first = dice.between(1, v.workers - 1);
  for (const auto& [name, workers] : {std::pair{"\"a\"", first}, {"\"b\"", v.workers - first}})
    draft.tables.push_back(
        {.name = "group", .many = true, .rows = {{"name", name}, {"workers", std::to_string(workers)}}});
  std::vector<Row>& rows = draft.tables.back().rows;
  if (dice.chance(sets.size() == 0 ? 0.5 : 0.2)) rows.push_back({"namespace", "\"shared\""});
  else if (sets.size() > 0) rows.push_back({"set", fmt::format("[\"{}\"]", dice.one_of(sets))});
}

// Several jobs and inference nodes on a cluster with failures.
void draw_tenants(Draft& draft, Victims& v, Dice& dice) {
  const bool groups = v.workers > 1 && dice.chance(0.15);
  if (groups)
    draw_groups(draft, v,
                {"seed = 5", "training.steps = 4", "training.steps = 25", "consistency.model = asp",
                 "consistency.model = bsp", "training.work = dynamic", "messages.unit = array"},
                dice);
  if (!dice.chance(0.15)) return;
  draw_inference(draft, v, dice);
  if (groups && dice.chance(0.5)) draft["inference"].rows.push_back({"group", "\"b\""});
}

// Fields that exclude failures, and fields that allow them.
void draw_sturdy(Draft& draft, Victims& v, Dice& dice) {
  const std::string_view what =
      dice.one_of({"groups", "inference", "database", "dynamic", "stealing", "none"});
  Table& training = draft["training"];
  if (what == "dynamic" || what == "stealing") {
    std::erase_if(training.rows, [](const Row& row) { return row.key == "work"; });
    training.rows.push_back({"work", fmt::format("\"{}\"", what)});
  } else if (what == "database" && v.learns) {
    draft["data"].rows.push_back({"delivery", "\"database\""});
    draft["data"].rows.push_back({"prefetch", dice.number(0, 3)});
  } else if (what == "inference") {
    draw_inference(draft, v, dice);
  } else if (what == "groups") {
    draw_groups(draft, v, {}, dice);
  }
}

// Fields that need workers with separate batches; `sturdy`: also fields that exclude failures.
void draw_rhythm_of_peers(Draft& draft, const Victims& v, bool sturdy, Dice& dice) {
  Table& training = draft["training"];
  if (dice.chance(0.2)) training.rows.push_back({"local_steps", dice.number(2, 4)});
  if (dice.chance(0.1)) training.rows.push_back({"warmup_steps", dice.number(0, 6)});
  if (dice.chance(0.2)) training.rows.push_back({"accumulate", dice.number(2, 3)});
  if (dice.chance(0.35)) {
    Table& messages = draft["messages"];
    messages.rows = {{"unit", "\"array\""}, {"overlap", "true"}};
    if (dice.chance(0.3)) messages.rows.push_back({"slice", dice.number(5, 200)});
    if (dice.chance(0.4)) messages.rows.push_back({"bucket", fmt::format("\"{}B\"", dice.between(40, 4000))});
  }
  if (!sturdy) return;
  if (dice.chance(0.2)) {
    std::erase_if(training.rows, [](const Row& row) { return row.key == "work"; });
    training.rows.push_back({"work", "\"dynamic\""});
    training.rows.push_back({"work_every", dice.number(1, 4)});
  }
  if (v.learns && dice.chance(0.3)) {
    draft["data"].rows.push_back({"delivery", "\"database\""});
    draft["data"].rows.push_back({"prefetch", dice.number(0, 2)});
  }
}

void draw_model_of_peers(Draft& draft, bool learns, Dice& dice) {
  if (learns) {
    draft["model"].rows = {{"kind", "\"mlp\"", true}, {"layers", "[4, 5, 3]", true}};
    draft["data"].rows = {
        {"source", "\"blobs\"", true}, {"samples", "60"}, {"features", "4"}, {"classes", "3"}};
    if (dice.chance(0.5)) draw_optimizer(draft["training"], true, dice);
    if (dice.chance(0.2)) draft["model"].rows.push_back({"precision", dice.text_of({"float64", "bfloat16"})});
  } else if (dice.chance(0.4)) {
    draft["model"].rows = {{"kind", "\"phantom\"", true}, {"arrays", "[100, 10, 1000]", true}};
  } else {
    draft["model"].rows = {{"kind", "\"phantom\"", true}, {"parameters", dice.number(10, 5000), true}};
  }
}

// Makes the stages of a pipeline the devices of one machine, if nothing fails.
void put_on_one_machine(Draft& draft, Dice& dice) {
  draft["architecture"].rows.push_back({"over", "\"devices\"", true});
  std::erase_if(draft["cluster"].rows, [](const Row& row) { return row.key == "workers"; });
  std::erase_if(draft["cluster.worker"].rows, [](const Row& row) { return row.key == "speed"; });
  std::erase_if(draft["cluster.worker.device"].rows, [](const Row& row) { return row.key != "speeds"; });
  draft["cluster.worker.device"].rows.push_back({"count", "2", true});
  if (dice.chance(0.3)) draft["cluster.worker.device"].rows.push_back({"peers", "\"host\""});
  if (dice.chance(0.3)) draft["cluster.worker.device"].rows.push_back({"bus_bandwidth", "\"1GBps\""});
}

// Makes the model large and the links slow: a transfer takes longer than retries, timeouts and patience.
void slow_down(Draft& draft, Dice& dice) {
  draft["model"].rows = {{"kind", "\"phantom\"", true}, {"parameters", dice.number(100'000, 400'000), true}};
  draft["cluster.network"].rows[0].value = dice.text_of({"20Mbps", "40Mbps"});
  std::erase_if(draft["training"].rows, [](const Row& row) { return row.key == "steps"; });
  draft["training"].rows.push_back({"steps", dice.number(1, 4), true});
  // Parts of a few values would be too many messages.
  std::erase_if(draft.tables, [](const Table& table) { return table.name == "placement"; });
  std::erase_if(draft["messages"].rows,
                [](const Row& row) { return row.key == "slice" || row.key == "bucket"; });
}

// Workers that hold the model themselves.
Draft without_servers(Dice& dice, Dice own) {
  Draft draft;
  draft[""].rows = {{"seed", dice.number(0, 1'000'000)}};
  const std::int64_t steps = dice.between(3, 20);
  Victims victims{.workers = dice.between(2, 6), .servers = 0};
  const std::string algorithm(dice.one_of({"ring", "tree", "halving-doubling", "pipeline"}));
  const bool is_pipeline = algorithm == "pipeline";
  if (is_pipeline) victims.workers = 2;
  victims.learns = dice.chance(0.5);
  victims.end_us = 3 * steps * step_us;
  draft["architecture"].rows = {{"kind", is_pipeline ? "\"model-parallel\"" : "\"all-reduce\"", true}};
  if (!is_pipeline) draft["architecture"].rows.push_back({"algorithm", in_quotes(algorithm), true});
  if (!is_pipeline && own.chance(0.3)) draft["architecture"].rows.push_back({"ranks", "\"index\""});
  draft["training"].rows = {{"batch_size", dice.number(2, 8)}, {"steps", std::to_string(steps), true}};
  draw_model_of_peers(draft, victims.learns, dice);
  draw_cluster(draft, victims, dice);
  std::erase_if(draft["cluster"].rows, [](const Row& row) { return row.key == "servers"; });
  const bool sturdy = dice.chance(0.4);
  if (is_pipeline) {
    std::erase_if(draft["training"].rows, [](const Row& row) { return row.key == "work"; });
    std::erase_if(draft["cluster.worker.device"].rows, [](const Row& row) { return row.key != "speeds"; });
  } else {
    draw_rhythm_of_peers(draft, victims, sturdy, dice);
    if (victims.learns && dice.chance(0.4)) draw_filters(draft, dice);
    std::erase_if(draft.tables, [](const Table& table) {
      return table.name == "filter" &&
             std::ranges::any_of(table.rows, [](const Row& row) { return row.value == "\"pull\""; });
    });
  }
  if (!is_pipeline && !victims.learns && own.chance(0.2)) {
    slow_down(draft, own);
    victims.end_us = 1'000'000;
  }
  if (sturdy) return draft;
  draw_recovery(draft, dice);
  std::erase_if(draft["recovery"].rows,
                [](const Row& row) { return row.key == "lost_data" || row.key == "workers"; });
  if (is_pipeline && own.chance(0.4)) {
    std::erase_if(draft.tables, [](const Table& table) { return table.name == "recovery"; });
    put_on_one_machine(draft, own);
    return draft;
  }
  const std::string lost =
      is_pipeline ? dice.text_of({"wait", "restart"}) : dice.text_of({"wait", "remove", "restart"});
  draft["recovery"].rows.push_back({"workers", lost});
  victims.may_leave = lost == "\"remove\"";
  if (victims.may_leave && dice.chance(0.3)) draft["recovery"].rows.push_back({"lost_data", "\"reassign\""});
  draw_copies(draft, victims, dice);
  draw_faults(draft, victims, dice);
  draw_last_survivor(draft, victims, own);
  return draft;
}

Draft draw_training_job(std::uint64_t seed, std::uint64_t run, std::uint64_t attempt) {
  Dice peers(Stream(seed, "fuzz-peers", run, attempt));
  Dice life(Stream(seed, "fuzz-node-life", run, attempt));
  if (peers.chance(0.15)) {
    Draft draft = without_servers(peers, Dice(Stream(seed, "fuzz-machine", run, attempt)));
    draw_node_life(draft, {.workers = 2, .servers = 0}, false, life);
    return draft;
  }
  Dice tasks(Stream(seed, "fuzz-tasks", run, attempt));
  if (tasks.chance(0.05)) return with_tasks(tasks);
  Dice dice(Stream(seed, "fuzz", run, attempt));
  Draft draft;
  draft[""].rows = {{"seed", dice.number(0, 1'000'000)}};
  if (dice.chance(0.05)) draft[""].rows.push_back({"preset", in_quotes(drawn_row<PresetTable>(dice).name)});
  const std::int64_t steps = dice.between(3, 20);
  Victims victims{.workers = dice.between(2, 6), .servers = dice.between(1, 4)};
  draw_model(draft, dice);
  const std::string& kind = *draft.find("model", "kind");
  const bool phantom = kind == "\"phantom\"", sparse = kind == "\"logistic\"";
  victims.learns = !phantom;
  victims.end_us = 2 * steps * step_us;
  victims.colocated = victims.servers <= victims.workers && dice.chance(0.1);
  draw_training(draft, steps, victims.learns, !sparse, dice);
  draw_consistency(draft, victims.workers, dice);
  draw_messages(draft, !sparse, dice);
  Dice stale(Stream(seed, "fuzz-staleness", run, attempt));
  draw_staleness(draft, stale);
  draw_ages(draft, Dice(Stream(seed, "fuzz-ages", run, attempt)));
  if (!phantom && dice.chance(0.2)) draw_filters(draft, dice);
  else draw_key_filter(draft, dice);
  draw_cluster(draft, victims, dice);
  Dice slow(Stream(seed, "fuzz-slow-links", run, attempt));
  const bool is_slow = phantom && slow.chance(0.1);
  if (is_slow) slow_down(draft, slow);
  if (is_slow) victims.end_us = 1'000'000;
  if (dice.chance(0.12)) {
    draw_sturdy(draft, victims, dice);
    draw_node_life(draft, victims, true, life);
    return draft;
  }
  draw_recovery(draft, dice);
  if (is_slow && slow.chance(0.5)) draft["recovery"].rows[5].value = "\"1s\"";  // patience
  if (is_slow && slow.chance(0.3)) return draft;                                // nothing fails
  Dice work(Stream(seed, "fuzz-work", run, attempt));
  if (work.chance(0.3)) draw_work(draft, victims, work);
  draw_copies(draft, victims, dice);
  Dice tenants(Stream(seed, "fuzz-tenants", run, attempt));
  draw_tenants(draft, victims, tenants);
  draw_faults(draft, victims, dice);
  Dice ranges(Stream(seed, "fuzz-ranges", run, attempt));
  draw_ranges(draft, victims, ranges);
  Dice survivor(Stream(seed, "fuzz-survivor", run, attempt));
  if (survivor.chance(0.1)) {
    victims.may_leave = true;
    draw_last_survivor(draft, victims, survivor);
  }
  if (survivor.chance(0.1)) draft["cluster.server"].rows.push_back({"flops_per_value", "1e4"});
  draw_node_life(draft, victims, false, life);
  return draft;
}

}  // namespace

Draft draw(std::uint64_t seed, std::uint64_t run, std::uint64_t attempt) {
  Draft draft = draw_training_job(seed, run, attempt);
  const std::string* const kind = draft.find("model", "kind");
  draw_memory(draft, kind == nullptr || *kind != "\"logistic\"",
              Dice(Stream(seed, "fuzz-memory", run, attempt)));
  return draft;
}

}  // namespace psim::fuzz
