
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/tool_outputs.hpp"
#include "model/data/text.hpp"

namespace psim::calibrate {

void add_transfer(const Transfer& one, const std::string& place, ClusterLog& log) {
  if (!(one.bytes > 0) || !(one.seconds > 0) || std::isinf(one.bytes) || std::isinf(one.seconds))
    throw LogError(fmt::format("{}: {} bytes in {} s", place, one.bytes, one.seconds),
                   "both must be above 0");
  log.transfers.push_back(one);
}

void check_transfers(const std::string& path, const Reason& usual, const std::vector<Reason>& reasons,
                     std::size_t before, ClusterLog& log) {
  const Reason& first = reasons.empty() ? usual : reasons.front();
  if (log.transfers.size() == before) throw LogError(path + ": " + first.what, first.help);
  for (const Reason& one : reasons) log.note(path, one.what + "; that test does not count.");
}

void read_transfers(const std::string& path, const Cells& header, char separator, Lines& lines,
                    ClusterLog& log) {
  const auto place = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  const std::size_t bytes = place("bytes"), seconds = place("seconds");
  Cells others = header;
  std::erase_if(others, [](std::string_view name) { return name == "bytes" || name == "seconds"; });
  note_ignored(path, others, log);
  while (lines.next()) {
    const Cells cells = cells_of(lines.text(), separator);
    const bool is_whole = cells.size() == header.size();
    const std::optional<double> size = is_whole ? number_in(cells[bytes]) : std::nullopt,
                                time = is_whole ? number_in(cells[seconds]) : std::nullopt;
    if (!size || !time)
      throw LogError(fmt::format("{}: not a pair of numbers", lines.place()), "a line is a size and a time");
    add_transfer({.bytes = *size, .seconds = *time}, lines.place(), log);
  }
}

namespace {

bool has(const Cells& cells, std::string_view one) { return std::ranges::find(cells, one) != cells.end(); }

struct Row {
  double bytes, us, algorithm, bus;  // bandwidths in GB/s
  std::string place;
};

struct Table {
  std::size_t ranks;  // 0: unknown
  std::string test;   // such as sendrecv_perf; may be empty
  bool has_operation, has_root, is_of_processor;
  // The rows may have a root, a reduction, and a check of the operation in place.
  bool is_rooted = false, reduces = false, checks_in_place = false;
  std::size_t wrong = 0;  // rows with wrong results
  std::vector<Row> rows = {};

  // `type`: the column after size and count. The columns of operation and root may be missing or empty.
  void take(const Cells& cells, std::size_t type, const std::string& place) {
    const auto cell = [&](std::size_t i) { return i < cells.size() ? cells[i] : std::string_view(); };
    std::size_t at = type + 1;
    if (has_operation && !number_in(cell(at))) reduces = cell(at++) != "none";
    if (has_root) is_rooted = cell(at++) != "-1";
    const std::optional<double> bytes = number_in(cells[type - 2]), us = number_in(cell(at)),
                                algorithm = number_in(cell(at + 1)), bus = number_in(cell(at + 2));
    if (!(*bytes > 0) || !us || !algorithm || !bus) return;
    rows.push_back({*bytes, *us, *algorithm, *bus, place});
    wrong += number_in(cell(at + 3)).value_or(0) >= 1 ? 1 : 0;
    checks_in_place = checks_in_place || number_in(cell(at + 7));
  }

  // Whether each process sends one message. An all-reduce of two ranks has the same columns as sendrecv_perf,
  // but only its operation in place is checked.
  bool is_single(double factor, const std::string& path) const {
    if (factor != 1 || is_rooted) return false;
    if (!test.empty()) return test.find("sendrecv") != std::string::npos;
    return !reduces || ranks > 2 || !checks_in_place || path.find("sendrecv") != std::string::npos;
  }

