// Goal: a run file holds what happened, as much of it as the trace level says, and can be read again.
// Method: events written by hand through a recorder, then SQL.
#include "sim/record/run_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <optional>
#include <type_traits>

#include "sim/record/event_fields.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
using psim::test::TemporaryFolder;

namespace {

using Rows = std::vector<std::string>;

// Rows of a query, columns joined by "|", numbers in short.
Rows query(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  Rows rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::string row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      row += std::string(i > 0 ? "|" : "") + (text == nullptr ? "null" : text);
    }
    rows.push_back(row);
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return rows;
}

Scenario two_servers_two_workers() {
  Scenario scenario;
  scenario.cluster.servers = 2;
  scenario.cluster.workers = 2;  // nodes 3 and 4
  return scenario;
}

Event pull() {
  Sent message;
  message.kind = MessageKind::pull;
  message.from = 3;
  message.to = 1;
  message.shard = 1;
  message.epoch = 0;
  message.bytes = 8;
  message.clock = 5;
  message.pull = 1;
  message.pushes_before = 0;
  return {0.25, 3, message};
}

std::vector<Event> story() {
  using enum ComputePhase;
  return {
      pull(),
      {0.5, 1, Received{{.message = 0, .kind = MessageKind::pull, .from = 3, .to = 1, .bytes = 8}}},
      {1, 3, Computation{.phase = begun, .clock = 5, .version = 6}},
      {1.5, 4, Computation{.phase = begun, .clock = 7, .version = 8}},
      {2, 4, Computation{.phase = cancelled, .clock = 7, .version = 9}},
      {3, 3, Computation{.phase = ended, .clock = 5, .version = 6, .samples = 40}},
      {3, 2,
       PushOutcome{
           .shard = 1, .worker = 3, .push = 2, .clock = 5, .version = 6, .staleness = 4, .made_version = 11}},
      {3, 2, ModelUpdate{.shard = 1, .version = 7}},
  };
}

// Writes the story, then `more` updates.
std::vector<std::uint64_t> write(const std::filesystem::path& path, TraceLevel level, int more = 0) {
  struct Hashes final : EventSink {
    std::vector<std::uint64_t> all;
    void on(const Event&, std::uint64_t hash) override { all.push_back(hash); }
  } hashes;
  RunFile file(path, level, two_servers_two_workers());
  Recorder recorder(2, 2, {0, 1});
  recorder.add_sink(&file);
  recorder.add_sink(&hashes);
  for (const Event& event : story()) recorder.record(event);
  for (int i = 0; i < more; ++i) recorder.record({4, 1, ModelUpdate{.shard = 0, .version = i}});
  recorder.close(5);
  RunResult result{.stats = recorder.stats()};
  result.parameters = 11;
  result.server_parameters = {{5, 5}, {6, 6}};
  result.curve = {{.at = 0, .updates = 0, .epoch = 0, .bytes = 0, .result = {.loss = 2.5, .accuracy = 0.125}},
                  {.at = 3, .updates = 7, .epoch = 0.5, .bytes = 8, .result = {.loss = 0.5, .accuracy = {}}}};
  result.judged_on = DataPart::validation;
  result.tested = {.loss = 0.75, .accuracy = 0.25};
  file.finish(result, {{"digest", recorder.digest()}, {"title", "Schöne \"Läufe\"; DROP TABLE meta"}},
              {{"threads", "3"}});
  return hashes.all;
}

}  // namespace

TEST_CASE("every level keeps the hashes and the tables of the run's end", "[record]") {
  const TraceLevel level = GENERATE(TraceLevel::none, TraceLevel::steps, TraceLevel::events);
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.db";
  const std::vector<std::uint64_t> hashes = write(path, level);
  const RecordedRun run(path);
  REQUIRE(run.hashes.size() == hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i)
    CHECK(run.hashes[i] == static_cast<std::uint32_t>(hashes[i]));
  CHECK(run.meta.at("title") == "Schöne \"Läufe\"; DROP TABLE meta");
  CHECK(run.meta.at("digest").size() == 32);
  CHECK(run.meta.size() == 2);
  CHECK(run.host == std::map<std::string, std::string>{{"threads", "3"}});

  CHECK(query(path, "SELECT * FROM node") ==
        Rows{"0|scheduler|0", "1|server|0", "2|server|1", "3|worker|0", "4|worker|1"});
  CHECK(query(path, "SELECT * FROM server") == Rows{"0|0|5|0|0|8", "1|7|6|1|0|0"});
  CHECK(query(path, "SELECT * FROM worker") ==
        Rows{"0|6|0|5.0|2.0|0.25|2.75|0.0|40|1", "1|7|1|5.0|0.5|0.0|4.5|0.0|0|1"});
  CHECK(query(path, "SELECT * FROM evaluation") == Rows{"0.0|0|0.0|0|2.5|0.125|0|validation",
                                                        "3.0|7|0.5|8|0.5|null|0|validation",
                                                        "3.0|7|0.5|8|0.75|0.25|0|test"});
}

