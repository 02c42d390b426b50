#include "sim/fuzz/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "model/data_spec.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/text/toml_text.hpp"

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

// With dice of their own: these rows leave all other rows of a run as they are.
void draw_apart(Draft& draft, std::uint64_t seed, std::uint64_t run, std::uint64_t attempt) {
  draw_ages(draft, Dice(Stream(seed, "fuzz-ages", run, attempt)));
  draw_grace(draft, Dice(Stream(seed, "fuzz-grace", run, attempt)));
  draw_limits(draft, Dice(Stream(seed, "fuzz-limits", run, attempt)));
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
  draw_apart(draft, seed, run, attempt);
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

// Fragments need messages that arrive.
void draw_fragments(Draft& draft, std::int64_t local_steps, Dice& dice) {
  std::erase_if(draft.tables, [](const Table& table) {
    return table.name == "recovery" || table.name == "fault" || table.name == "replication" ||
           table.name == "snapshot" || table.name == "group";
  });
  const std::int64_t fragments = dice.between(2, 3);
  draft["training.inner"].rows.push_back({"steps", std::to_string(fragments * local_steps)});
  draft["training.outer"].rows = {{"optimizer", dice.text_of({"sgd", "nesterov"})},
                                  {"fragments", std::to_string(fragments)},
                                  {"delay", dice.number(0, local_steps - 1)},
                                  {"mix", std::string(dice.one_of({"0.0", "0.5", "1.0"}))}};
}

// Loops with optimizers of their own on workers and servers, instead of most fields of [training].
void draw_loops(Draft& draft, Dice dice) {
  const std::string* const kind = draft.find("model", "kind");
  if (!dice.chance(0.12)) return;
  const bool learns = kind == nullptr || *kind != "\"phantom\"",
             dense = kind == nullptr || *kind != "\"logistic\"";
  std::erase_if(draft["training"].rows, [](const Row& row) { return !row.needed; });
  const std::int64_t steps = dice.between(1, 4);
  Table& inner = draft["training.inner"];
  if (learns && dense) draw_optimizer(inner, true, dice);
  if (dice.chance(0.3)) inner.rows.push_back({"state", "\"fresh\""});
  if (learns && dense && dice.chance(0.4)) return draw_fragments(draft, steps, dice);
  inner.rows.push_back({"steps", std::to_string(steps)});
  if (dice.chance(0.3)) inner.rows.push_back({"dynamic", "true"});
  if (dice.chance(0.3)) return;
  Table& outer = draft["training.outer"];
  if (learns) draw_optimizer(outer, true, dice);
  if (learns) outer.rows.push_back({"learning_rate", "0.7"});
}

}  // namespace

Draft draw(std::uint64_t seed, std::uint64_t run, std::uint64_t attempt) {
  Draft draft = draw_training_job(seed, run, attempt);
  draw_loops(draft, Dice(Stream(seed, "fuzz-loops", run, attempt)));
  const std::string* const kind = draft.find("model", "kind");
  draw_memory(draft, kind == nullptr || *kind != "\"logistic\"",
              Dice(Stream(seed, "fuzz-memory", run, attempt)));
  return draft;
}

const std::string* Table::find(std::string_view key) const {
  const auto row = std::ranges::find(rows, key, &Row::key);
  return row == rows.end() ? nullptr : &row->value;
}

Table& Draft::operator[](std::string_view name) {
  const auto table = std::ranges::find(tables, name, &Table::name);
  if (table != tables.end()) return *table;
  tables.push_back({.name = std::string(name), .rows = {}});
  return tables.back();
}

const std::string* Draft::find(std::string_view name, std::string_view key) const {
  const auto table = std::ranges::find(tables, name, &Table::name);
  return table == tables.end() ? nullptr : table->find(key);
}

std::string to_toml(const Draft& draft) {
  TomlText text;
  for (const Table& table : draft.tables) {
    if (!table.name.empty()) text.begin(table.name, table.many);
    for (const Row& row : table.rows) text.add(row.key, row.value);
  }
  return text.text();
}

std::set<std::string> features(const Draft& draft) {
  std::set<std::string> found;
  for (const Table& table : draft.tables) {
    for (const Row& row : table.rows) {
      const std::string field = table.name + (table.name.empty() ? "" : ".") + row.key;
      std::string word = row.value;
      std::erase(word, '"');
      const bool is_word = word != row.value && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
                           word.find(' ') == std::string::npos;
      if (is_word) found.insert(fmt::format("{} {}", field, word));
      else if (!row.needed) found.insert(field);
    }
  }
  return found;
}

