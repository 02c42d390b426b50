#include "analysis/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "analysis/run_files.hpp"
#include "model/base/database.hpp"

namespace psim::analysis {

namespace fs = std::filesystem;
namespace {

// Checks that the scenario and the run have the same nodes. Returns the names of the nodes after the workers.
std::vector<std::string> other_nodes(const InputDatabase& database, const Facts& facts) {
  std::uint32_t servers = 0, workers = 0;
  std::vector<std::string> others;
  query(database, "SELECT role, number FROM node ORDER BY node", [&](sqlite3_stmt* row) {
    const std::string_view role = text_in(row, 0);
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
        [&](sqlite3_stmt* row) { rows.emplace_back(text_in(row, 0), text_in(row, 1)); });
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
    if (const std::optional<std::int64_t> bound = bound_at(clock, shard))
      least = std::min(least.value_or(*bound), *bound);
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
  if (row.has_shard && !of_shard) return std::nullopt;
  const auto renumber = [&](auto& what) {
    for_each_node(what, [&](std::uint32_t& node) { node = moved(node); });
    if constexpr (requires { what.shard; })
      with_value(what.shard, [&](auto& shard) { shard -= first_shard; });
  };
  Event event = row.event;
  std::optional<Sent> message = row.message;
  event.node = moved(row.node);
  std::visit(renumber, event.what);
  if (message) renumber(*message);
  return Row(row.number, event, message);
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
        [&](sqlite3_stmt* row) { trace = text_in(row, 0); });
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
        Job job{.facts = facts_in(database_, text_in(row, 0)), .summary = {}};
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

std::string_view What::name() const {
  if (!is_event()) return "";
  if (is<Computation>()) return phase_names[kind_];
  if (is<PushOutcome>()) return outcome_names[kind_];
  return is<TaskChange>() ? task_phase_names[kind_] : event_table_names[type_];
}

std::string_view What::word() const {
  if (is<Computation>()) return name_in(work_);
  if (is<FaultChange>()) return fault()->name;
  if (kind_ == none || is<PushOutcome>() || is<TaskChange>()) return "";
  return is<Release>() ? reason_names[kind_] : message_names[kind_];
}

template <class T>
void What::take_type(const T& what) {
  type_ = subject_number<T>;
  if constexpr (std::derived_from<T, Movement>) return;
  else if constexpr (requires { what.kind; }) kind_ = static_cast<std::uint8_t>(index_in(what.kind));
  else if constexpr (requires { what.phase; }) kind_ = static_cast<std::uint8_t>(what.phase);
  else if constexpr (requires { what.outcome; }) kind_ = static_cast<std::uint8_t>(what.outcome);
  else if constexpr (requires { what.reason; }) kind_ = static_cast<std::uint8_t>(what.reason);
  if constexpr (requires { what.work; }) work_ = what.work;
}

Row::Row(std::int64_t its_number, Event its_event, std::optional<Sent> its_message)
    : event(std::move(its_event)), message(std::move(its_message)) {
  number = its_number;
  at = event.at;
  node = event.node;
  if (message) take(*message);
  std::visit([this](const auto& what) { take(what); }, event.what);
}

template <class T>
void Row::take(const T& what) {
  const auto set = [](auto& member, const auto& value) {
    with_value(value, [&member](auto known) { member = static_cast<std::decay_t<decltype(member)>>(known); });
  };
  take_type(what);
  is_detail = in_chain<T>() == InChain::detail;
  bool is_first = true;
  for_each_node(what, [&](std::uint32_t other) {
    if (std::exchange(is_first, false)) peer = other;
  });
  if constexpr (std::same_as<T, Received>) peer = what.from;
  if constexpr (requires { what.shard; }) with_value(what.shard, [this](const auto&) { has_shard = true; });
  if constexpr (requires { what.shard; }) set(shard, what.shard);
  if constexpr (requires { what.since; }) set(since, what.since);
  if constexpr (requires { what.part; }) set(part, what.part);
  if constexpr (requires { what.message; }) set(sent, what.message);
  if constexpr (requires { what.clock; }) set(clock, what.clock);
  if constexpr (requires { what.version; }) set(version, what.version);
  if constexpr (requires { what.staleness; }) set(staleness, what.staleness);
  if constexpr (requires { what.bytes; }) set(bytes, what.bytes);
  if constexpr (requires { what.begins; }) set(begins, what.begins);
  if constexpr (requires { what.epoch; }) set(epoch, what.epoch);
  if constexpr (requires { what.view; }) set(view, what.view);
  if constexpr (requires { what.pull; }) set(pull, what.pull);
  if constexpr (requires { what.push; }) set(push, what.push);
  if constexpr (requires { what.samples; }) set(samples, what.samples);
  if constexpr (requires { what.values; }) set(values, what.values);
}

namespace {

constexpr std::int64_t no_more = std::numeric_limits<std::int64_t>::max();

Unverifiable impossible(const InputDatabase& database, std::int64_t event) {
  return {fmt::format("{}: event {} does not fit the scenario", database.path().string(), event), damaged};
}

template <class T>
constexpr bool is_movement = std::derived_from<T, Movement>;

// The rows of T's events, in order. An arrival or loss has the columns of its sending, too.
template <class T>
std::string sql_of() {
  if constexpr (is_movement<T>)
    return fmt::format("SELECT * FROM {0} LEFT JOIN sent ON sent.number = message ORDER BY {0}.number",
                       T::table);
  else return fmt::format("SELECT * FROM {} ORDER BY number", T::table);
}

// None for an event with an unknown name.
template <class T>
std::optional<Row> row_in(sqlite3_stmt* row) {
  std::optional<Event> event = event_in<T>(row);
  if (!event) return std::nullopt;
  std::optional<Sent> message;
  if constexpr (is_movement<T>) {
    if (const std::optional<Event> sending = event_in<Sent>(row, columns_of<T>)) {
      message = std::get<Sent>(sending->what);
      T& what = std::get<T>(event->what);
      what.kind = message->kind;
      what.from = message->from;
      what.to = message->to;
      what.bytes = message->bytes;
    }
  }
  return Row(sqlite3_column_int64(row, 0), *event, message);
}

// The events of one type, in order.
class Stream {
 public:
  using Read = std::optional<Row>(sqlite3_stmt*);
  Stream(const InputDatabase& database, const std::string& sql, int columns, Read* read)
      : database_(database), rows_(database, sql), read_(read) {
    if (sqlite3_column_count(rows_.row()) != columns)
      throw Unverifiable(fmt::format("{}: a table of events has other columns", database.path().string()),
                         damaged);
    advance();
  }
  const std::optional<Row>& row() const { return row_; }
  void advance() {
    row_.reset();
    if (!rows_.next()) return;
    row_ = read_(rows_.row());
    if (!row_) throw impossible(database_, sqlite3_column_int64(rows_.row(), 0));
  }

 private:
  const InputDatabase& database_;
  InputRows rows_;
  Read* read_;
  std::optional<Row> row_;
};

// Whether the nodes exist and have the right roles, and whether each number is possible in a run of `events`
// events. Checks rely on this.
bool fits(const Row& row, const Facts& facts, std::int64_t nodes, std::int64_t events) {
  const auto reached = [events](auto... numbers) { return ((numbers >= -1 && numbers <= events) && ...); };
  bool is_here = row.node < nodes;
  const auto look_at = [&](const auto& what) {
    for_each_node(what, [&](std::uint32_t node) { is_here = is_here && node < nodes; });
  };
  std::visit(look_at, row.event.what);
  if (!is_here || row.number < 0 || !reached(row.sent, row.number)) return false;
  const bool by_server = facts.is_server(row.node), by_worker = facts.is_worker(row.node),
             on_worker = facts.is_worker(row.peer);
  if (row.is<Received, Lost, Wait>() && row.sent < 0) return false;
  if (row.is<Received>(MessageKind::push)) return !by_server || (on_worker && reached(row.push));
  if (row.is<PushOutcome>()) return by_server && on_worker && reached(row.push, row.version);
  if (row.is<Computation, Finish>()) return by_worker;
  if (row.is<Recount>()) {
    const auto& count = row.as<Recount>();
    return by_server && on_worker && reached(count.arrived, count.applied);
  }
  if (row.is<Acknowledgement>()) return by_worker && reached(row.as<Acknowledgement>().pushes);
  if (row.is<Copy, Promotion>()) return by_server && !on_worker && reached(row.version);
  if (row.is<TaskChange>()) {
    const auto& [phase, task, clock, unit, worker, does] = row.as<TaskChange>();
    return task >= 0 && task < std::ssize(facts.tasks) && unit.value_or(0) >= 0 && reached(clock);
  }
  if (row.is<Participant, SlowWorker>()) return on_worker;
  if (row.is<ShardPlace>()) return facts.is_server(row.peer);
  if (row.is<ShardMove>()) return facts.is_server(row.peer) && facts.is_server(row.as<ShardMove>().from);
  if (row.is<Suspicion>()) return row.peer <= facts.servers + facts.workers;
  return !row.is<ModelUpdate>() || reached(row.version);
}

}  // namespace

std::int64_t each_event(const RunRecord& run, const std::function<void(const Row&)>& on_row) {
  if (run.rows_) {
    for (const Row& row : *run.rows_) on_row(row);
    return std::ssize(*run.rows_);
  }
  constexpr std::int64_t most_kept = 100'000;  // rows of 300 bytes
  std::vector<Row> rows;
  std::int64_t count = 0, events = 0;
  std::deque<Stream> streams;
  for_each_subject([&]<class T>() {
    query(run.database(), fmt::format("SELECT count(*) FROM {}", T::table),
          [&](sqlite3_stmt* row) { events += sqlite3_column_int64(row, 0); });
    streams.emplace_back(run.database(), sql_of<T>(), columns_of<T> + (is_movement<T> ? columns_of<Sent> : 0),
                         &row_in<T>);
  });
  if (events <= most_kept) rows.reserve(static_cast<std::size_t>(events));
  for (;;) {
    const auto order = [](const Stream& stream) { return stream.row() ? stream.row()->number : no_more; };
    const auto next = std::ranges::min_element(streams, {}, order);
    if (!next->row()) break;
    const Row& event = *next->row();
    if (!fits(event, run.facts, std::ssize(run.names), events))
      throw impossible(run.database(), event.number);
    ++count;
    if (events <= most_kept) rows.push_back(event);
    on_row(event);
    next->advance();
  }
  if (events <= most_kept) run.rows_ = std::make_shared<const std::vector<Row>>(std::move(rows));
  return count;
}

}  // namespace psim::analysis
