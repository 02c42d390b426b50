// Goal: Perfetto gets what happened. Method: a decoder of protobuf's wire format, written from its
// specification, reads the trace back; what it finds is compared with the run's tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/export/exports.hpp"
#include "analysis/export/protobuf.hpp"
#include "tests/analysis/timeline/recorded.hpp"

using namespace psim::analysis;
using psim::test::recorded;
using psim::test::TemporaryFolder;

namespace {

// The fields of a message, by number: numbers, or bytes.
struct Fields {
  std::multimap<std::uint32_t, std::uint64_t> numbers;
  std::multimap<std::uint32_t, std::string> texts;

  bool has(std::uint32_t field) const { return numbers.contains(field) || texts.contains(field); }
  std::uint64_t number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }
  std::string text(std::uint32_t field) const {
    const auto found = texts.find(field);
    return found == texts.end() ? "" : found->second;
  }
};

std::uint64_t varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    REQUIRE(!bytes.empty());
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  FAIL("a varint of more than 64 bits");
  return 0;
}

Fields decoded(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::uint64_t key = varint(bytes);
    const auto field = static_cast<std::uint32_t>(key >> 3);
    REQUIRE(field > 0);
    if ((key & 7) == 0) {
      fields.numbers.emplace(field, varint(bytes));
    } else if ((key & 7) == 1) {
      REQUIRE(bytes.size() >= 8);
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data(), 8);
      bytes.remove_prefix(8);
      fields.numbers.emplace(field, value);
    } else {
      REQUIRE((key & 7) == 2);
      const std::uint64_t size = varint(bytes);
      REQUIRE(bytes.size() >= size);
      fields.texts.emplace(field, bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
  }
  return fields;
}

struct Slice {
  std::uint64_t begin, end;
  std::string name;
};

// What a viewer would make of a trace.
struct Seen {
  std::map<std::uint64_t, std::string> names;      // of tracks
  std::map<std::uint64_t, std::uint64_t> parents;  // of tracks
  std::map<std::uint64_t, std::string> processes;  // by track
  std::map<std::uint64_t, std::vector<Slice>> slices;
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, double>>> counters;  // whole ones
  std::map<std::string, int> instants;                                              // by name
  std::map<std::uint64_t, int> flow_begins, flow_ends;

  // Of a process, by its name and the track's.
  std::uint64_t track(const std::string& process, const std::string& name) const {
    for (const auto& [uuid, parent] : parents) {
      const auto owner = processes.find(parent);
      if (owner != processes.end() && owner->second.starts_with(process) && names.at(uuid) == name)
        return uuid;
    }
    FAIL("there is no track " << name << " of " << process);
    return 0;
  }
};

Seen read(const std::string& trace) {
  Seen seen;
  std::uint64_t last = 0;
  std::map<std::uint64_t, std::vector<Slice>> open;
  for (const auto& [field, bytes] : decoded(trace).texts) {
    REQUIRE(field == 1);
    const Fields packet = decoded(bytes);
    if (packet.has(60)) {
      const Fields track = decoded(packet.text(60));
      const std::uint64_t uuid = track.number(1);
      CHECK(!seen.names.contains(uuid));
      seen.names[uuid] = track.text(2);
      if (track.has(5)) seen.parents[uuid] = track.number(5);
      if (track.has(3)) seen.processes[uuid] = decoded(track.text(3)).text(6);
      continue;
    }
    REQUIRE(packet.has(11));
    CHECK(packet.number(10) == 1);
    const std::uint64_t at = packet.number(8);
    CHECK(at >= last);
    last = at;
    const Fields event = decoded(packet.text(11));
    const std::uint64_t track = event.number(11);
    REQUIRE(seen.names.contains(track));
    for (auto [one, end] = event.numbers.equal_range(47); one != end; ++one) ++seen.flow_begins[one->second];
    for (auto [one, end] = event.numbers.equal_range(48); one != end; ++one) ++seen.flow_ends[one->second];
    switch (event.number(9)) {
      case 1: open[track].push_back({at, 0, event.text(23)}); break;
      case 2: {
        REQUIRE(!open[track].empty());
        Slice slice = open[track].back();
        open[track].pop_back();
        slice.end = at;
        seen.slices[track].push_back(slice);
        break;
      }
      case 3: ++seen.instants[event.text(23)]; break;
      case 4: seen.counters[track].emplace_back(at, static_cast<double>(event.number(30))); break;
      default: FAIL("an event of no type");
    }
  }
  for (const auto& [track, slices] : open) CHECK(slices.empty());
  return seen;
}