// Draws the model of a scenario, and its data.

namespace {

// A row that a program has added to psim's tables; null if there is none, or by chance.
template <class RowOfTable>
const RowOfTable* drawn_addition(Dice& dice) {
  const std::deque<RowOfTable>& all = all_rows<RowOfTable>();
  const std::size_t own = built_in_rows<RowOfTable>().size();
  if (all.size() == own || !dice.chance(0.3)) return nullptr;
  return &all[static_cast<std::size_t>(
      dice.between(static_cast<std::int64_t>(own), static_cast<std::int64_t>(all.size()) - 1))];
}

// Whether the kind of model can learn from the source's data without more fields.
bool fits(const ModelRow& kind, const DataSourceRow& source) {
  DataShape shape;
  if (source.shape != nullptr) source.shape(DataSpec{}, shape);
  return kind.can_learn(shape.classification ? shape.outputs : 0);
}

// Replaces a multi-layer perceptron and its samples, because their sizes must agree.
void draw_added_model(Table& model, Table& data, Dice& dice) {
  const ModelRow* kind = drawn_addition<ModelRow>(dice);
  if (kind == nullptr || !kind->has_numbers || kind->is_sparse || kind->has_layers) return;
  std::erase_if(model.rows, [](const Row& row) { return row.key == "layers"; });
  model.rows.front().value = in_quotes(kind->name);
  draw_settings(kind->settings, model, dice);
  if (kind->learns == Learns::targets) data.rows.front().value = in_quotes("teacher");
  const auto classes = std::ranges::find(data.rows, "classes", &Row::key);
  if (kind->learns == Learns::two_classes && classes != data.rows.end()) classes->value = "2";
  const DataSourceRow* source = drawn_addition<DataSourceRow>(dice);
  if (source == nullptr || source->is_sparse || source->reads_files || !fits(*kind, *source)) return;
  std::erase_if(data.rows, [source](const Row& row) {
    return row.key != "source" && row.key != "validation_fraction" && !lists(source->fields, row.key);
  });
  data.rows.front().value = in_quotes(source->name);
  draw_settings(source->settings, data, dice);
}

}  // namespace

void draw_model(Draft& draft, Dice& dice) {
  Table& data = draft["data"];
  const std::string kind = dice.chance(0.45) ? "phantom" : dice.chance(0.85) ? "mlp" : "logistic";
  if (kind == "phantom") draft.tables.pop_back();
  else if (kind == "mlp")
    data.rows = {{"source", "\"blobs\"", true},
                 {"samples", "120", true},
                 {"features", "4", true},
                 {"classes", "3", true}};
  else
    data.rows = {{"source", "\"clicks\"", true},
                 {"samples", "120", true},
                 {"features", "60", true},
                 {"nonzeros", "4", true}};
  if (kind != "phantom" && dice.chance(0.2)) data.rows.push_back({"validation_fraction", "0.25"});
  Table& model = draft["model"];
  model.rows = {{"kind", '"' + kind + '"', true}};
  if (kind == "mlp") {
    model.rows.push_back({"layers", fmt::format("[4, {}, 3]", dice.between(2, 8)), true});
    if (dice.chance(0.3))
      model.rows.push_back({"precision", dice.text_of({"float64", "float16", "bfloat16"})});
    draw_added_model(model, draft["data"], dice);
  }
  if (kind != "phantom") return;
  if (dice.chance(0.6))
    model.rows.push_back({"arrays", dice.chance(0.5) ? "[100, 10, 1000]" : "[7, 7]", true});
  else model.rows.push_back({"parameters", dice.number(100, 4000), true});
}

// Draws the training of a scenario's workers, and their memory.
void draw_optimizer(Table& training, bool dense, Dice& dice) {
  const auto& row = draw_row<OptimizerRow>(training, "optimizer", dice);
  if (!row.elastic_net) return;
  training.rows.push_back({"l1", "0.001"});
  if (!dense && dice.chance(0.5)) training.rows.push_back({"feature_blocks", dice.number(2, 4)});
}

