#include "sim/record/run_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

#include "model/input_database.hpp"
#include "model/mutant.hpp"
#include "sim/record/event_fields.hpp"
#include "sim/record/serving.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr std::size_t block = 16384;      // hashes to a row
constexpr std::size_t batch_size = 1024;  // events; they stay in the cache of a core
static_assert(block % batch_size == 0);
constexpr std::size_t rows_of_many = 16;    // in one statement, which takes two thirds of the time of so many
constexpr int application_id = 0x7073696d;  // "psim": by this, a run is told from somebody else's database

const char* const schema =
#include "sim/record/schema.sql.inc"
    ;

// A disk that is full or broken is said to be so, with its file.
[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  const int code = db == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db) & 0xff;
  const char* file = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
  if ((code == SQLITE_FULL || code == SQLITE_IOERR) && file != nullptr) {
    const int error = sqlite3_system_errno(db), usual = code == SQLITE_FULL ? ENOSPC : EIO;
    throw std::filesystem::filesystem_error(
        "write", file, std::error_code(error == 0 ? usual : error, std::generic_category()));
  }
  throw std::runtime_error(fmt::format("{}: {}", what, db == nullptr ? "out of memory" : sqlite3_errmsg(db)));
}

}  // namespace

TraceLevel trace_level(std::string_view name) {
  return name == "none" ? TraceLevel::none : name == "events" ? TraceLevel::events : TraceLevel::steps;
}

// A prepared statement; values are bound by position.
class RunFile::Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) fail(db, sql);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <class... Values>
  void operator()(const Values&... values) {
    int position = 0;
    (bind(++position, values), ...);
    execute();
  }
  void execute() {
    if (sqlite3_step(statement_) != SQLITE_DONE) fail(db_, "run.db");
    sqlite3_reset(statement_);
  }
  // A column that has no value keeps none from one row to the next: most events have few of their columns.
  template <class T>
  void bind(int i, const std::optional<T>& value) {
    const auto column = static_cast<std::size_t>(i);
    if (column >= has_value_.size()) has_value_.resize(column + 1, true);
    if (value) bind(i, *value);
    else if (has_value_[column]) sqlite3_bind_null(statement_, i);
    has_value_[column] = value.has_value();
  }
  template <class T>
  void bind(int i, const T& value) {
    if constexpr (std::is_floating_point_v<T>) sqlite3_bind_double(statement_, i, value);
    else if constexpr (std::is_integral_v<T>)
      sqlite3_bind_int64(statement_, i, static_cast<sqlite3_int64>(value));
    else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
      sqlite3_bind_blob64(statement_, i, value.data(), value.size() * sizeof(std::uint32_t),
                          SQLITE_TRANSIENT);
    } else if constexpr (Named<T>) {
      const std::string_view name = name_in(value);  // which lives as long as the program
      sqlite3_bind_text(statement_, i, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
    } else {
      const std::string_view text(value);
      sqlite3_bind_text(statement_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<bool> has_value_;  // by column
};

RunFile::RunFile(const std::filesystem::path& path, TraceLevel level, const Scenario& scenario)
    : level_(level),
      servers_(static_cast<std::uint32_t>(scenario.cluster.servers)),
      begun_(static_cast<std::size_t>(scenario.cluster.workers)),
      writer_([this](const Batch& batch) { write(batch); }) {
  for (std::uint32_t node = 0; node < node_count(scenario.cluster); ++node)
    nodes_.push_back(node_name(scenario.cluster, node));
  for (const GroupSpec& group : scenario.groups) groups_.push_back(group.name);
  if (const auto& window = scenario.cluster.inference.window) serving_window_ = window->value;
  sqlite3* db = nullptr;
  // One thread uses it at a time.
  const int result = sqlite3_open_v2(
      path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(db);  // to be closed even if it could not be opened
  if (result != SQLITE_OK) fail(db, path.string());
  // The file appears under its name only when it is complete, so it needs no journal.
  execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096; PRAGMA locking_mode = "
      "EXCLUSIVE;");
  execute(fmt::format("PRAGMA application_id = {};", application_id));
  execute(schema + event_tables());
  execute("BEGIN");
  for_each_subject([this, db, i = std::size_t{0}]<class T>() mutable {
    std::string row = "(?,?,?";
    for_each_field<T>([&row](const auto&) { row += ",?"; });
    row += ")";
    const std::string one = fmt::format("INSERT INTO {} VALUES {}", T::table, row);
    std::string many = one;
    for (std::size_t n = 1; n < rows_of_many; ++n) many += "," + row;
    insert_[i++] = {std::make_unique<Statement>(db, one.c_str()),
                    std::make_unique<Statement>(db, many.c_str())};
  });
  insert_step_ = std::make_unique<Statement>(db, "INSERT INTO step VALUES (?,?,?,?,?,?)");
  insert_wire_ = std::make_unique<Statement>(db, "INSERT INTO wire VALUES (?,?,?)");
  insert_hash_ = std::make_unique<Statement>(db, "INSERT INTO event_hash VALUES (?,?)");
}

RunFile::~RunFile() = default;

void RunFile::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

void RunFile::execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db_.get(), "run.db");
}

