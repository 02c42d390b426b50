#include "analysis/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>
#include <variant>

#include "analysis/database.hpp"
#include "analysis/run_files.hpp"
#include "sim/record/event_fields.hpp"

namespace psim::analysis {

namespace fs = std::filesystem;
namespace {

// Checks that the scenario and the run have the same nodes. Returns the names of the nodes after the workers.
std::vector<std::string> other_nodes(const InputDatabase& database, const Facts& facts) {
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
    throw std::runtime_error(fmt::format("the scenario has {} servers and {} workers, run.db has {} and {}",
                                         facts.servers, facts.workers, servers, workers));
  return others;
}

// The facts of the run, or of one of its namespaces.
Facts facts_in(const InputDatabase& database, std::string_view space) {
  std::vector<std::pair<std::string, std::string>> rows;
  query(database, fmt::format("SELECT name, value FROM fact WHERE namespace IS {}", space),
        [&](sqlite3_stmt* row) { rows.emplace_back(text(row, 0), text(row, 1)); });
  Facts facts;
  static_cast<RunFacts&>(facts) = psim::facts_in(rows);
  for (const TaskFact& task : facts.tasks) {
    for (const auto& input : task.after) {
      if (std::cmp_greater_equal(input.task, facts.tasks.size()))
        throw std::runtime_error("a task comes after a task that does not exist");
    }
  }
  return facts;
}

// The date when the last group of a namespace finished.
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

// For the `shards` shards from `first` on, numbered from 0.
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

Unverifiable unrelated_files(const fs::path& folder, std::string_view why) {
  return {fmt::format("{}: {}", folder.string(), why),
          "its files do not belong together: run the scenario again"};
}

Unverifiable unfit_summary(const fs::path& folder, const Json::exception& error) {
  const std::string_view what = error.what();  // begins with the number of the library in brackets
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
  if (rule.waits_for_all()) return 0;
  return rule.waits_for(Gate::staleness) ? std::optional(rule.bound.highest_at(clock)) : std::nullopt;
}

std::string Facts::name_of(std::uint32_t node) const {
  if (node == 0) return "scheduler";
  if (is_server(node)) return fmt::format("server {}", node - 1);
  if (is_worker(node)) return fmt::format("worker {}", first_worker + worker(node));
  const std::size_t other = node - 1 - servers - workers;
  return other < others.size() ? others[other] : fmt::format("node {}", node);
}

namespace {

// Whether the event concerns one shard. Other events have shard 0.
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
  if (!is_file(database_.path()) || !is_file(scenario) || !is_file(summary_file))
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
    facts = facts_in(database_, "NULL");
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
    if (summary.contains("groups")) read_jobs();
    else facts.last_workers = {facts.workers - 1};
  } catch (const std::exception& error) {
    throw unrelated_files(folder, error.what());
  }
}

void RunRecord::read_jobs() {
  query(
      database_,
      "SELECT namespace, min(number), min(first_worker), first_shard, shards FROM worker_group "
      "GROUP BY namespace ORDER BY namespace",
      [&](sqlite3_stmt* row) {
        Job job{.facts = facts_in(database_, text(row, 0)), .summary = {}};
        job.facts.first_worker = id_in(row, 2);
        job.facts.shard_bounds = bounds_in(summary, id_in(row, 3), id_in(row, 4));
        job.first_shard = id_in(row, 3);
        job.shards = id_in(row, 4);
        job.summary = summary["groups"].at(id_in(row, 1));
        job.summary["stuck"] = summary.at("stuck");
        job.all_workers = facts.workers;
        job.facts.others = facts.others;
        job.facts.last_workers = {job.facts.workers - 1};
        facts.last_workers.push_back(job.facts.first_worker + job.facts.workers - 1);
        facts.job_ends.push_back(last_finish(summary["groups"], sqlite3_column_int64(row, 0)));
        if (job.facts.servers != facts.servers || job.facts.first_worker + job.facts.workers > facts.workers)
          throw std::runtime_error("the facts of a namespace do not fit the run's");
        jobs.push_back(std::move(job));
      });
}

namespace {

// The columns that checks use, and their members of Row.
using Member = std::variant<double Row::*, std::int64_t Row::*, std::uint64_t Row::*, std::uint32_t Row::*,
                            std::string_view Row::*, Name Row::*>;
constexpr std::pair<std::string_view, Member> event_columns[]{
    {"phase", &Row::type},
    {"outcome", &Row::type},
    {"kind", &Row::kind},
    {"role", &Row::role},
    {"work", &Row::work},
    {"reason", &Row::reason},
    {"cause", &Row::cause},
    {"spent", &Row::spent},
    {"number", &Row::number},
    {"at_s", &Row::at},
    {"since_s", &Row::since},
    {"node", &Row::node},
    {"receiver", &Row::peer},
    {"sender", &Row::peer},
    {"worker", &Row::peer},
    {"server", &Row::peer},
    {"replica", &Row::peer},
    {"owner", &Row::peer},
    {"suspect", &Row::peer},
    {"holder", &Row::peer},
    {"target", &Row::peer},
    {"to_server", &Row::peer},
    {"message", &Row::sent},
    {"shard", &Row::shard},
    {"new_shard", &Row::new_shard},
    {"clock", &Row::clock},
    {"version", &Row::version},
    {"epoch", &Row::epoch},
    {"view", &Row::view},
    {"pull", &Row::pull},
    {"push", &Row::push},
    {"above", &Row::above},
    {"pushes_before", &Row::pushes_before},
    {"staleness_updates", &Row::staleness},
    {"samples", &Row::samples},
    {"samples_before", &Row::samples_before},
    {"part", &Row::part},
    {"parts", &Row::parts},
    {"applied_pushes", &Row::applied},
    {"arrived_pushes", &Row::arrived},
    {"skipped_clocks", &Row::skipped_clocks},
    {"takes_part", &Row::takes_part},
    {"is_awaited", &Row::is_awaited},
    {"pushes", &Row::safe_pushes},
    {"waiting_pushes", &Row::waiting_pushes},
    {"updated_in_epoch", &Row::updated_in},
    {"leaves", &Row::leaves},
    {"begins", &Row::begins},
    {"releaser", &Row::releaser},
    {"fault_table", &Row::fault_table},
    {"has_target", &Row::has_target},
    {"task", &Row::task},
    {"unit", &Row::unit},
    {"sent_bytes", &Row::bytes},
    {"weights_hash", &Row::weights_hash},
    {"state_hash", &Row::state_hash},
    {"carried_values", &Row::values},
    {"shard_values", &Row::values},
    {"new_values", &Row::new_values},
    {"from_server", &Row::from},
    {"carried_keys", &Row::keys},
    {"carried_ids", &Row::ids},
};
// The columns that all tables have, or that a query adds.
constexpr std::string_view of_all[] = {"number", "at_s", "node", "cause", "spent", "releaser", "has_target"};

constexpr bool is_declared(std::string_view column) {
  bool found = std::ranges::find(of_all, column) != std::end(of_all);
  for_each_subject([&]<class T>() {
    for_each_field<T>([&](const auto& field) { found = found || field.name == column; });
  });
  return found;
}
static_assert([] {
  for (const auto& [column, place] : event_columns)
    if (!is_declared(column)) return false;
  return true;
}());

constexpr std::int64_t no_more = std::numeric_limits<std::int64_t>::max();

// The rows of one table of events, in order.
class Stream {
 public:
  Stream(const InputDatabase& database, std::string_view table, bool is_detail)
      : table_(table), is_detail_(is_detail), query_(database, sql_of(table)) {
    for (int i = 0; i < sqlite3_column_count(query_.row()); ++i) {
      const std::string_view column = sqlite3_column_name(query_.row(), i);
      if (table == "release" && column == "sender") continue;  // the row concerns the pull of a worker
      const auto place =
          std::ranges::find(event_columns, column, &std::pair<std::string_view, Member>::first);
      if (place != std::end(event_columns)) places_.emplace_back(i, place->second);
    }
    advance();
  }
  const std::optional<Row>& row() const { return row_; }
  void advance() {
    if (query_.next()) read(row_.emplace());
    else row_.reset();
  }