void draw_training(Draft& draft, std::int64_t steps, bool learns, bool dense, Dice& dice) {
  Table& training = draft["training"];
  training.rows = {{"steps", std::to_string(steps), true}, {"batch_size", "4", true}};
  auto& rows = training.rows;
  const bool elastic = dense && dice.chance(0.06);
  if (learns && !elastic && dice.chance(0.6)) draw_optimizer(training, dense, dice);
  if (!elastic && dice.chance(0.08)) {
    rows.push_back({"staleness_aware", "true"});
    if (dice.chance(0.3)) rows.push_back({"staleness_scales", "\"gradient\""});
  }
  if (dice.chance(0.12)) rows.push_back({"local_steps", dice.number(2, 4)});
  if (dense && dice.chance(rows.back().key == "local_steps" ? 0.4 : 0.05))
    rows.push_back({"warmup_steps", dice.number(0, 8)});
  if (dice.chance(0.05)) rows.push_back({"accumulate", dice.number(2, 3)});
  if (dense && !elastic && dice.chance(0.08)) rows.push_back({"pull_every", dice.number(2, 4)});
  if (dense && learns && !elastic && dice.chance(0.1)) {
    rows.push_back({"delay_compensation", "0.5"});
    if (dice.chance(0.4)) rows.push_back({"delay_compensation_decay", "0.9"});
  }
  const std::string* const precision = draft.find("model", "precision");
  if (precision != nullptr && *precision != "\"float64\"" && dice.chance(0.5)) {
    draft["training"].rows.push_back({"multi_precision", "true"});
    draft["training"].rows.push_back({"loss_scale", "64"});
  }
  if (elastic) rows.push_back({"algorithm", "\"elastic\""});
  if (dense && !elastic && dice.chance(0.1)) rows.push_back({"update", "\"worker\""});
  if (learns && dice.chance(0.4))
    rows.push_back({"evaluate_every", dice.chance(0.6) ? dice.text_of({"3 updates", "1 update", "10 samples"})
                                                       : dice.time(500, 4000)});
  if (dice.chance(0.1)) rows.push_back({"duration", dice.time(step_us, steps * 2 * step_us)});
  const std::string* const source = draft.find("data", "source");
  const bool has_classes = source == nullptr || *source != "\"teacher\"";
  if (learns && dice.chance(0.1) && has_classes)
    draft["training.target"].rows = {
        {"accuracy", "0.9"}, {"hold", dice.number(1, 3)}, {"stop", dice.chance(0.5) ? "true" : "false"}};
}