void RunFile::on(const Event& e, std::uint64_t hash) {
  batch_.hashes.push_back(static_cast<std::uint32_t>(hash));
  const bool is_kept =
      level_ == TraceLevel::events || (level_ == TraceLevel::steps && e.as<Computation>() != nullptr);
  if (is_kept) batch_.events.push_back(e);
  if (batch_.hashes.size() == batch_size) writer_.add(std::exchange(batch_, new_batch()));
}

RunFile::Batch RunFile::new_batch() const {
  Batch batch;
  batch.hashes.reserve(batch_size);
  if (level_ == TraceLevel::events) batch.events.reserve(batch_size);
  return batch;
}

void RunFile::on_wire(std::uint64_t message, double begin, double end) {
  if (level_ == TraceLevel::events && !mutant("dates-on-the-wire-are-forgotten"))
    batch_.wires.push_back({message, begin, end});
}

void RunFile::write(const Batch& batch) {
  hashes_.insert(hashes_.end(), batch.hashes.begin(), batch.hashes.end());
  if (hashes_.size() == block) write_hashes();
  for (const Event& e : batch.events) {
    const Computation* what = e.as<Computation>();
    if (what != nullptr && what->work == Work::step) write_step(e.at, e.node - 1 - servers_, *what);
    if (level_ == TraceLevel::events) of_type_[e.what.index()].emplace_back(events_++, &e);
  }
  for (std::size_t type = 0; type < of_type_.size(); ++type) {
    write_events(type, of_type_[type]);
    of_type_[type].clear();
  }
  for (const auto& [message, begin, end] : batch.wires) (*insert_wire_)(message, begin, end);
}

void RunFile::write_hashes() {
  (*insert_hash_)(blocks_++, hashes_);
  hashes_.clear();
}

void RunFile::write_events(std::size_t type, const Events& events) {
  std::size_t written = 0;
  const auto write_rows = [&](Statement& insert, std::size_t rows) {
    int column = 0;
    for (; rows > 0; --rows) {
      const auto& [number, event] = events[written++];
      insert.bind(++column, number);
      insert.bind(++column, event->at);
      insert.bind(++column, event->node);
      std::visit(
          [&]<class T>(const T& what) {
            for_each_field<T>([&](const auto& field) { insert.bind(++column, what.*field.member); });
          },
          event->what);
      if (const Sent* message = event->as<Sent>()) connections_.add(message->from, message->to);
    }
    insert.execute();
  };
  while (events.size() - written >= rows_of_many) write_rows(*insert_[type].many, rows_of_many);
  while (written < events.size()) write_rows(*insert_[type].one, 1);
}