std::int64_t number_in(const std::filesystem::path& run, const std::string& sql) {
  std::int64_t number = -1;
  psim::query(run / "run.db", sql, [&](sqlite3_stmt* row) { number = sqlite3_column_int64(row, 0); });
  return number;
}

}  // namespace

TEST_CASE("numbers are written as protobuf has them", "[export]") {
  // From protobuf's description of the format: 150 in field 1, "testing" in field 2.
  CHECK(Proto().number(1, 150).bytes() == std::string("\x08\x96\x01"));
  CHECK(Proto().text(2, "testing").bytes() == "\x12\x07testing");
  CHECK(Proto().message(3, Proto().number(1, 150)).bytes() == std::string("\x1a\x03\x08\x96\x01"));
  CHECK(Proto().number(1, ~std::uint64_t{0}).bytes() == "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(Proto().real(1, 1.0).bytes() == std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9));
  CHECK(Proto().number(47, 0).bytes() == std::string("\xf8\x02\0", 3));
}

TEST_CASE("Perfetto sees every computation and every wait, at its date", "[export]") {
  const TemporaryFolder folder;
  const auto path = recorded(folder, psim::test::slow_pair);
  const RunRecord run(path);
  const Recording all = recording_of(run, "one");
  const Seen seen = read(perfetto(all, {}));
  CHECK(seen.processes.size() == 4);
  const std::vector<Slice>& fast = seen.slices.at(seen.track("worker 0", "time"));
  std::vector<std::string> texts;
  for (const Slice& slice : fast) {
    const double seconds = static_cast<double>(slice.end - slice.begin) / 1e9;
    if (seconds > 1e-6) texts.push_back(fmt::format("{} {:.3f}", slice.name, seconds));
  }
  CHECK(texts == std::vector<std::string>{"compute 1.000", "wait 2.000", "compute 1.000", "wait 2.000"});
  int computations = 0;
  for (const auto& [track, slices] : seen.slices) {
    for (const Slice& slice : slices) computations += slice.name == "compute" ? 1 : 0;
  }
  CHECK(computations == number_in(path, "SELECT count(*) FROM computation WHERE phase = 'begun'"));
  CHECK(seen.instants.at("version 1") == 1);
  CHECK(seen.flow_begins.empty());
}

TEST_CASE("every message is on its way from when it is sent until it arrives", "[export]") {
  const TemporaryFolder folder;
  const auto path = recorded(folder, psim::test::slow_pair +
                                         "[[fault]]\nkind = \"drop\"\nprobability = 0.2\n"
                                         "[recovery]\nheartbeat = \"0.1s\"\ntimeout = \"0.5s\"\n");
  const RunRecord run(path);
  const Recording all = recording_of(run, "one");
  std::vector<std::int64_t> numbers;
  for (const Message& message : all.messages) numbers.push_back(message.number);
  const Seen seen = read(perfetto(all, numbers));
  CHECK(static_cast<std::int64_t>(seen.flow_begins.size()) == number_in(path, "SELECT count(*) FROM sent"));
  CHECK(static_cast<std::int64_t>(seen.flow_ends.size()) == number_in(path, "SELECT count(*) FROM received"));
  CHECK(number_in(path, "SELECT count(*) FROM lost") > 0);
  for (const auto& [flow, count] : seen.flow_begins) CHECK(count == 1);
  for (const auto& [flow, count] : seen.flow_ends) CHECK(seen.flow_begins.contains(flow));
  const auto& counter = seen.counters.at(seen.track("server 0", "messages on their way"));
  for (const auto& [at, value] : counter) CHECK(value < 1e6);  // never below 0
  CHECK(counter.back().second == 0);
}

TEST_CASE("arrows follow the critical path", "[export]") {
  const TemporaryFolder folder;
  const RunRecord run(recorded(folder, psim::test::slow_pair));
  const Recording all = recording_of(run, "one");
  const std::vector<std::int64_t> flows = messages_of_path(run, causal_graph(run));
  REQUIRE(!flows.empty());
  // The slow worker computes all the time: the path has its messages, and none of the fast one.
  for (const Message& message : all.messages) {
    if (!std::ranges::binary_search(flows, message.number)) continue;
    CHECK(message.from != 2);
    CHECK(message.to != 2);
  }
  const Seen seen = read(perfetto(all, flows));
  CHECK(seen.flow_begins.size() == flows.size());
  CHECK(seen.flow_ends.size() == flows.size());
}

TEST_CASE("equal runs give equal traces", "[export]") {
  const TemporaryFolder one, two;
  const auto trace = [](const TemporaryFolder& folder) {
    const RunRecord run(recorded(folder, psim::test::slow_pair));
    return perfetto(recording_of(run, "one"), messages_of_path(run, causal_graph(run)));
  };
  CHECK(trace(one) == trace(two));
}
