#include "analysis/run_record.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "analysis/database.hpp"
#include "analysis/input.hpp"
#include "analysis/task_facts.hpp"

namespace psim::analysis {
namespace fs = std::filesystem;
namespace {

// The scenario's nodes are those that the run had; returns the names of those after the workers.
std::vector<std::string> other_nodes(const fs::path& database, const Facts& facts) {
  std::uint32_t servers = 0, workers = 0;
  std::vector<std::string> others;
  query(database, "SELECT role, number FROM node ORDER BY node", [&](sqlite3_stmt* row) {
    const std::string_view role = text(row, 0);
    if (role == "server") ++servers;
    else if (role == "worker") ++workers;
    else if (role == "inference") others.push_back(fmt::format("{} {}", role, sqlite3_column_int64(row, 1)));
    else if (role != "scheduler") others.emplace_back(role);
  });
  if (servers != facts.servers || workers != facts.workers)
    throw std::runtime_error(fmt::format("scenario.toml has {} servers and {} workers, run.db has {} and {}",
                                         facts.servers, facts.workers, servers, workers));
  return others;
}

// The fields of a run's scenario, where every default is written out; a field without meaning is left out.
struct Fields {
  const toml::table& scenario;
  std::int64_t number(std::string_view path, std::int64_t otherwise) const {
    return scenario.at_path(path).value_or(otherwise);
  }
  std::string_view word(std::string_view path) const {
    return scenario.at_path(path).value_or(std::string_view{});
  }
};

void add_sizes(const Fields& fields, Facts& f) {
  f.header = static_cast<std::uint64_t>(quantity(fields.word("cluster.network.header")));
  const std::string_view precision = fields.word("model.precision");
  f.bytes_per_value = precision == "float64" ? 8 : precision == "float32" ? 4 : 2;
  f.bytes_per_key = fields.word("messages.keys") == "per-value" ? 8 : 0;
  f.bytes_per_listed_key = std::max<std::uint64_t>(f.bytes_per_key, 4);
  f.sums = fields.word("training.update") == "worker";
  f.filtered = fields.scenario.contains("filter");
  if (const toml::array* filters = fields.scenario["filter"].as_array()) {
    const auto is_of_keys = [](const toml::node& one) {
      return one.as_table()->at_path("kind").value_or(std::string_view{}) == "key-caching";
    };
    const auto row = std::ranges::find_if(*filters, is_of_keys);
    if (row != filters->end()) f.caches_keys = row->as_table()->at_path("on").value_or(std::string("both"));
    f.plain_values = filters->size() == 1;
  }
  f.disk = quantity(fields.word("snapshot.bandwidth"));
  const std::int64_t batch = fields.number("training.batch_size", 0),
                     each = fields.number("training.accumulate", 1),
                     steps = fields.number("training.local_steps", 1),
                     warmup = fields.number("training.warmup_steps", 0);
  f.batches = each * steps;
  f.warms_up = warmup > 0;
  f.first_batches = each * (warmup > 0 ? warmup : steps);
  f.batch_size = batch;
  if (fields.word("training.work") != "static") return;
  if (!fields.word("training.local_time").empty()) {
    f.local_batch = batch * each;
    return;
  }
  f.samples = batch * f.batches;
  f.first_samples = batch * f.first_batches;
}

void add_closing(const Fields& fields, Facts& f) {
  const auto seconds = [&](std::string_view path) {
    const std::string_view text = fields.word(path);
    return text.empty() ? std::nullopt : std::optional(quantity(text));
  };
  f.closing_window = seconds("consistency.window");
  f.closing_deadline = seconds("consistency.deadline");
  f.local_time = seconds("training.local_time");
  if (const toml::array* promises = fields.scenario.at_path("consistency.promises").as_array()) {
    for (const toml::node& one : *promises) f.promises.push_back(one.value_or(std::string{}));
  }
  f.longest_retry = seconds("recovery.longest_retry").value_or(0);
  f.start_rule = fields.word("consistency.start");
  f.update_rule = fields.word("consistency.update");
  f.steps = fields.number("training.steps", 0);
}

void add_speeds(const Fields& fields, Facts& f) {
  const auto list = [&](std::string_view path) {
    const toml::array* rows = fields.scenario.at_path(path).as_array();
    return rows == nullptr ? toml::array{} : *rows;
  };
  const auto seconds = [](const toml::node& row, std::string_view name) -> std::optional<double> {
    const auto text = row.as_table()->at_path(name).value<std::string_view>();
    return text ? std::optional(quantity(*text)) : std::nullopt;
  };
  for (const toml::node& row : list("straggler")) {
    if (!row.is_table()) throw std::runtime_error("straggler is no list of tables");
    const toml::table& table = *row.as_table();
    Straggler one{.workers = {},
                  .slowdown = table.at_path("slowdown").value_or(1.0),
                  .from = seconds(row, "from").value_or(0.0),
                  .until = seconds(row, "until"),
                  .every = seconds(row, "every"),
                  .probability = table.at_path("probability").value<double>()};
    if (const toml::array* workers = table.at_path("workers").as_array()) {
      for (const toml::node& worker : *workers)
        one.workers.push_back(static_cast<std::uint32_t>(worker.value_or<std::int64_t>(0)));
    }
    f.stragglers.push_back(std::move(one));
  }
  for (const toml::node& row : list("fault"))
    f.fault_factors.push_back(row.is_table() ? row.as_table()->at_path("factor").value_or(1.0) : 1.0);
  for (const toml::node& row : list("filter"))
    f.servers_work |= row.is_table() && row.as_table()->at_path("flops_per_value").value_or(0.0) > 0;
  f.server_flops_per_value = fields.scenario.at_path("cluster.server.flops_per_value").value_or(0.0);
  if (const std::string_view one = fields.word("cluster.server.speed"); !one.empty())
    f.server_speeds.push_back(quantity(one));
  for (const toml::node& one : list("cluster.server.speed"))
    f.server_speeds.push_back(quantity(one.value_or(std::string_view{})));
}

Facts facts_of(const toml::table& scenario) {
  const Fields fields{scenario};
  Facts f;
  f.workers = static_cast<std::uint32_t>(fields.number("cluster.workers", 0));
  f.servers = static_cast<std::uint32_t>(fields.number("cluster.servers", 0));
  const std::string_view architecture = fields.word("architecture.kind");
  f.has_servers = architecture.empty() || architecture == "parameter-server";
  f.model = fields.word("consistency.model");
  f.staleness = fields.number(f.model == "dssp" ? "consistency.staleness_max" : "consistency.staleness", 0);
  if (const toml::array* rows = scenario.at_path("consistency.staleness_schedule").as_array()) {
    for (const toml::node& row : *rows) {
      const toml::array* list = row.as_array();
      if (list == nullptr || list->size() != 2)
        throw std::runtime_error("consistency.staleness_schedule is no list of pairs");
      const toml::array& pair = *list;
      f.schedule.emplace_back(pair[0].value_or(0.0), static_cast<std::int64_t>(pair[1].value_or(0.0)));
    }
  }
  f.cache = scenario.at_path("consistency.cache").value_or(false);
  if (scenario.at_path("consistency.max_staleness").is_integer())
    f.limit = fields.number("consistency.max_staleness", 0);
  f.drops_too_stale = fields.word("consistency.too_stale") == "drop";
  const bool has_own_bounds = scenario.at_path("consistency.array").is_array();
  if (f.model == "ssp" && f.staleness == 0 && f.schedule.empty() && !has_own_bounds && !f.limit)
    f.model = "bsp";  // nothing tells them apart
  add_closing(fields, f);
  const std::int64_t backup = fields.number("consistency.backup", -1);
  f.group = f.model == "bsp" ? f.workers
            : backup >= 0    ? f.workers - backup
                             : fields.number("consistency.k", f.workers);
  if (fields.word("consistency.late") == "next")
    f.model = f.model == "k-batch-sync" ? "k-batch-async" : "k-async";
  else if (f.model == "bsp" && (f.closing_window || f.closing_deadline)) f.model = "k-sync";  // k: all
  f.slow_factor = scenario.at_path("recovery.slow.factor").value_or(0.0);
  f.serves = scenario.contains("inference");
  f.pull_every = fields.number("training.pull_every", 1);
  f.elastic = fields.word("training.algorithm") == "elastic";
  f.servers_work = scenario.at_path("cluster.server.flops_per_value").value_or(0.0) > 0;
  f.steals = fields.word("training.work") == "stealing";
  f.sends_at_once = fields.word("messages.order") == "parallel";
  f.shares_out = fields.word("training.work") == "dynamic";
  f.overlap = scenario.at_path("messages.overlap").value_or(false);
  f.tasks = task_facts(scenario, f.workers);
  f.copies = fields.number("replication.copies", 0);
  f.window = fields.number("replication.window", 0);
  f.every_push = fields.word("replication.when") == "every-push";
  f.at_least_once = fields.word("recovery.semantics") == "at-least-once";
  if (const std::string_view text = fields.word("training.duration"); !text.empty())
    f.duration = quantity(text);
  f.copies_over_bus = fields.number("cluster.worker.device.count", 1) > 1;
  add_sizes(fields, f);
  add_speeds(fields, f);
  // The devices of one machine are nodes like workers, and share a batch; their bus is no network.
  if (fields.word("architecture.over") == "devices") {
    f.workers = static_cast<std::uint32_t>(fields.number("cluster.worker.device.count", 1));
    f.header = 0;
    f.samples.reset();
    f.first_samples.reset();
  }
  return f;
}

toml::table scenario_in(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!fs::is_regular_file(file)) throw std::runtime_error(name + " is missing");
  toml::table scenario = toml_file(file);
  if (!scenario.at_path("cluster.workers").is_integer())
    throw std::runtime_error(name + " is not the scenario of a run: it has no cluster.workers");
  return scenario;
}

// When the last group of a namespace was through.
double last_finish(const Json& groups, std::int64_t space) {
  double last = 0;
  for (const Json& group : groups) {
    if (group.at("namespace") == space) last = std::max(last, group.at("finished_s").get<double>());
  }
  return last;
}

Json summary_in(const fs::path& file) {
  Json summary = json_file(file);
  if (!summary.is_object()) throw std::runtime_error("summary.json is not the summary of a run");
  return summary;
}

// Of the `shards` shards from `first` on, numbered from there.
std::map<std::uint32_t, std::optional<std::int64_t>> bounds_in(const Json& summary, std::uint32_t first,
                                                               std::uint32_t shards) {
  std::map<std::uint32_t, std::optional<std::int64_t>> bounds;
  for (const Json& row : summary.value("shard_bounds", Json::array())) {
    const auto shard = row.at("shard").get<std::uint32_t>();
    const Json& own = row.at("staleness");
    if (shard >= first && shard - first < shards)
      bounds[shard - first] = own.is_null() ? std::nullopt : std::optional(own.get<std::int64_t>());
  }
  return bounds;
}

}  // namespace