void RunFile::write_step(double at, std::uint32_t worker, const Computation& what) {
  if (what.phase == ComputePhase::begun) begun_[worker] = {at, what};
  const bool is_over = what.phase == ComputePhase::ended || what.phase == ComputePhase::cancelled ||
                       what.phase == ComputePhase::killed;
  if (!is_over) return;
  const std::optional<Step> begin = std::exchange(begun_[worker], std::nullopt);
  if (!begin) return;  // a crash stops a worker whether it computes or not
  (*insert_step_)(worker, begin->what.clock, begin->begin, at, what.phase == ComputePhase::ended,
                  begin->what.version);
}

void RunFile::finish(const RunResult& result, const std::map<std::string, std::string>& meta,
                     const std::map<std::string, std::string>& host) {
  close_events();
  Statement put_meta(db_.get(), "INSERT INTO meta VALUES (?,?)"),
      put_host(db_.get(), "INSERT INTO host VALUES (?,?)");
  for (const auto& [key, value] : meta) put_meta(key, value);
  for (const auto& [key, value] : host) put_host(key, value);
  Statement put_node(db_.get(), "INSERT INTO node VALUES (?,?,?)");
  std::map<std::string, std::int64_t> of_role;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const std::string role = nodes_[n].substr(0, nodes_[n].find(' '));
    put_node(n, role, of_role[role]++);
  }
  Statement put_server(db_.get(), "INSERT INTO server VALUES (?,?,?,?,?,?)");
  for (std::uint32_t s = 0; s < servers_; ++s) {
    const ServerStats& server = result.stats.servers[s];
    put_server(s, result.stats.server_updates(s), result.server_parameters[s].at_end, server.pushes,
               server.bytes_sent, server.bytes_received);
  }
  Statement put_worker(db_.get(), "INSERT INTO worker VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t w = 0; w < result.stats.workers.size(); ++w) {
    const WorkerStats& worker = result.stats.workers[w];
    put_worker(w, worker.clocks, worker.cancelled, worker.mean_step(), worker.time.compute,
               worker.time.network, worker.time.wait, worker.time.absent, worker.samples,
               worker.here_at_first ? 1 : 0);
  }
  write_staleness(result);
  Statement put_point(db_.get(), "INSERT INTO evaluation VALUES (?,?,?,?,?,?,?,?)");
  const auto put = [&](const CurvePoint& p, const Evaluation& found, std::size_t space, DataPart over) {
    put_point(p.at, p.updates, p.epoch, p.bytes, found.loss, found.accuracy, space, name_of(over));
  };
  const auto put_training = [&](const auto& training, std::size_t space) {
    for (const CurvePoint& p : training.curve) put(p, p.result, space, training.judged_on);
    if (training.tested) put(training.curve.back(), *training.tested, space, DataPart::test);
  };
  if (result.spaces.empty()) put_training(result, 0);
  for (std::size_t n = 0; n < result.spaces.size(); ++n) put_training(result.spaces[n], n);
  write_groups(result);
  if (result.inference) write_serving(*result.inference, result.sim_time);
  execute("COMMIT");
}

void RunFile::write_staleness(const RunResult& result) {
  Statement put(db_.get(), "INSERT INTO staleness VALUES (?,?,?,?)");
  for (std::size_t w = 0; w < result.stats.workers.size(); ++w) {
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> both;
    const StalenessCounts& counts = result.stats.workers[w].staleness;
    for (const auto& [updates, pushes] : counts.applied) both[updates].first = pushes;
    for (const auto& [updates, pushes] : counts.dropped) both[updates].second = pushes;
    for (const auto& [updates, pushes] : both) put(w, updates, pushes.first, pushes.second);
  }
}

void RunFile::close_events() {
  writer_.close();
  if (!batch_.hashes.empty()) write(std::exchange(batch_, {}));
  if (!hashes_.empty()) write_hashes();
}

const Connections& RunFile::connections() {
  close_events();
  return connections_;
}

