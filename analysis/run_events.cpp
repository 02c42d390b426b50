// The events of a run, out of its tables and in their order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <variant>

#include "analysis/database.hpp"

namespace psim::analysis {
namespace fs = std::filesystem;
namespace {

// A table of events, and what its rows are: by the value of its first column, where it has several.
struct Table {
  std::string_view name;
  std::vector<std::pair<std::string_view, What>> kinds;
};
const std::vector<Table> tables{
    {"sent", {{"", What::sent}}},
    {"received", {{"", What::received}}},
    {"lost", {{"", What::lost}}},
    {"computation",
     {{"begun", What::begun},
      {"paused", What::paused},
      {"resumed", What::resumed},
      {"ended", What::ended},
      {"cancelled", What::cancelled},
      {"killed", What::killed}}},
    {"push_outcome",
     {{"applied", What::applied},
      {"late", What::late},
      {"unused", What::unused},
      {"duplicate", What::duplicate},
      {"refused", What::refused}}},
    {"model_update", {{"", What::update}}},
    {"finish", {{"", What::finish}}},
    {"acknowledgement", {{"", What::acknowledgement}}},
    {"suspicion", {{"", What::suspicion}}},
    {"view_change", {{"", What::view}}},
    {"place", {{"", What::place}}},
    {"participant", {{"", What::participant}}},
    {"snapshot", {{"", What::snapshot}}},
    {"copy", {{"", What::copy}}},
    {"promotion", {{"", What::promotion}}},
    {"membership", {{"", What::membership}}},
    {"fault", {{"", What::fault}}},
    {"prediction", {{"", What::other}}},
    {"repetition", {{"", What::other}}},
    {"wait", {{"", What::wait}}},
    {"release", {{"", What::release}}},
};

// The columns that checks look at, and where they stand in a Row.
using Place = std::variant<double Row::*, std::int64_t Row::*, std::uint64_t Row::*, std::uint32_t Row::*>;
const std::map<std::string_view, Place> columns{
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
    {"message", &Row::sent},
    {"shard", &Row::shard},
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
    {"sent_bytes", &Row::bytes},
    {"weights_hash", &Row::weights_hash},
    {"state_hash", &Row::state_hash},
    {"carried_values", &Row::values},
    {"carried_keys", &Row::keys},
    {"carried_ids", &Row::ids},
};
constexpr std::array<std::pair<std::string_view, Fault>, 2> faults{
    {{"crash", Fault::crash}, {"leave", Fault::leave}}};
constexpr std::array<std::pair<std::string_view, Letter>, 10> letters{{{"pull", Letter::pull},
                                                                       {"weights", Letter::weights},
                                                                       {"push", Letter::push},
                                                                       {"join", Letter::join},
                                                                       {"view", Letter::view},
                                                                       {"start", Letter::start},
                                                                       {"heartbeat", Letter::heartbeat},
                                                                       {"leave", Letter::leave},
                                                                       {"state", Letter::state},
                                                                       {"restore", Letter::restore}}};

constexpr std::int64_t no_more = std::numeric_limits<std::int64_t>::max();

template <class T>
T named(std::string_view name, const auto& names) {
  for (const auto& [text, value] : names) {
    if (text == name) return value;
  }
  return T::other;
}

// The rows of one table of events, in their order.
class Stream {
 public:
  Stream(const fs::path& path, const Table& table) : table_(&table), query_(path, sql_of(table.name)) {
    for (int i = 0; i < sqlite3_column_count(query_.row()); ++i) {
      const std::string_view name = sqlite3_column_name(query_.row(), i);
      const auto place = columns.find(name);
      if (place != columns.end()) places_.emplace_back(i, place->second);
      if (name == "phase" || name == "outcome") what_ = i;
      if (name == "work") work_ = i;
      if (name == "role") role_ = i;
      if (name == "kind") kind_ = i;
    }
    advance();
  }
  const std::optional<Row>& row() const { return row_; }
  void advance() {
    if (query_.next()) read(row_.emplace());
    else row_.reset();
  }