double quantity(std::string_view text) {
  struct Prefix {
    std::string_view name;
    double times, divided;
  };
  constexpr Prefix prefixes[] = {{"n", 1, 1e9},         {"u", 1, 1e6}, {"m", 1, 1e3},      {"k", 1e3, 1},
                                 {"Ki", 1024, 1},       {"K", 1e3, 1}, {"Mi", 1048576, 1}, {"M", 1e6, 1},
                                 {"Gi", 1073741824, 1}, {"G", 1e9, 1}, {"T", 1e12, 1}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Prefix& one : prefixes) {
    if (unit.starts_with(one.name)) return number * one.times / one.divided;
  }
  return number;
}

Unverifiable unrelated_files(const fs::path& folder, std::string_view why) {
  return {fmt::format("{}: {}", folder.string(), why),
          "its files do not belong together: run the scenario again"};
}

Unverifiable unfit_summary(const fs::path& folder, const Json::exception& error) {
  const std::string_view what = error.what();  // begins with the library's own number in brackets
  return unrelated_files(
      folder, fmt::format("summary.json does not fit the run: {}", what.substr(what.find("] ") + 2)));
}

std::optional<std::int64_t> Facts::bound_at(std::int64_t clock, std::uint32_t shard) const {
  const auto own = shard_bounds.find(shard);
  return own != shard_bounds.end() && own->second ? own->second : bound_for_all_at(clock);
}