void RunFile::write_links(const LinkMap& map) {
  Statement put_link(db_.get(), "INSERT INTO link VALUES (?,?,?,?,?)"),
      put_hop(db_.get(), "INSERT INTO hop VALUES (?,?,?,?)"),
      put_ends(db_.get(), "INSERT INTO ends VALUES (?,?,?,?,?)");
  for (std::size_t i = 0; i < map.links.size(); ++i) {
    const LinkMap::Link& link = map.links[i];
    put_link(i, link.name, link.bandwidth, link.latency, link.is_shared);
  }
  for (const LinkMap::Hop& hop : map.hops) put_hop(hop.sender, hop.receiver, hop.position, hop.link);
  put_ends(map.ends.window, map.ends.send_overhead, map.ends.send_bandwidth, map.ends.receive_overhead,
           map.ends.receive_bandwidth);
}

void RunFile::write_serving(const InferenceStats& stats, double end) {
  Statement put(db_.get(), "INSERT INTO serving VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (const ServingWindow& w : served_over_time(stats, serving_window_, end)) {
    const bool any = w.answered > 0;
    const auto of_answers = [any](auto most) { return any ? std::optional(most) : std::nullopt; };
    put(w.begin, w.end, w.requests, w.answered, w.mean(w.latency_sum), of_answers(w.latency_max),
        w.mean(w.staleness_sum), of_answers(w.staleness_max), w.mean(w.age_sum), of_answers(w.age_max));
  }
}

void RunFile::write_groups(const RunResult& result) {
  Statement put_group(db_.get(), "INSERT INTO worker_group VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t n = 0; n < result.spaces.size(); ++n) {
    const SpaceStats& space = result.stats.spaces[n];
    for (const std::size_t g : result.spaces[n].groups) {
      const GroupStats& group = result.stats.groups[g];
      put_group(g, groups_[g], n, group.first_worker, group.workers, space.first_shard, space.shards,
                result.stats.updates(n), group.finished, group.bytes_sent);
    }
  }
}

namespace {

// Calls `row` with each row of `sql`.
template <class F>
void query(const std::filesystem::path& path, const std::string& sql, F&& row) try {
  InputRows rows(path, sql);
  while (rows.next()) row(rows.row());
} catch (const InputError& error) {
  throw DamagedRun(error.what());
}

std::string text(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? "" : reinterpret_cast<const char*>(value);
}

template <class T>
void read(sqlite3_stmt* row, int column, T& value) {
  if constexpr (OptionalOf<T>::value) {
    if (sqlite3_column_type(row, column) != SQLITE_NULL) read(row, column, value.emplace());
  } else if constexpr (Named<T>) {
    value = value_of(value, text(row, column));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = sqlite3_column_double(row, column);
  } else {
    value = static_cast<T>(sqlite3_column_int64(row, column));
  }
}

}  // namespace

std::map<std::string, std::string> recorded_meta(const std::filesystem::path& run_db) {
  std::map<std::string, std::string> meta;
  query(run_db, "SELECT key, value FROM meta", [&](sqlite3_stmt* row) { meta[text(row, 0)] = text(row, 1); });
  return meta;
}

RecordedRun::RecordedRun(const std::filesystem::path& run_db) : meta(recorded_meta(run_db)), path_(run_db) {
  query(path_, "SELECT key, value FROM host", [&](sqlite3_stmt* row) { host[text(row, 0)] = text(row, 1); });
  query(path_, "SELECT hashes FROM event_hash ORDER BY block", [&](sqlite3_stmt* row) {
    const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(row, 0));
    if (bytes == 0) return;
    const std::size_t before = hashes.size(), more = bytes / sizeof hashes[0];
    hashes.resize(before + more);
    std::memcpy(hashes.data() + before, sqlite3_column_blob(row, 0), more * sizeof hashes[0]);
  });
}

std::optional<Event> RecordedRun::event(std::int64_t number) const {
  std::optional<Event> found;
  for_each_subject([&]<class T>() {
    if (found) return;
    query(path_, fmt::format("SELECT * FROM {} WHERE number = {}", T::table, number), [&](sqlite3_stmt* row) {
      T what;
      int column = 2;
      for_each_field<T>([&](const auto& field) { read(row, ++column, what.*field.member); });
      found = {sqlite3_column_double(row, 1), static_cast<NodeId>(sqlite3_column_int64(row, 2)), what};
    });
  });
  return found;
}

}  // namespace psim