 private:
  // What arrives or is lost has the columns of its sending, and its own in their place.
  static std::string sql_of(std::string_view table) {
    if (table != "received" && table != "lost") return fmt::format("SELECT * FROM {} ORDER BY number", table);
    return fmt::format(
        "SELECT sent.*, {1}, {0}.* FROM {0} LEFT JOIN sent ON sent.number = message ORDER BY {0}.number",
        table, table == "received" ? "sent.node AS sender" : "receiver");
  }
  void read(Row& row) {
    sqlite3_stmt* columns_here = query_.row();
    for (const auto& [column, place] : places_) {
      if (sqlite3_column_type(columns_here, column) == SQLITE_NULL) continue;
      std::visit([&](auto member) { read_number(columns_here, column, row.*member); }, place);
    }
    const std::string_view what = what_ ? text(columns_here, *what_) : std::string_view{};
    row.what = named<What>(what, table_->kinds);
    row.is_former = role_ && text(columns_here, *role_) == "former";
    row.is_step = work_ && text(columns_here, *work_) == "step";
    if (!kind_) return;
    const auto kind = names_.emplace(text(columns_here, *kind_)).first;
    row.message = *kind;
    row.letter = row.is_message() ? named<Letter>(*kind, letters) : Letter::other;
    row.fault = row.what == What::fault ? named<Fault>(*kind, faults) : Fault::other;
  }
  template <class T>
  static void read_number(sqlite3_stmt* row, int column, T& value) {
    if constexpr (std::is_same_v<T, double>) value = sqlite3_column_double(row, column);
    else value = static_cast<T>(sqlite3_column_int64(row, column));
  }

  const Table* table_;
  Query query_;
  std::vector<std::pair<int, Place>> places_;
  std::optional<int> what_, work_, role_, kind_;  // columns that name something
  std::set<std::string, std::less<>> names_;      // of messages; rows refer to them
  std::optional<Row> row_;
};

// Whether the nodes are there and play their parts, and each number is one that a run of `events` events can
// have reached. Checks rely on that.
bool fits(const Row& row, const Facts& facts, std::int64_t nodes, std::int64_t events) {
  const auto reached = [events](auto... numbers) { return ((numbers >= -1 && numbers <= events) && ...); };
  const bool of_server = facts.is_server(row.node) && facts.is_worker(row.peer);
  if (row.node >= nodes || row.peer >= nodes) return false;
  const bool names_message = row.what == What::received || row.what == What::lost || row.what == What::wait;
  if (!reached(row.sent) || (names_message && row.sent < 0)) return false;
  if (row.is_outcome()) return of_server && reached(row.push, row.version);
  if (row.is_computation()) return facts.is_worker(row.node);
  switch (row.what) {
    case What::membership: return of_server && reached(row.arrived, row.applied);
    case What::finish: return facts.is_worker(row.node);
    case What::acknowledgement: return facts.is_worker(row.node) && reached(row.safe_pushes);
    case What::copy:
    case What::promotion:
      return facts.is_server(row.node) && !facts.is_worker(row.peer) && reached(row.version);
    case What::place: return facts.is_server(row.peer);
    case What::participant: return facts.is_worker(row.peer);
    case What::suspicion: return row.peer <= facts.servers + facts.workers;
    case What::update: return reached(row.version);
    case What::received:
      return row.letter != Letter::push || !facts.is_server(row.node) ||
             (facts.is_worker(row.peer) && reached(row.push));
    default: return true;
  }
}

}  // namespace

std::int64_t RunRecord::each(const std::function<void(const Row&)>& on_row) const {
  std::int64_t count = 0, events = 0;
  std::vector<Stream> streams;
  streams.reserve(tables.size());  // rows refer to names in them
  for (const Table& table : tables) {
    query(database_, fmt::format("SELECT count(*) FROM {}", table.name),
          [&](sqlite3_stmt* row) { events += sqlite3_column_int64(row, 0); });
    streams.emplace_back(database_, table);
  }
  for (;;) {
    const auto order = [](const Stream& stream) { return stream.row() ? stream.row()->number : no_more; };
    const auto next = std::ranges::min_element(streams, {}, order);
    if (!next->row()) return count;
    const Row& event = *next->row();
    if (!fits(event, facts, nodes_, events))
      throw Unverifiable(
          fmt::format("{}: event {} does not fit the scenario", database_.string(), event.number), damaged);
    ++count;
    on_row(event);
    next->advance();
  }
}

}  // namespace psim::analysis
