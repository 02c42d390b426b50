#include "analysis/run_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>
#include <variant>

#include "analysis/database.hpp"
#include "sim/record/event_fields.hpp"

namespace psim::analysis {
namespace fs = std::filesystem;
namespace {

// The columns that checks use, and their members of Row.
using Place = std::variant<double Row::*, std::int64_t Row::*, std::uint64_t Row::*, std::uint32_t Row::*,
                           std::string_view Row::*, Name Row::*>;
constexpr std::pair<std::string_view, Place> columns[]{
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
  for (const auto& [column, place] : columns)
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
      const auto place = std::ranges::find(columns, column, &std::pair<std::string_view, Place>::first);
      if (place != std::end(columns)) places_.emplace_back(i, place->second);
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
    for (const std::pair<int, Place>& one : places_) {
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
  std::vector<std::pair<int, Place>> places_;
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