std::optional<std::int64_t> Facts::bound_at(std::int64_t clock) const {
  std::optional<std::int64_t> least = shard_bounds.empty() ? bound_for_all_at(clock) : std::nullopt;
  for (const auto& [shard, own] : shard_bounds) {
    const std::int64_t bound = *bound_at(clock, shard);
    least = std::min(least.value_or(bound), bound);
  }
  return least;
}

std::optional<std::int64_t> Facts::bound_for_all_at(std::int64_t clock) const {
  if (model == "bsp") return 0;
  if (model != "ssp" && model != "dssp") return std::nullopt;
  std::int64_t bound = staleness;
  for (const auto& [from, value] : schedule) {
    if (static_cast<double>(clock) >= from) bound = value;
  }
  return bound;
}

double Facts::server_speed(std::uint32_t node) const {
  if (server_speeds.empty()) return 0;
  return server_speeds[std::min<std::size_t>(node - 1, server_speeds.size() - 1)];
}

std::string Facts::name_of(std::uint32_t node) const {
  if (node == 0) return "scheduler";
  if (is_server(node)) return fmt::format("server {}", node - 1);
  if (is_worker(node)) return fmt::format("worker {}", first_worker + worker(node));
  const std::size_t other = node - 1 - servers - workers;
  return other < others.size() ? others[other] : fmt::format("node {}", node);
}

namespace {

// Whether the event is about one shard; what has none has a 0 in its place.
bool has_shard(const Row& row) {
  constexpr std::string_view of_shards[] = {"push_outcome", "model_update", "place",
                                            "promotion",    "membership",   "copy",
                                            "snapshot",     "release",      "acknowledgement"};
  constexpr std::string_view kinds[] = {"pull",   "weights",   "finished",   "push",  "ack",     "group",
                                        "decide", "replicate", "replicated", "state", "restore", "ready"};
  if (row.is_message()) return std::ranges::find(kinds, row.kind) != std::end(kinds);
  return std::ranges::find(of_shards, row.table) != std::end(of_shards);
}

}  // namespace

