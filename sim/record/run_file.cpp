#include "sim/record/run_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "sim/record/event_fields.hpp"
#include "sim/record/facts.hpp"
#include "sim/record/serving.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {
namespace {

constexpr std::size_t block = 16384;      // hashes in a row
constexpr std::size_t batch_size = 1024;  // events; they fit into the cache of a core
static_assert(block % batch_size == 0);
constexpr int application_id = 0x7073696d;  // "psim": tells a run from another program's database

const char* const schema =
#include "sim/record/schema.sql.inc"
    ;

}  // namespace

TraceLevel trace_level(std::string_view name) {
  const auto found = std::ranges::find(trace_names, name);
  return found == trace_names.end() ? TraceLevel::steps
                                    : static_cast<TraceLevel>(found - trace_names.begin());
}

RunFile::RunFile(const std::filesystem::path& path, TraceLevel level, const Scenario& scenario,
                 const std::vector<LoadedJob>& jobs)
    : db_(path),
      level_(level),
      servers_(static_cast<std::uint32_t>(scenario.cluster.servers)),
      begun_(static_cast<std::size_t>(scenario.cluster.workers)),
      steps_(db_, "step", 6),
      hash_rows_(db_, "event_hash", 2),
      wires_(db_, "wire", 3),
      services_(db_, "service", 4),
      dependencies_(db_, "dependency", 3),
      costs_(db_, "step_cost", 4),
      rates_(db_, "rate", 4),
      spans_(db_, "span", 7),
      writer_([this](const Batch& batch) { write(batch); }) {
  for (std::uint32_t node = 0; node < node_count(scenario.cluster); ++node)
    nodes_.push_back(node_name(scenario.cluster, node));
  for (const GroupSpec& group : scenario.groups) groups_.push_back(group.name);
  if (const auto& window = scenario.cluster.inference.window) serving_window_ = window->value;
  db_.execute(fmt::format("PRAGMA application_id = {};", application_id));
  db_.execute(schema + event_tables());
  db_.execute("BEGIN");
  for_each_subject([this]<class T>() {
    std::size_t columns = 5;  // the columns of all events
    for_each_field<T>([&columns](const auto&) { ++columns; });
    events_of_type_.emplace_back(db_, T::table, columns);
  });
  write_facts({}, scenario);
  for (std::size_t n = 0; n < jobs.size(); ++n) write_facts(static_cast<std::int64_t>(n), jobs[n].scenario);
}

RunFile::~RunFile() = default;

void RunFile::write_facts(std::optional<std::int64_t> space, const Scenario& scenario) {
  Statement put(db_, "INSERT INTO fact VALUES (?,?,?)");
  for (const auto& [name, value] : rows_of(facts_of(scenario))) put(space, name, value);
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
  if (level_ == TraceLevel::events) batch_.wires.push_back({message, begin, end});
}

void RunFile::on_dependency(std::uint64_t event, const Dependency& need) {
  if (level_ == TraceLevel::events) batch_.dependencies.emplace_back(event, need);
}

void RunFile::on_service(const Service& work) {
  if (level_ == TraceLevel::events) batch_.services.push_back(work);
}

void RunFile::on_step(const StepCost& cost) {
  if (level_ == TraceLevel::events) batch_.costs.push_back(cost);
}

void RunFile::on_rate(const Rate& rate) {
  if (level_ == TraceLevel::events) batch_.rates.push_back(rate);
}