 private:
  // An arrival or loss has the columns of its sending, except those that it has itself.
  static std::string sql_of(std::string_view table) {
    if (table == "release") return "SELECT *, sender AS releaser FROM release ORDER BY number";
    if (table == "fault") return "SELECT *, target IS NOT NULL AS has_target FROM fault ORDER BY number";
    if (table != "received" && table != "lost") return fmt::format("SELECT * FROM {} ORDER BY number", table);
    return fmt::format(
        "SELECT sent.*, {1}, {0}.* FROM {0} LEFT JOIN sent ON sent.number = message ORDER BY {0}.number",
        table, table == "received" ? "sent.node AS sender" : "receiver");
  }
  void read(Row& row) {
    row.table = table_;
    row.is_detail = is_detail_;
    row.type = Name::of(table_);
    for (const std::pair<int, Member>& one : places_) {
      if (is_null(query_.row(), one.first)) continue;
      std::visit([&](auto member) { read_value(one.first, row.*member); }, one.second);
    }
  }
  template <class T>
  void read_value(int column, T& value) {
    if constexpr (std::is_same_v<T, double>) value = sqlite3_column_double(query_.row(), column);
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(sqlite3_column_int64(query_.row(), column));
    else if constexpr (std::is_same_v<T, Name>) value = Name::of(text(query_.row(), column));
    else value = *texts_.emplace(text(query_.row(), column)).first;
  }