std::optional<Row> Job::own(const Row& row) const {
  const std::uint32_t first = facts.servers + 1, past = first + all_workers;
  const auto is_worker = [=](std::uint32_t node) { return node >= first && node < past; };
  const auto moved = [&](std::uint32_t node) {
    if (is_worker(node)) return node - facts.first_worker;
    return node >= past ? node - all_workers + facts.workers : node;
  };
  for (const std::uint32_t node : {row.node, row.peer}) {
    const bool is_here =
        node >= first + facts.first_worker && node < first + facts.first_worker + facts.workers;
    if (is_worker(node) && !is_here) return std::nullopt;
    if (!facts.serves && facts.name_of(moved(node)).starts_with("inference")) return std::nullopt;
  }
  const bool of_shard = row.shard >= first_shard && row.shard < first_shard + shards;
  if (has_shard(row) && !of_shard) return std::nullopt;
  Row own = row;
  own.node = moved(row.node);
  own.peer = moved(row.peer);
  if (of_shard) own.shard = row.shard - first_shard;
  return own;
}

RunRecord::RunRecord(const fs::path& folder) : database_(folder / "run.db") {
  const fs::path scenario = folder / "scenario.toml", summary_file = folder / "summary.json";
  const auto is_file = [](const fs::path& path) { return fs::is_regular_file(path); };
  if (!is_file(database_) || !is_file(scenario) || !is_file(summary_file))
    throw Unverifiable(
        fmt::format("{} is not a run: it needs run.db, scenario.toml and summary.json", folder.string()),
        "`psim run FILE --trace events` makes one under runs/");
  std::string trace;
  query(database_, "SELECT value FROM meta WHERE key = 'trace'",
        [&](sqlite3_stmt* row) { trace = text(row, 0); });
  if (trace != "events")
    throw Unverifiable(
        fmt::format("{} has no events", folder.string()),
        fmt::format("psim run {0}/scenario.toml --trace events --out {0} --force   makes it again, with them",
                    folder.lexically_normal().string()));
  try {
    facts = facts_of(scenario_in(scenario));
    summary = summary_in(summary_file);
    facts.others = other_nodes(database_, facts);
    facts.shard_bounds = bounds_in(summary, 0, std::numeric_limits<std::uint32_t>::max());
    query(database_, "SELECT here_at_first FROM worker ORDER BY worker",
          [&](sqlite3_stmt* row) { facts.here_at_first.push_back(sqlite3_column_int(row, 0) != 0); });
    if (facts.here_at_first.size() != facts.workers)
      throw std::runtime_error("run.db does not have the scenario's workers");
    std::size_t recorded = 0;
    query(database_, "SELECT 1 FROM node", [&](sqlite3_stmt*) { ++recorded; });
    const std::size_t nodes = 1 + std::size_t{facts.servers} + facts.workers + facts.others.size();
    if (facts.servers > recorded) throw std::runtime_error("run.db does not have the scenario's servers");
    for (std::uint32_t node = 0; node < nodes; ++node) names.push_back(facts.name_of(node));
    if (summary.contains("groups")) read_jobs(folder);
    else facts.last_workers = {facts.workers - 1};
  } catch (const std::exception& error) {
    throw unrelated_files(folder, error.what());
  }
}

void RunRecord::read_jobs(const fs::path& folder) {
  query(
      database_,
      "SELECT namespace, min(number), min(first_worker), first_shard, shards FROM worker_group "
      "GROUP BY namespace ORDER BY namespace",
      [&](sqlite3_stmt* row) {
        const fs::path scenario = folder / fmt::format("namespace-{}.toml", sqlite3_column_int64(row, 0));
        Job job{.facts = facts_of(scenario_in(scenario)), .summary = {}};
        const auto number = [row](int column) {
          return static_cast<std::uint32_t>(sqlite3_column_int64(row, column));
        };
        job.facts.first_worker = number(2);
        job.facts.shard_bounds = bounds_in(summary, number(3), number(4));
        job.first_shard = number(3);
        job.shards = number(4);
        job.summary = summary["groups"].at(number(1));
        job.summary["stuck"] = summary.at("stuck");
        job.all_workers = facts.workers;
        job.facts.others = facts.others;
        job.facts.last_workers = {job.facts.workers - 1};
        facts.last_workers.push_back(job.facts.first_worker + job.facts.workers - 1);
        facts.job_ends.push_back(last_finish(summary["groups"], sqlite3_column_int64(row, 0)));
        if (job.facts.servers != facts.servers || job.facts.first_worker + job.facts.workers > facts.workers)
          throw std::runtime_error(scenario.filename().string() + " does not fit scenario.toml");
        jobs.push_back(std::move(job));
      });
}

}  // namespace psim::analysis