  std::optional<Reason> put(const std::string& path, ClusterLog& log) const {
    // The largest bandwidth tells the factor best, because it is rounded least.
    const Row& best = *std::ranges::max_element(rows, {}, &Row::algorithm);
    constexpr double well_rounded = 0.05;
    if (ranks == 1 || (best.bus == 0 && best.algorithm >= well_rounded))
      return Reason{"the test of nccl-tests ran on one rank, which sends nothing over a link",
                    "run it on two ranks or more, with -g 2 or with mpirun and MPI=1"};
    if (is_of_processor) return Reason{"nccl-tests has measured the processor's time", "run it without -C"};
    if (!(best.bus > 0))
      return Reason{"every busbw of nccl-tests is 0", "measure larger sizes too, for example -e 128M"};
    const double factor = best.bus / best.algorithm;
    const bool single = is_single(factor, path);
    for (const Row& row : rows)
      add_transfer({.bytes = row.bytes * factor,
                    .seconds = row.us / 1e6,
                    .kind = single ? Transfer::Kind::message : Transfer::Kind::collective},
                   row.place, log);
    log.note(
        path,
        fmt::format("psim takes the bandwidth of a link from busbw, which is {:.3g} times algbw.{}", factor,
                    single ? "" : " A collective operation tells nothing about the latency of a link."));
    if (wrong > 0) log.note(path, "sizes with wrong results: {}; their times count.", wrong);
    return {};
  }
};

}  // namespace

bool read_nccl(const std::string& path, ClusterLog& log) {
  std::vector<Table> tables;
  std::size_t ranks = 0;
  std::string test;
  Lines lines(path);
  while (lines.next_of_any_kind()) {
    const Cells cells = cells_of(lines.text(), ' ');
    if (has(cells, "busbw") && (has(cells, "size") || has(cells, "bytes"))) {
      tables.push_back(
          {ranks, test, has(cells, "redop") || has(cells, "op"), has(cells, "root"), has(cells, "cputime")});
      ranks = 0, test.clear();
    } else if (has(cells, "devices")) {
      ranks = 0;
    } else if (has(cells, "Rank")) {
      ++ranks;
    } else if (has(cells, "starting:")) {
      test = cells.back();
    } else if (!tables.empty()) {
      // Before size, count and type there may be words of a launcher.
      for (std::size_t type = 2; type < cells.size(); ++type) {
        if (number_in(cells[type]) || !number_in(cells[type - 1]) || !number_in(cells[type - 2])) continue;
        tables.back().take(cells, type, lines.place());
        break;
      }
    }
  }
  const std::size_t before = log.transfers.size();
  std::vector<Reason> reasons;
  for (const Table& table : tables) {
    if (table.rows.empty()) continue;
    if (const std::optional<Reason> reason = table.put(path, log)) reasons.push_back(*reason);
  }
  if (!tables.empty())
    check_transfers(path, {"nccl-tests has measured nothing", "the table has a line for each size"}, reasons,
                    before, log);
  return !tables.empty();
}

namespace {

using Json = nlohmann::json;

// One direction of a test.
struct Flow {
  std::vector<Transfer> spans = {};  // what arrived; for TCP of either side
  Transfer whole = {};               // what arrived in the whole test; counts if there are no spans
  bool is_udp = false;
  double lost = 0;                    // share of the datagrams
  std::optional<double> target = {};  // bytes per second that the sender was told to send; 0: no limit
};

// The tests of a file.
struct Tests {
  std::vector<Flow> flows = {};
  std::vector<std::string> errors = {};

  void put(const std::string& path, const char* note, ClusterLog& log) const {
    const std::size_t before = log.transfers.size();
    std::vector<Reason> reasons;
    for (const Flow& flow : flows) put(flow, reasons, log);
    for (const std::string& error : errors) {
      if (log.transfers.size() > before) log.note(path, fmt::format("iperf3 says: {}.", error));
      else reasons.insert(reasons.begin(), {"iperf3 says: " + error, "repeat the test"});
    }
    check_transfers(path, {"iperf3 has measured no interval", "measure for some seconds"}, reasons, before,
                    log);
    log.note(path, note);
  }