void RunFile::on_span(NodeId node, const Span& span) { batch_.spans.emplace_back(node, span); }

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
  wires_.write(batch.wires, [](Statement& insert, int& column, const Batch::Wire& wire) {
    insert.bind(++column, wire.message);
    insert.bind(++column, wire.begin);
    insert.bind(++column, wire.end);
  });
  dependencies_.write(batch.dependencies, [](Statement& insert, int& column, const auto& row) {
    insert.bind(++column, row.first);
    insert.bind(++column, row.second.event);
    insert.bind(++column, row.second.clock);
  });
  services_.write(batch.services, [](Statement& insert, int& column, const Service& work) {
    insert.bind(++column, work.node);
    insert.bind(++column, work.message);
    insert.bind(++column, work.begin);
    insert.bind(++column, work.end);
  });
  costs_.write(batch.costs, [](Statement& insert, int& column, const StepCost& cost) {
    insert.bind(++column, cost.begun);
    insert.bind(++column, cost.even);
    insert.bind(++column, cost.copies);
    insert.bind(++column, cost.drawn);
  });
  rates_.write(batch.rates, [](Statement& insert, int& column, const Rate& rate) {
    insert.bind(++column, rate.node);
    insert.bind(++column, quantity_names[static_cast<std::size_t>(rate.quantity)]);
    insert.bind(++column, rate.at);
    insert.bind(++column, rate.value);
  });
  spans_.write(batch.spans, [](Statement& insert, int& column, const auto& row) {
    const auto& [node, span] = row;
    insert.bind(++column, node);
    insert.bind(++column, span.begin);
    insert.bind(++column, span.end);
    insert.bind(++column, name_of(span.use));
    insert.bind(++column, span.for_node);
    insert.bind(++column, span.clock);
    insert.bind(++column, span.message < 0 ? std::nullopt : std::optional(span.message));
  });
}

void RunFile::write_hashes() {
  hash_rows_.add(blocks_++, hashes_);
  hashes_.clear();
}

void RunFile::write_events(std::size_t type, const Events& events) {
  events_of_type_[type].write(events, [this](Statement& insert, int& column, const auto& row) {
    const auto& [number, event] = row;
    const auto& [cause, spent] = event->cause;
    insert.bind(++column, number);
    insert.bind(++column, event->at);
    insert.bind(++column, event->node);
    insert.bind(++column, cause < 0 ? std::nullopt : std::optional(cause));
    insert.bind(++column, cause < 0 || spent == Spent::idle ? std::nullopt : std::optional(spent));
    std::visit(
        [&]<class T>(const T& what) {
          for_each_field<T>([&](const auto& field) { insert.bind(++column, what.*field.member); });
        },
        event->what);
    if (const Sent* message = event->template as<Sent>()) connections_.add(message->from, message->to);
  });
}

void RunFile::write_step(double at, std::uint32_t worker, const Computation& what) {
  if (what.phase == ComputePhase::begun) begun_[worker] = {at, what};
  const bool is_over = what.phase == ComputePhase::ended || what.phase == ComputePhase::cancelled ||
                       what.phase == ComputePhase::killed;
  if (!is_over) return;
  const std::optional<Step> begin = std::exchange(begun_[worker], std::nullopt);
  if (!begin) return;  // a crash stops a worker even if it does not compute
  steps_.add(worker, begin->what.clock, begin->begin, at, what.phase == ComputePhase::ended,
             begin->what.version);
}

void RunFile::finish(const RunResult& result, const std::map<std::string, std::string>& meta,
                     const std::map<std::string, std::string>& host) {
  close_events();
  Statement put_meta(db_, "INSERT INTO meta VALUES (?,?)"), put_host(db_, "INSERT INTO host VALUES (?,?)");
  for (const auto& [key, value] : meta) put_meta(key, value);
  for (const auto& [key, value] : host) put_host(key, value);
  Statement put_node(db_, "INSERT INTO node VALUES (?,?,?)");
  std::map<std::string, std::int64_t> of_role;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const std::string role = nodes_[n].substr(0, nodes_[n].find(' '));
    put_node(n, role, of_role[role]++);
  }
  Statement put_server(db_, "INSERT INTO server VALUES (?,?,?,?,?,?)");
  for (std::uint32_t s = 0; s < servers_; ++s) {
    const ServerStats& server = result.stats.servers[s];
    put_server(s, result.stats.server_updates(s), result.server_parameters[s].at_end, server.pushes,
               server.bytes_sent, server.bytes_received);
  }
  Statement put_worker(db_, "INSERT INTO worker VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t w = 0; w < result.stats.workers.size(); ++w) {
    const WorkerStats& worker = result.stats.workers[w];
    put_worker(w, worker.clocks, worker.cancelled, worker.mean_step(), worker.time.compute,
               worker.time.network, worker.time.wait, worker.time.absent, worker.samples,
               worker.here_at_first ? 1 : 0);
  }
  write_staleness(result);
  Statement put_point(db_, "INSERT INTO evaluation VALUES (?,?,?,?,?,?,?,?)");
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
  db_.execute("COMMIT");
}