TEST_CASE("steps are kept from level steps on, events on level events", "[record]") {
  const Rows steps{"1|7|1.5|2.0|0|8", "0|5|1.0|3.0|1|6"};
  const TemporaryFolder folder;
  write(folder.path() / "none", TraceLevel::none);
  write(folder.path() / "steps", TraceLevel::steps);
  write(folder.path() / "events", TraceLevel::events);
  CHECK(query(folder.path() / "none", "SELECT * FROM step").empty());
  CHECK(query(folder.path() / "steps", "SELECT * FROM step") == steps);
  CHECK(query(folder.path() / "events", "SELECT * FROM step") == steps);
  const auto rows = [&](const std::string& level, const std::string& table) {
    return query(folder.path() / level, "SELECT * FROM " + table);
  };
  CHECK(rows("none", "sent").empty());
  CHECK(rows("steps", "sent").empty());
  CHECK(rows("events", "sent") ==
        Rows{"0|0.25|3|null|null|pull|1|8|1|0|5|null|null|1|null|0|null|null|null|null|null|null|null|"
             "null|null|0|0|0"});
  CHECK(rows("events", "received") == Rows{"1|0.5|1|null|null|0"});
  CHECK(rows("events", "message") ==
        Rows{"0|0.25|0.5|null|3|pull|1|8|1|0|5|null|null|1|null|0|null|null|null|"
             "null|null|null|null|null|null|0|0|0"});
  CHECK(rows("events", "computation") ==
        Rows{"2|1.0|3|1|null|begun|step|5|6|null|0|1", "3|1.5|4|2|null|begun|step|7|8|null|0|1",
             "4|2.0|4|3|null|cancelled|step|7|9|null|0|1", "5|3.0|3|4|null|ended|step|5|6|40|0|1"});
  CHECK(rows("events", "push_outcome") == Rows{"6|3.0|2|5|null|applied|1|3|2|5|6|4|11"});
  CHECK(rows("events", "model_update") == Rows{"7|3.0|2|6|null|1|7|null|null"});
}

TEST_CASE("a recorded event can be told, where events were recorded", "[record]") {
  const TemporaryFolder folder;
  write(folder.path() / "events", TraceLevel::events);
  write(folder.path() / "steps", TraceLevel::steps);
  const RecordedRun with(folder.path() / "events"), without(folder.path() / "steps");
  const std::vector<Event> events = story();
  for (std::size_t i = 0; i < events.size(); ++i)
    CHECK(to_string(with.event(static_cast<std::int64_t>(i)).value()) == to_string(events[i]));
  CHECK_FALSE(with.event(99));
  CHECK_FALSE(without.event(1));
}

TEST_CASE("a recorded event has the numbers that it had, whole or not", "[record]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.db";
  std::vector<Event> events;
  for_each_subject([&]<class T>() {
    T what;
    for_each_field<T>([&](const auto& field) {
      using Value = std::decay_t<decltype(what.*field.member)>;
      if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>)
        what.*field.member = 0.1;
    });
    events.push_back({0.3, 3, what});
  });
  {
    RunFile file(path, TraceLevel::events, two_servers_two_workers());
    for (const Event& event : events) file.on(event, 0);
    Recorder recorder(2, 2, {0, 1});
    recorder.close(5);
    RunResult result{.stats = recorder.stats()};
    result.server_parameters = {{5, 5}, {6, 6}};
    result.curve = {{.at = 0, .updates = 0, .epoch = 0, .bytes = 0, .result = {.loss = 2.5, .accuracy = {}}}};
    file.finish(result, {}, {});
  }
  const RecordedRun run(path);
  for (std::size_t i = 0; i < events.size(); ++i)
    CHECK(to_string(run.event(static_cast<std::int64_t>(i)).value()) == to_string(events[i]));
}

TEST_CASE("hashes are kept in order over the border of a block", "[record]") {
  const int more = GENERATE(16376, 16377, 40000);  // with the story: exactly a block, one more, several
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.db";
  const std::vector<std::uint64_t> hashes = write(path, TraceLevel::none, more);
  const RecordedRun run(path);
  REQUIRE(run.hashes.size() == hashes.size());
  for (std::size_t i = 0; i < hashes.size(); ++i)
    REQUIRE(run.hashes[i] == static_cast<std::uint32_t>(hashes[i]));
  CHECK(query(path, "SELECT count(*), max(block) FROM event_hash")[0] == (more == 16376   ? "1|0"
                                                                          : more == 16377 ? "2|1"
                                                                                          : "3|2"));
}

TEST_CASE("a run file that cannot be written or read is an exception that names it", "[record]") {
  const TemporaryFolder folder;
  const auto nowhere = folder.path() / "no such folder" / "run.db";
  CHECK_THROWS_WITH(RunFile(nowhere, TraceLevel::none, two_servers_two_workers()),
                    Catch::Contains("no such folder"));
  CHECK_THROWS_WITH(RecordedRun(nowhere), Catch::Contains("no such folder"));
  const auto text = folder.path() / "not a database";
  std::ofstream(text) << std::string(10'000, 'x');
  CHECK_THROWS_WITH(RecordedRun(text), Catch::Contains("not a database"));
}