 private:
  static void put(const Flow& flow, std::vector<Reason>& reasons, ClusterLog& log) {
    const std::vector<Transfer> spans = flow.spans.empty() ? std::vector{flow.whole} : flow.spans;
    double bytes = 0, seconds = 0;
    for (const Transfer& one : spans) bytes += one.bytes, seconds += one.seconds;
    if (!(bytes > 0) || !(seconds > 0)) return;
    constexpr double nearly = 0.97;  // the link carried what it was given
    if (flow.target ? *flow.target > 0 && bytes / seconds >= nearly * *flow.target
                    : flow.is_udp && flow.lost < 1 - nearly) {
      const std::string rate = flow.target ? fmt::format(" of {:.4g} bit/s", 8 * *flow.target) : "";
      reasons.push_back(
          {fmt::format("the sender of iperf3 had a target bitrate{} (-b), and the link carried it", rate),
           "the link may be faster: measure with TCP and without -b, or with -u -b 0 and --json"});
    } else {
      log.transfers.insert(log.transfers.end(), spans.begin(), spans.end());
    }
  }
};

constexpr const char* span_note =
    "iperf3 measures spans of equal length, which tell the bandwidth and nothing about the latency.";
constexpr const char* text_note =
    "iperf3 measures spans of equal length, which tell the bandwidth and nothing about the latency. Its text "
    "does not tell whether TCP had a target bitrate (-b); psim takes it that it had none.";

double number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// The member, or an empty object.
Json member(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : Json::object();
}

Transfer span_of(const Json& sum) {
  return {
      .bytes = number_of(sum, "bytes"), .seconds = number_of(sum, "seconds"), .kind = Transfer::Kind::span};
}

// One direction of a document. `suffix`: of its sums.
Flow flow_of(const Json& document, const std::string& suffix) {
  const Json test = member(member(document, "start"), "test_start"), end = member(document, "end"),
             sum = member(end, "sum" + suffix), received = member(end, "sum_received" + suffix);
  Flow flow{.is_udp = test.value("protocol", Json()) == "UDP", .lost = number_of(sum, "lost_percent") / 100};
  if (test.contains("target_bitrate"))
    flow.target = std::max({number_of(test, "target_bitrate"), number_of(test, "fqrate")}) / 8 *
                  std::max(1.0, number_of(test, "num_streams"));
  for (const Json& interval : document.value("intervals", Json::array())) {
    const Json one = interval.is_object() ? member(interval, "sum" + suffix) : Json::object();
    // An interval of a sender of UDP tells what was sent.
    if (one.value("omitted", Json()) == true || (flow.is_udp && !one.contains("jitter_ms"))) continue;
    if (span_of(one).seconds > 0) flow.spans.push_back(span_of(one));
  }
  flow.whole = span_of(received);
  if (flow.whole.bytes > 0) return flow;
  flow.whole = span_of(flow.is_udp ? sum : member(end, "sum_sent" + suffix));
  flow.whole.bytes *= 1 - flow.lost;
  return flow;
}

// Adds the documents of a value to those of a file. --json-stream writes the parts of a document one by one,
// and --json-stream-full-output then the whole one.
void take_value(Json json, std::vector<Json>& documents) {
  if (!json.is_object()) return;
  const std::string event = json.value("event", Json()).is_string() ? json["event"].get<std::string>() : "";
  const auto cookie = [](const Json& one) { return member(one, "start").value("cookie", Json()); };
  if (documents.empty() || event == "start" ||
      (event.empty() && (cookie(json).is_null() || cookie(json) != cookie(documents.back()))))
    documents.push_back(Json::object());
  if (event.empty()) documents.back() = std::move(json);
  else if (event == "interval") documents.back()["intervals"].push_back(json["data"]);
  else documents.back()[event] = json["data"];
}

// The text of iperf3: the lines at the end of each test, which its receiver and its sender print.
class IperfText {
 public:
  void take(std::string_view line) {
    const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
    if (has("iperf3: error")) tests_.errors.emplace_back(line.substr(line.find("error")));
    is_udp_ = is_udp_ || has("Datagrams");
    const bool is_server = has("Server output:");  // the same test again, as its server saw it
    if (is_server || has("Connecting to host") || has("iperf Done") ||
        (has("Accepted connection") && !is_of_server_)) {
      end_test();
      is_of_server_ = is_server;
    }
    // role, begin, end, bytes, their unit, lost and all datagrams, side
    static const std::regex form(
        R"(\[ *\d+\](\[\w+-\w\])? +(\d+\.\d+)- *(\d+\.\d+) +sec +([\d.]+) ([KMGT]?)Bytes +)"
        R"(\S+ \S+/sec(?:.* (\d+)/(\d+) \()?.*(sender|receiver))",
        std::regex::optimize);
    constexpr std::size_t longest = 1000;
    std::match_results<std::string_view::const_iterator> parts;
    if (is_of_server_ || !has("/sec") || line.size() > longest ||
        !std::regex_search(line.begin(), line.end(), parts, form))
      return;
    const auto number = [&](std::size_t i) {
      return number_in({parts[i].first, parts[i].second}).value_or(0);
    };
    const bool is_sender = parts[8] == "sender";
    Direction& direction = test_[parts[1]];
    const auto power = parts[5].length() == 0 ? 0 : std::string_view("KMGT").find(parts[5].str()) + 1;
    (is_sender ? direction.sent : direction.arrived) += number(4) * std::pow(1024, power);
    direction.seconds = std::max(direction.seconds, number(3) - number(2));
    if (!is_sender && parts[6].matched) direction.lost += number(6), direction.datagrams += number(7);
  }