void RunFile::write_staleness(const RunResult& result) {
  Statement put(db_, "INSERT INTO staleness VALUES (?,?,?,?)");
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
  write(std::exchange(batch_, {}));
  if (!hashes_.empty()) write_hashes();
}

const Connections& RunFile::connections() {
  close_events();
  return connections_;
}

void RunFile::write_links(const LinkMap& map) {
  Statement put_link(db_, "INSERT INTO link VALUES (?,?,?,?,?)"),
      put_hop(db_, "INSERT INTO hop VALUES (?,?,?,?)"), put_ends(db_, "INSERT INTO ends VALUES (?,?,?,?,?)");
  for (std::size_t i = 0; i < map.links.size(); ++i) {
    const LinkMap::Link& link = map.links[i];
    put_link(i, link.name, link.bandwidth, link.latency, link.is_shared);
  }
  for (const LinkMap::Hop& hop : map.hops) put_hop(hop.sender, hop.receiver, hop.position, hop.link);
  put_ends(map.ends.window, map.ends.send_overhead, map.ends.send_bandwidth, map.ends.receive_overhead,
           map.ends.receive_bandwidth);
}

void RunFile::write_without_faults(const std::vector<WithoutFault>& runs) {
  Statement put(db_, "INSERT INTO without_fault VALUES (?,?,?)");
  for (const WithoutFault& run : runs) put(run.fault, run.sim_time, run.updates);
}

void RunFile::write_serving(const InferenceStats& stats, double end) {
  Statement put(db_, "INSERT INTO serving VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (const ServingWindow& w : served_over_time(stats, serving_window_, end)) {
    const bool any = w.answered > 0;
    const auto of_answers = [any](auto most) { return any ? std::optional(most) : std::nullopt; };
    put(w.begin, w.end, w.requests, w.answered, w.mean(w.latency_sum), of_answers(w.latency_max),
        w.mean(w.staleness_sum), of_answers(w.staleness_max), w.mean(w.age_sum), of_answers(w.age_max));
  }
}

void RunFile::write_groups(const RunResult& result) {
  Statement put_group(db_, "INSERT INTO worker_group VALUES (?,?,?,?,?,?,?,?,?,?)");
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

std::map<std::string, std::string> pairs_in(const InputDatabase& database, std::string_view table) {
  std::map<std::string, std::string> pairs;
  query(database, fmt::format("SELECT key, value FROM {}", table),
        [&](sqlite3_stmt* row) { pairs[std::string(text_in(row, 0))] = text_in(row, 1); });
  return pairs;
}

}  // namespace

std::map<std::string, std::string> recorded_meta(const std::filesystem::path& run_db) {
  return pairs_in(run_db, "meta");
}

RecordedRun::RecordedRun(const std::filesystem::path& run_db) : database_(run_db) {
  meta = pairs_in(database_, "meta");
  host = pairs_in(database_, "host");
  query(database_, "SELECT hashes FROM event_hash ORDER BY block", [&](sqlite3_stmt* row) {
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
    query(database_, fmt::format("SELECT * FROM {} WHERE number = {}", T::table, number),
          [&](sqlite3_stmt* row) { found = event_in<T>(row); });
  });
  return found;
}

}  // namespace psim