void draw_memory(Draft& draft, bool dense, Dice dice) {
  if (dense && dice.chance(0.12)) draft["training"].rows.push_back({"recompute", "true"});
  if (dice.chance(0.1)) draft["cluster.worker"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  if (dice.chance(0.08))
    draft["cluster.worker.device"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  const std::string* const servers = draft.find("cluster", "servers");
  if (servers != nullptr && dice.chance(0.08))
    draft["cluster.server"].rows.push_back({"memory", dice.text_of({"1GB", "40kB"})});
  if (const std::string* const model = draft.find("model", "kind");
      model != nullptr && *model == "\"phantom\"") {
    if (dice.chance(0.3)) draft["model"].rows.push_back({"activations_per_sample", "\"100B\""});
  }
  if (servers == nullptr || draft.find("cluster.worker.device", "count") == nullptr) return;
  if (dice.chance(0.5)) draft["cluster.worker.device"].rows.push_back({"update", "\"device\""});
  if (dice.chance(0.3)) draft["cluster.worker.device"].rows.push_back({"peers", "\"host\""});
}

// Draws start-up, power and profiles of a scenario's nodes.

namespace {

void draw_startup(Table& table, Dice& dice) {
  table.rows.push_back({"startup", dice.time(100, 20'000)});
  const auto& row = drawn_row<DistributionRow>(
      dice, [](const DistributionRow& one) { return !one.reads_trace && one.misfit == nullptr; });
  table.rows.push_back({"startup_distribution", fmt::format("\"{}\"", row.name)});
}

void draw_economy(Draft& draft, const std::string& table, Dice& dice) {
  draft[table].rows.push_back({"price", dice.number(0, 5)});
  draft[table + ".power"].rows = {{"idle", "\"100W\""}, {"full", dice.text_of({"100W", "300W"})}};
}

// The search needs a slow worker.
void draw_search(Draft& draft, const Victims& v, Dice& dice) {
  Table& slow = draft["recovery.slow"];
  slow.rows = {{"factor", std::string(dice.one_of({"1.5", "3.0"}))}, {"window", dice.number(1, 4)}};
  const std::string action(dice.one_of({"flag", "remove", "replace"}));
  slow.rows.push_back({"action", '"' + action + '"'});
  if (action == "replace") draft["cluster"].rows.push_back({"spares", "1"});
  draft.tables.push_back({.name = "straggler",
                          .many = true,
                          .rows = {{"workers", fmt::format("[{}]", dice.between(0, v.workers - 1))},
                                   {"slowdown", dice.number(2, 8)}}});
}

}  // namespace

void draw_node_life(Draft& draft, const Victims& v, bool sturdy, Dice& dice) {
  if (dice.chance(0.15)) draw_startup(draft["cluster.worker"], dice);
  if (v.servers > 0 && dice.chance(0.15)) draw_startup(draft["cluster.server"], dice);
  if (v.servers > 0 && draft.find("training", "warmup_steps") != nullptr && dice.chance(0.5))
    draft["training"].rows.push_back({"warmup", dice.text_of({"after-pull", "before-servers"})});
  if (dice.chance(0.1)) draw_economy(draft, "cluster.worker", dice);
  if (v.servers > 0 && dice.chance(0.1)) draw_economy(draft, "cluster.server", dice);
  if (v.servers > 0 && !sturdy && dice.chance(0.1)) draw_search(draft, v, dice);
  const bool racks = draft.find("cluster.network", "racks") != nullptr;
  if (v.servers > 0 && sturdy && racks && dice.chance(0.6))
    draft["cluster.network"].rows.push_back({"aggregate", dice.text_of({"rack", "switch"})});
}

// Draws the division of work among workers, and the delivery of samples, also with failures.
void draw_work(Draft& draft, Victims& v, Dice& dice) {
  Table& training = draft["training"];
  const std::string_view what = dice.one_of({"dynamic", "stealing", "database", "moves"});
  v.shares_work = true;
  if (what == "dynamic" || what == "stealing") {
    std::erase_if(training.rows, [](const Row& row) { return row.key == "work"; });
    training.rows.push_back({"work", fmt::format("\"{}\"", what)});
    if (what == "dynamic") training.rows.push_back({"work_every", dice.number(1, 4)});
    else training.rows.push_back({"work_piece", std::string(dice.one_of({"0.25", "0.5"}))});
  }
  if (what == "database" || (what != "moves" && dice.chance(0.2))) {
    draft["data"].rows.push_back({"delivery", "\"database\""});
    draft["data"].rows.push_back({"prefetch", dice.number(0, 3)});
    draft["data"].rows.push_back({"bytes_per_sample", std::string(dice.one_of({"\"100B\"", "\"20kB\""}))});
    v.database = true;
  }
  if (!v.learns) return;
  if (dice.chance(0.5)) draft["data"].rows.push_back({"partition", "\"contiguous\""});
  if (v.database || (what != "moves" && dice.chance(0.7))) return;
  draft["recovery"].rows.push_back({"data_from", dice.text_of({"database", "workers"})});
  v.database = true;
}

// Draws the consistency model of a scenario, and its treatment of stale weights and pushes.

namespace {

// Custom models in all forms.
struct CustomDraw {
  std::string_view start, update, too_late, promise;
};
constexpr std::array<CustomDraw, 6> customs{{
    {"version > computed_on", "pushes >= min(k, members)", "age > 0", "pushes <= workers"},
    {"version > computed_on", "pushes >= (version < 4 ? min(k, members) : members)", "age > 0",
     "pushes <= workers"},
    {"clock - min_clock <= staleness", "pushes >= 1", "false", "clock_gap <= staleness + 4"},
    {"applied >= pushed", "pushes >= min(k, members)", "false", "pushes >= 1"},
    {"applied >= pushed", "pushes >= (min_clock < 3 ? 1 : min(k, members))", "false", "pushes >= 1"},
    {"true", "pushes >= k", "age > 4", "age <= 4"},
}};

void draw_custom(Table& table, Dice& dice) {
  const CustomDraw& one = customs[static_cast<std::size_t>(dice.between(0, std::ssize(customs) - 1))];
  table.rows.push_back({"start", in_quotes(one.start)});
  table.rows.push_back({"update", in_quotes(one.update)});
  table.rows.push_back({"too_late", in_quotes(one.too_late)});
  table.rows.push_back({"weight", dice.text_of({"1", "1 / (1 + age)", "exp(-age / 3)"})});
  table.rows.push_back({"staleness", dice.number(0, 4)});
  table.rows.push_back({"promises", "[" + in_quotes(one.promise) + "]"});
}

}  // namespace

void draw_consistency(Draft& draft, std::int64_t workers, Dice& dice) {
  Table& table = draft["consistency"];
  const auto& row = draw_row<ConsistencyRow>(table, "model", dice);
  if (row.has_bound()) table.rows.push_back({"staleness", dice.number(0, 4)});
  if (row.has_bound() && row.dynamic) table.rows.push_back({"staleness_max", dice.number(4, 8)});
  if (row.has_k()) table.rows.push_back({"k", dice.number(1, workers)});
  if (row.has_late() && !row.has_limit() && row.has_k())
    table.rows.push_back({"late", dice.text_of({"drop", "cancel"})});
  if (row.is_custom()) draw_custom(table, dice);
  if (dice.chance(0.2)) draw_row<AggregationRow>(table, "aggregation", dice);
}

void draw_staleness(Draft& draft, Dice& dice) {
  Table& consistency = draft["consistency"];
  const auto& row = *ConsistencyModel(
      std::string_view(consistency.rows[0].value).substr(1, consistency.rows[0].value.size() - 2));
  if (row.has_closing() && dice.chance(0.15))
    consistency.rows.push_back({"window", dice.time(0, 2 * step_us)});
  if (row.has_closing() && dice.chance(0.15))
    consistency.rows.push_back({"deadline", dice.time(0, 4 * step_us)});
  const bool by_date = consistency.rows.back().key == "window" || consistency.rows.back().key == "deadline";
  if (by_date && row.drops_stale && dice.chance(0.7)) {
    std::erase_if(consistency.rows, [](const Row& one) { return one.key == "late"; });
    consistency.rows.push_back({"late", dice.text_of({"drop", "cancel", "next"})});
  }
  if (row.has_limit() && dice.chance(0.15)) {
    consistency.rows.push_back({"max_staleness", dice.number(0, 6)});
    consistency.rows.push_back({"too_stale", dice.text_of({"drop", "damp"})});
  }
  if (row.has_bound() && dice.chance(0.3)) consistency.rows.push_back({"cache", "true"});
  const std::string* const unit = draft.find("messages", "unit");
  if (row.has_schedule() && unit != nullptr && *unit == "\"array\"" && dice.chance(0.5))
    draft.tables.push_back({.name = "consistency.array",
                            .many = true,
                            .rows = {{"layer", "0"}, {"staleness", dice.number(0, 5)}}});
  std::vector<Row>& training = draft["training"].rows;
  if (draft.find("training", "staleness_aware") != nullptr)
    draw_row<StalenessWeightRow>(draft["training"], "staleness_weight", dice);
  if (draft.find("training", "local_steps") == nullptr && dice.chance(0.06))
    training.push_back({"local_time", dice.time(step_us / 2, 6 * step_us)});
}

void draw_limits(Draft& draft, Dice dice) {
  std::vector<Row>& training = draft["training"].rows;
  if (draft.find("training", "accumulate") != nullptr && dice.chance(0.4))
    training.push_back({"accumulate_time", dice.time(step_us / 2, 3 * step_us)});
  if (dice.chance(0.04)) training.push_back({"give_up", dice.time(2 * step_us, 6 * step_us)});
}

void draw_ages(Draft& draft, Dice dice) {
  Table& consistency = draft["consistency"];
  const auto has = [&](std::string_view key, std::string_view value) {
    const std::string* const found = draft.find("consistency", key);
    return found != nullptr && (value.empty() || *found == value);
  };
  const bool is_custom = has("too_late", "");
  if (!is_custom && !has("max_staleness", "")) return;
  if (dice.chance(0.5)) consistency.rows.push_back({"age", "\"gradient\""});
  if (!is_custom && has("too_stale", "\"drop\"") && dice.chance(0.5))
    consistency.rows.push_back({"late", "\"cancel\""});
}

void draw_grace(Draft& draft, Dice dice) {
  Table& consistency = draft["consistency"];
  const std::string& model = consistency.rows[0].value;
  const auto& row = *ConsistencyModel(std::string_view(model).substr(1, model.size() - 2));
  if (row.has_k() && dice.chance(0.25)) consistency.rows.push_back({"grace", dice.time(0, 2 * step_us)});
  if (row.has_closing() && dice.chance(0.1))
    consistency.rows.push_back({"deadline_mad", std::string(dice.one_of({"0.5", "3.0"}))});
  if (!row.is_custom() || dice.chance(0.7)) return;
  std::erase_if(consistency.rows, [](const Row& one) { return one.key == "weight"; });
  consistency.rows.push_back({"weight", dice.text_of({"samples / seconds", "samples^2 / batches"})});
}

}  // namespace psim::fuzz