  // The tests of all lines.
  const Tests& ended() {
    end_test();
    return tests_;
  }

 private:
  // Of all streams.
  struct Direction {
    double sent = 0, arrived = 0, seconds = 0, lost = 0, datagrams = 0;
  };

  void end_test() {
    for (const auto& [role, one] : test_) {
      const double bytes = is_udp_ || one.arrived > 0 ? one.arrived : one.sent;
      tests_.flows.push_back({.whole = {.bytes = bytes, .seconds = one.seconds, .kind = Transfer::Kind::span},
                              .is_udp = is_udp_,
                              .lost = one.lost / std::max(1.0, one.datagrams)});
    }
    test_.clear();
    is_udp_ = false;
  }

  std::map<std::string, Direction> test_;  // by role
  bool is_udp_ = false, is_of_server_ = false;
  Tests tests_;
};

}  // namespace

bool is_iperf_json(std::string_view beginning) {
  const auto has = [&](const char* part) { return beginning.find(part) != std::string_view::npos; };
  return (beginning.starts_with('{') || beginning.starts_with('[')) &&
         ((has("\"start\"") && has("\"connected\"")) || (has("\"event\"") && has("\"data\"")));
}

void read_iperf_json(const std::string& path, ClusterLog& log) {
  InputStream in(path, true);
  std::vector<Json> documents;
  try {
    while (!(in >> std::ws).eof()) {
      Json json;
      in >> json;
      if (!json.is_array()) take_value(std::move(json), documents);
      else
        for (Json& one : json) take_value(std::move(one), documents);
    }
  } catch (const Json::exception&) {
    if (documents.empty())
      throw LogError(path + ": the JSON of iperf3 breaks off", "let iperf3 end before you copy its output");
    log.note(path, "the JSON of iperf3 breaks off; psim uses the documents before.");
  }
  Tests tests;
  for (const Json& document : documents) {
    for (const char* suffix : {"", "_bidir_reverse"}) tests.flows.push_back(flow_of(document, suffix));
    if (const Json error = document.value("error", Json()); error.is_string()) tests.errors.push_back(error);
  }
  tests.put(path, span_note, log);
}

bool read_iperf_text(const std::string& path, ClusterLog& log) {
  IperfText text;
  Lines lines(path);
  while (lines.next_of_any_kind()) text.take(lines.text());
  const Tests& tests = text.ended();
  if (tests.flows.empty() && tests.errors.empty()) return false;
  tests.put(path, text_note, log);
  return true;
}

}  // namespace psim::calibrate