  std::string_view table_;
  bool is_detail_;
  Query query_;
  std::vector<std::pair<int, Member>> places_;
  std::set<std::string, std::less<>> texts_;  // rows refer to them
  std::optional<Row> row_;
};

// Whether the nodes exist and have the right roles, and whether each number is possible in a run of `events`
// events. Checks rely on this.
bool fits(const Row& row, const Facts& facts, std::int64_t nodes, std::int64_t events) {
  const auto reached = [events](auto... numbers) { return ((numbers >= -1 && numbers <= events) && ...); };
  if (row.node >= nodes || row.peer >= nodes || row.releaser >= nodes || row.type == Name() ||
      row.number < 0 || !reached(row.sent, row.number))
    return false;
  const bool by_server = facts.is_server(row.node), by_worker = facts.is_worker(row.node),
             on_worker = facts.is_worker(row.peer);
  if (row.is("received") || row.is("lost") || row.is("wait")) {
    if (row.sent < 0) return false;
  }
  if (row.is("received", "push")) return !by_server || (on_worker && reached(row.push));
  if (row.is_outcome()) return by_server && on_worker && reached(row.push, row.version);
  if (row.is_computation() || row.is("finish")) return by_worker;
  if (row.is("membership")) return by_server && on_worker && reached(row.arrived, row.applied);
  if (row.is("acknowledgement")) return by_worker && reached(row.safe_pushes);
  if (row.is("copy") || row.is("promotion")) return by_server && !on_worker && reached(row.version);
  if (row.table == "task")
    return row.task >= 0 && row.task < std::ssize(facts.tasks) && row.unit >= -1 && reached(row.clock);
  if (row.is("participant") || row.is("slow_worker")) return on_worker;
  if (row.is("place") || row.is("move"))
    return facts.is_server(row.peer) && (row.is("place") || facts.is_server(row.from));
  if (row.is("suspicion")) return row.peer <= facts.servers + facts.workers;
  return !row.is("model_update") || reached(row.version);
}

}  // namespace

std::int64_t each_event(const RunRecord& run, const std::function<void(const Row&)>& on_row) {
  std::int64_t count = 0, events = 0;
  std::vector<Stream> streams;
  streams.reserve(event_table_names.size());  // rows refer to texts in them
  for_each_subject([&]<class T>() {
    query(run.database(), fmt::format("SELECT count(*) FROM {}", T::table),
          [&](sqlite3_stmt* row) { events += sqlite3_column_int64(row, 0); });
    streams.emplace_back(run.database(), T::table, in_chain<T>() == InChain::detail);
  });
  for (;;) {
    const auto order = [](const Stream& stream) { return stream.row() ? stream.row()->number : no_more; };
    const auto next = std::ranges::min_element(streams, {}, order);
    if (!next->row()) return count;
    const Row& event = *next->row();
    if (!fits(event, run.facts, std::ssize(run.names), events))
      throw Unverifiable(
          fmt::format("{}: event {} does not fit the scenario", run.database().path().string(), event.number),
          damaged);
    ++count;
    on_row(event);
    next->advance();
  }
}

}  // namespace psim::analysis
