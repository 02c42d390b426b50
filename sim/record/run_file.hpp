// run.db: a run as tables that a student can query (schema.sql). RunFile is an event sink during the run and
// adds the totals at its end. A separate thread writes (BatchWriter), so tracing costs hardly any time
// if a core is free.
#pragma once

#include <fmt/format.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "model/base/database.hpp"
#include "model/base/enum_names.hpp"
#include "sim/record/link_map.hpp"
#include "sim/record/result.hpp"
#include "sim/scenario/load.hpp"

namespace psim {

// Writes batches in order on its own thread, so the written data does not depend on timing.
template <class Batch>
class BatchWriter {
 public:
  explicit BatchWriter(std::function<void(const Batch&)> write) : write_(std::move(write)) {}
  ~BatchWriter() { stop(); }
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // Waits while `most` batches are unwritten, so that a slow disk does not fill the memory. Rethrows the
  // exception of an earlier batch.
  void add(Batch&& batch) {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < most || failure_; });
    if (failure_) std::rethrow_exception(failure_);
    waiting_.push_back(std::move(batch));
    changed_.notify_all();
  }

  // Waits until all batches are written and ends the thread. Rethrows as add() does.
  void close() {
    stop();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    thread_.join();
    closed_ = false;
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Batch batch = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      std::exception_ptr failure;
      try {
        write_(batch);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (!failure) continue;
      failure_ = failure;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }

  static constexpr std::size_t most = 16;
  std::function<void(const Batch&)> write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> waiting_;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

// Fills a table of run.db. The first row prepares its statements, because few runs fill all tables.
class TableWriter {
 public:
  TableWriter(const OutputDatabase& db, std::string table, std::size_t columns)
      : db_(db), table_(std::move(table)), columns_(columns) {}

  template <class... Values>
  void add(const Values&... values) {
    prepared(one_, 1)(values...);
  }

  // Calls `bind(statement, column, row)` for each row. `bind` binds the row's values from `column` + 1 on and
  // increments `column`.
  template <class Rows, class Bind>
  void write(const Rows& rows, Bind bind) {
    std::size_t written = 0;
    const auto write_rows = [&](Statement& statement, std::size_t more) {
      int column = 0;
      for (; more > 0; --more) bind(statement, column, rows[written++]);
      statement.execute();
    };
    while (rows.size() - written >= rows_of_many) write_rows(prepared(many_, rows_of_many), rows_of_many);
    while (written < rows.size()) write_rows(prepared(one_, 1), 1);
  }

 private:
  static constexpr std::size_t rows_of_many = 16;  // in one statement: a third faster

  Statement& prepared(std::optional<Statement>& statement, std::size_t rows) const {
    if (!statement) {
      std::string row = "(?";
      for (std::size_t n = 1; n < columns_; ++n) row += ",?";
      std::string sql = fmt::format("INSERT INTO {} VALUES {})", table_, row);
      for (std::size_t n = 1; n < rows; ++n) sql += "," + row + ")";
      statement.emplace(db_, sql);
    }
    return *statement;
  }

  const OutputDatabase& db_;
  std::string table_;
  std::size_t columns_;
  std::optional<Statement> one_, many_;
};

enum class TraceLevel { none, steps, events };
inline constexpr auto trace_names = enum_names<TraceLevel>();
// The level of this name; steps for an unknown name.
TraceLevel trace_level(std::string_view name);

class RunFile final : public EventSink {
 public:
  // Creates the file; throws std::runtime_error if it cannot. `jobs`: the scenarios of the namespaces, if
  // there are several.
  RunFile(const std::filesystem::path& path, TraceLevel level, const Scenario& scenario,
          const std::vector<LoadedJob>& jobs = {});
  ~RunFile() override;

  void on(const Event& event, std::uint64_t hash) override;
  void on_wire(std::uint64_t message, double begin, double end) override;
  void on_dependency(std::uint64_t event, const Dependency& need) override;
  void on_service(const Service& work) override;
  void on_step(const StepCost& cost) override;
  void on_rate(const Rate& rate) override;
  bool wants_spans() const override { return level_ == TraceLevel::events; }
  void on_span(NodeId node, const Span& span) override;
  void finish(const RunResult& result, const std::map<std::string, std::string>& meta,
              const std::map<std::string, std::string>& host);
  // At level `events`, after the run and before finish(): the connections that messages used. The links that
  // they crossed follow with write_links().
  const Connections& connections();
  void write_links(const LinkMap& map);
  // Before finish().
  void write_without_faults(const std::vector<WithoutFault>& runs);

 private:
  void write_facts(std::optional<std::int64_t> space, const Scenario& scenario);
  // A part of the run, in its order.
  struct Batch {
    std::vector<std::uint32_t> hashes = {};
    std::vector<Event> events = {};  // events that the level keeps
    struct Wire {
      std::uint64_t message;
      double begin, end;
    };
    std::vector<Wire> wires = {};
    std::vector<std::pair<std::uint64_t, Dependency>> dependencies = {};
    std::vector<Service> services = {};
    std::vector<StepCost> costs = {};
    std::vector<Rate> rates = {};
    std::vector<std::pair<NodeId, Span>> spans = {};
  };
  Batch new_batch() const;
  void write(const Batch& batch);
  void write_hashes();
  void close_events();
  // Events of one type, with their numbers.
  using Events = std::vector<std::pair<std::int64_t, const Event*>>;
  void write_events(std::size_t type, const Events& events);
  void write_step(double at, std::uint32_t worker, const Computation& what);
  void write_groups(const RunResult& result);
  void write_staleness(const RunResult& result);
  void write_serving(const InferenceStats& stats, double end);

  OutputDatabase db_;  // before the statements: closed after them
  TraceLevel level_;
  std::uint32_t servers_;
  std::vector<std::string> nodes_, groups_;  // their names
  std::optional<double> serving_window_;
  std::int64_t events_ = 0, blocks_ = 0;
  std::vector<std::uint32_t> hashes_;  // hashes of the next row
  struct Step {
    double begin = 0;
    Computation what = {};
  };
  std::vector<std::optional<Step>> begun_;  // per worker: the unfinished step
  TableWriter steps_, hash_rows_, wires_, services_, dependencies_, costs_, rates_, spans_;
  std::deque<TableWriter> events_of_type_;
  std::array<Events, std::variant_size_v<Subject>> of_type_;  // the events of a batch
  Connections connections_;                                   // at level `events`
  Batch batch_;
  BatchWriter<Batch> writer_;  // last: its thread uses the rest
};

// A file of a run has other contents than psim writes.
struct DamagedRun : UserError {
  explicit DamagedRun(const std::string& what) : UserError(what, damaged) {}
};

// The table `meta` of a run.db. Throws InputError.
std::map<std::string, std::string> recorded_meta(const std::filesystem::path& run_db);

// The recorded hashes of a finished run, for replay, and its meta and host tables.
class RecordedRun {
 public:
  explicit RecordedRun(const std::filesystem::path& run_db);  // throws InputError
  std::vector<std::uint32_t> hashes;
  std::map<std::string, std::string> meta, host;
  // The recorded event `number`, if the run was traced at level `events`.
  std::optional<Event> event(std::int64_t number) const;

 private:
  InputDatabase database_;
};

}  // namespace psim
