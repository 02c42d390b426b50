#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "analysis/calibrate/step_log.hpp"
#include "analysis/calibrate/tool_outputs.hpp"

namespace psim::calibrate {
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
