// Goal: a page says what the document says, whatever names are in it, and asks for nothing. Method: studies
// made by hand, and the page as text; tests/page opens pages in a browser.
#include "analysis/page/page.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/page/run_parts.hpp"
#include "analysis/page/study_parts.hpp"
#include "analysis/render/html.hpp"
#include "analysis/run_files.hpp"
#include "analysis/study/figures.hpp"
#include "analysis/study/files.hpp"
#include "tests/analysis/study/make_study.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

// Worker 1 computes all the time, and the other two wait for it; the losses fall.
void add_workers(Study& study) {
  for (Cell& cell : study.cells) {
    for (StudyRun& run : cell.runs) {
      run.summary["digest"] = "0123456789abcdef";
      Json& workers = run.summary["workers"] = Json::array();
      for (const double wait : {0.75, 0.0, 0.75})
        workers.push_back({{"compute_share", 1 - wait},
                           {"wait_share", wait},
                           {"network_share", 0.0},
                           {"absent_share", 0.0}});
    }
  }
}

// The first run of the arm, and of no other seed, has been explained.
void explain(Study& study, const std::string& arm, const Json& by_kind, double total) {
  for (Cell& cell : study.cells) {
    if (cell.arm == arm)
      cell.runs.front().cause = {{"total_s", total},
                                 {"verdict", {{"kind", "worker-compute"}, {"nodes", {"worker 1"}}}},
                                 {"by_kind", by_kind},
                                 {"sentence", "Worker 1 <sets> the pace."}};
  }
}

Study two_arms(const std::string& slow, const std::string& fast) {
  Study s = study(
      {}, {cell(slow, {}, reaching({4, 5, 6, 5, 4})), cell(fast, {}, reaching({2, 2.4, 3.1, 2.6, 2.1}))});
  for (Cell& one : s.cells) {
    for (StudyRun& run : one.runs) {
      for (int i = 0; i < 5; ++i)
        run.summary["curve"].push_back({{"sim_time_s", 0.5 * i},
                                        {"updates", i},
                                        {"epoch", 0.1 * i},
                                        {"bytes_sent", 100 * i},
                                        {"loss", 2.0 / (1 + i)},
                                        {"accuracy", 0.1 * i}});
    }
  }
  add_workers(s);
  for (StudyRun& run : s.cells.front().runs) run.summary["time"]["wait_share"] = 0.5;
  return s;
}

std::string page_of(const Study& study) {
  const Evaluation evaluation = evaluate(study);
  return study_page({.study = study, .evaluation = evaluation, .target = "accuracy 93 %"});
}

std::string attribute(const std::string& tag, const std::string& name) {
  const std::string begins = name + "=\"";
  const std::size_t at = tag.find(begins);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begins.size();
  return tag.substr(from, tag.find('"', from) - from);
}

}  // namespace

TEST_CASE("every number of a page is the one of the document", "[page]") {
  const Study s = two_arms("bsp", "asp");
  const Json all = document(s, evaluate(s));
  const std::string page = page_of(s);
  std::size_t numbers = 0;
  for (std::size_t at = page.find("<data "); at != std::string::npos; at = page.find("<data ", at + 1)) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    const std::string path = attribute(tag, "data-path"), value = attribute(tag, "value");
    INFO(tag);
    const Json& exact = all.at(Json::json_pointer(path));
    CHECK(value == (exact.is_string() ? exact.get<std::string>() : exact.dump()));
    ++numbers;
  }
  CHECK(numbers > 60);
}

TEST_CASE("a page says who won and which worker set the pace", "[page]") {
  Study s = two_arms("bsp", "asp");
  explain(s, "bsp", {{"worker-compute", 3.5}, {"latency", 0.5}}, 4);
  explain(s, "asp", {{"worker-compute", 1.5}, {"latency", 0.5}}, 2);
  const std::string page = page_of(s);
  const std::string answer = page.substr(page.find("<section id=\"answer\">"), 3000);
  CHECK(answer.find(">asp</b> reached accuracy 93 % in ") != std::string::npos);
  CHECK(answer.find(" times as fast (") != std::string::npos);
  CHECK(answer.find("with all 5 seeds") != std::string::npos);
  CHECK(page.find("<h2>Under bsp worker 1 set the pace</h2>") != std::string::npos);
}

TEST_CASE("without causes a page says which workers waited", "[page]") {
  const std::string page = page_of(two_arms("bsp", "asp"));
  CHECK(page.find("set the pace") == std::string::npos);
  CHECK(page.find("workers 0 and 2 waited 75 % of their time, worker 1 0 %") != std::string::npos);
  CHECK(page.find("<code>psim why</code>") != std::string::npos);  // how to learn the cause
  CHECK(workers_text({4, 5, 6, 7}) == "workers 4-7");
  CHECK(workers_text({0, 2, 3, 4}) == "workers 0 and 2-4");
}

TEST_CASE("arms that are numbers have their axis, and hardly different ones no reason", "[page]") {
  Study s = two_arms("1", "16");
  s.arm_axis = "cluster.servers";
  CHECK(page_of(s).find(">servers = 16</b> reached") != std::string::npos);
  explain(s, "1", {{"server-link", 1.1}, {"latency", 2.9}}, 4);
  explain(s, "16", {{"server-link", 1.0}, {"latency", 1.0}}, 2);
  CHECK(page_of(s).find("Why:") != std::string::npos);
  explain(s, "1", {{"server-link", 1.05}, {"latency", 1.0}}, 2.05);
  CHECK(page_of(s).find("Why:") == std::string::npos);
}

TEST_CASE("an arm is not called fast for its short budget", "[page]") {
  Study s = study({}, {cell("fast", {}, {reached(0.5, 20), reached(0.6, 20), reached(0.4, 20), missed(20)}),
                       cell("short", {}, {reached(1, 3), reached(1.1, 3), missed(3), missed(3)})});
  add_workers(s);
  const std::string page = page_of(s);
  CHECK(page.find("class=\"lead\"><b class=\"name s0\">fast</b> reached ") != std::string::npos);
  const std::string lead = page.substr(page.find("class=\"lead\""), 600);
  CHECK(lead.find(" of 4 runs") == std::string::npos);  // numbers stand in elements of their own
  CHECK(lead.find("of <") != std::string::npos);
  CHECK(lead.find("on average") == std::string::npos);
  CHECK(lead.find("short") > lead.find("fast"));
}

TEST_CASE("arms that end at the same date are told apart by their loss", "[page]") {
  std::vector<RunFacts> low = lasting({2, 2, 2}), high = lasting({2, 2, 2});
  for (RunFacts& run : low) run.loss = 0.25;
  Study s = study({}, {cell("bsp", {}, high), cell("asp", {}, low)});
  s.cells[1].runs[0].summary["sim_time_s"] = 2.001;
  add_workers(s);
  const std::string page = page_of(s);
  CHECK(page.find("The lowest final loss was that of <b class=\"name s1\">asp</b>") != std::string::npos);
}

TEST_CASE("of many conditions and arms a page names the first and the last", "[page]") {
  const auto answer_of = [](const Study& s) {
    const std::string page = page_of(s);
    const std::size_t at = page.find("<section id=\"answer\">");
    return page.substr(at, page.find("</section>", at) - at);
  };
  std::vector<Cell> cells;
  for (int i = 1; i <= 20; ++i) {
    cells.push_back(cell("bsp", {std::to_string(i)}, lasting({4.0 + i, 4.1 + i, 4.2 + i})));
    cells.push_back(cell("asp", {std::to_string(i)}, lasting({2.0 + i, 2.1 + i, 2.2 + i})));
  }
  Study conditions = study({"cluster.workers"}, std::move(cells));
  add_workers(conditions);
  const std::string many = answer_of(conditions);
  CHECK(many.find("asp</b> with workers = 1 (") != std::string::npos);
  CHECK(many.find("slowest <b class=\"name s0\">bsp</b> with workers = 20 (") != std::string::npos);
  CHECK(many.find("; 38 others lie between (see <a href=\"#table\">") != std::string::npos);
  CHECK(many.find("Each of the 20 conditions") != std::string::npos);
  CHECK(count(many, "class=\"lead\"") == 21);  // one, and one in each condition's fold

  std::vector<Cell> arms{cell("0", {}, lasting({20, 20.1, 20.2}))};
  for (int i = 1; i <= 20; ++i)
    arms.push_back(cell(std::to_string(i), {}, lasting({30.0 - i, 30.1 - i, 30.2 - i})));
  Study one = study({}, std::move(arms));
  add_workers(one);
  const std::string told = answer_of(one);
  CHECK(told.find("among the others 9 were faster, 8 slower, and 1 showed no difference") !=
        std::string::npos);
  CHECK(count(told, " times as fast (") == 1);
  CHECK(count(told, " times as long (") == 1);
}

TEST_CASE("a study's page says what its arms are", "[page]") {
  const Study s = two_arms("bsp", "ssp 3");
  const Evaluation evaluation = evaluate(s);
  const std::string page =
      study_page({.study = s,
                  .evaluation = evaluation,
                  .arms = {{"bsp", {{"consistency.model", "bsp", "waits <for> all", true}}},
                           {"ssp 3",
                            {{"consistency.model", "ssp", "waits a little", true},
                             {"consistency.staleness", "3", "How far ahead.", false}}},
                           {"of another study", {{"consistency.model", "asp", "never waits", true}}}}});
  CHECK(page.find("</b> bsp</dt><dd><b>consistency.model = bsp</b>: waits &lt;for&gt; all</dd>") !=
        std::string::npos);
  CHECK(
      page.find("<b>consistency.model = ssp</b>: waits a little<br><b>consistency.staleness = 3</b></dd>") !=
      std::string::npos);
  CHECK(count(page, "<dt><code>consistency.staleness</code></dt><dd>How far ahead.</dd>") == 1);
  CHECK(page.find("never waits") == std::string::npos);
}

TEST_CASE("why an arm is slower is what took more of its critical path, by the most", "[page]") {
  const auto answer_of = [](const Study& s) {
    const std::string page = page_of(s);
    const std::size_t at = page.find("<section id=\"answer\">");
    return page.substr(at, page.find("</section>", at) - at);
  };
  Study s = two_arms("bsp", "asp");  // bsp is slower
  // The main cause of both is the same, and takes the same time.
  explain(s, "bsp", {{"worker-compute", 1.9}, {"fault", 1.5}, {"latency", 0.6}}, 4);
  explain(s, "asp", {{"worker-compute", 1.8}, {"latency", 0.2}}, 2);
  const std::string answer = answer_of(s);
  CHECK(answer.find("Why: faults, and the recovery from them took ") != std::string::npos);
  CHECK(answer.find("data-path=\"/aggregates/0/cause/by_kind/fault\"") != std::string::npos);
  CHECK(answer.find("none under <b class=\"name s1\">asp</b> (seed 1)") != std::string::npos);
  CHECK(answer.find("</b>: Worker 1 &lt;sets&gt; the pace.") != std::string::npos);
  // Arms that take the same time have no reason, whatever their paths are.
  explain(s, "asp", {{"worker-compute", 1.0}, {"latency", 2.9}}, 3.9);
  const std::string alike = answer_of(s);
  CHECK(alike.find("Why") == std::string::npos);
  CHECK(alike.find("The same cause sets the pace of all arms. <code>psim why</code> says about <b "
                   "class=\"name s0\">bsp</b>") != std::string::npos);
  s.cells.back().runs.front().cause["verdict"]["nodes"] = {"worker 2"};
  CHECK(answer_of(s).find("sets the pace of all arms") == std::string::npos);
}

TEST_CASE("an axis on which a run goes back has no curves", "[page]") {
  Study s = two_arms("bsp", "asp");
  const auto names = [](const std::string& page, const std::string& along) {
    return page.find("\"along\":\"" + along + "\"") != std::string::npos;
  };
  CHECK(names(page_of(s), "updates"));
  s.cells.front().runs.front().summary["curve"][3]["updates"] = 0;  // a crash took them back
  const std::string page = page_of(s);
  CHECK(!names(page, "updates"));
  CHECK(names(page, "sim_time_s"));
  CHECK(page.find("No curves along updates of the weights") != std::string::npos);
}

TEST_CASE("no name of a study ends its page", "[page]") {
  const std::string evil = "</script><img src=x onerror=alert(1)>";
  const std::string page = page_of(two_arms("bsp", evil));
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "</script>") == 2);  // of the data and of the programs
  CHECK(page.find("&lt;img src=x") != std::string::npos);
}

TEST_CASE("a page brings everything with it", "[page]") {
  const std::string page = page_of(two_arms("bsp", "asp"));
  const std::string head = page.substr(0, 1000);
  CHECK(head.find(page_mark) != std::string::npos);
  CHECK(head.find("default-src 'none'") != std::string::npos);
  CHECK(page.find("sourceMappingURL") == std::string::npos);
  CHECK(page.find("Permission is hereby granted, free of charge") != std::string::npos);
  for (const char* file : {"uplot.min.js", "page.css", "page.js", "chart.js", "study.js"}) {
    INFO(file);
    CHECK(page.find(content(source_folder() / "analysis/page" / file)) != std::string::npos);
  }
  CHECK(page.size() < 300'000);
}

TEST_CASE("numbers are rounded as their shape says", "[page]") {
  CHECK(shown(2.9000000000000004, as_seconds) == "2.90 s");
  CHECK(shown(0.6027, as_percent) == "60 %");
  CHECK(shown(83) == "83");
  CHECK(shown(nullptr) == "-");
  CHECK(shown(0.25, {.digits = 2, .is_inverse = true}) == "4.0");
  CHECK(shown(0.0, as_seconds) == "0 s");
}

TEST_CASE("a steady run has a steady rate, whatever its steps", "[page]") {
  for (const double step : {0.0071, 0.013, 0.0349, 0.1}) {
    const double end = step * std::floor(2.9 / step);
    const TrafficBins bins = traffic_bins(end, step);
    INFO(step);
    CHECK(bins.width * static_cast<double>(bins.count) == Approx(end));
    CHECK(bins.width == Approx(static_cast<double>(bins.steps) * step).epsilon(0.05));
    CHECK(bins.count <= 61);
    std::vector<double> sums(bins.count);
    double all = 0;
    for (int i = 0; i * step < end; ++i) {
      const double early = i % 3 == 0 ? 0.05 * step : 0;  // steps are not all alike
      bins.add(sums, i * step + 0.5 * step - early, 1000);
      all += 1000;
    }
    const double mean = all / static_cast<double>(bins.count);
    for (const double sum : sums) CHECK(std::abs(sum - mean) < 0.1 * mean);
  }
  CHECK(traffic_bins(3, 1).count == 60);  // three bursts are seen one by one
  CHECK(traffic_bins(3, 0).steps == 0);
}

TEST_CASE("a run's page begins with its first fault, and its curves have the dates", "[page]") {
  const Json none = nullptr;
  Json summary{
      {"architecture", "parameter-server"},
      {"consistency", "bsp"},
      {"workers", Json::array({1, 2})},
      {"updates", 7},
      {"sim_time_s", 10.0},
      {"target", {{"given", false}}},
      {"time", {{"compute_share", 0.5}, {"wait_share", 0.5}, {"network_share", 0.0}, {"absent_share", 0.0}}}};
  const auto first = [&] {
    const std::string answer = run_answer({.page = {.summary = summary}, .numbers = Numbers(summary)});
    std::string text;
    bool is_tag = false;
    for (const char c : answer.substr(0, answer.find("</p>"))) {
      is_tag = is_tag ? c != '>' : c == '<';
      if (!is_tag && c != '>') text += c;
    }
    return text;
  };
  CHECK(first().starts_with("2 workers under bsp"));
  CHECK(dates_of(summary).empty());
  Json recovery{{"server", 1},       {"at_s", 2.0},       {"detection_s", 1.5}, {"takeover_s", 0.001},
                {"transfer_s", 0.0}, {"catch_up_s", 2.0}, {"total_s", 3.5}};
  summary["failures"]["recoveries"] = Json::array({recovery});
  CHECK(first() == "Server 1 crashed at 2.00 s; 3.50 s later training was back where it had been.");
  using Dates = std::vector<std::pair<double, std::string>>;
  CHECK(dates_of(summary) == Dates{{2.0, "crash"}, {3.5, "detected, taken over"}});
  recovery = {{"worker", 0},        {"at_s", 4.0},     {"detection_s", 1.0},
              {"reforming_s", 1.0}, {"total_s", none}, {"lost_work_s", none}};
  summary["failures"]["recoveries"] = Json::array({recovery, recovery});
  CHECK(first() == "Worker 0 crashed at 4.00 s; the run ended before training was back where it had been.");
  CHECK(dates_of(summary) == Dates{{4.0, "crash"}, {5.0, "detected"}, {6.0, "new group"}, {4.0, ""}});
}

TEST_CASE("an axis has its ticks within its ends", "[page]") {
  CHECK(ticks(0, 3, 6) == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3});
  CHECK(letter_of(0) == "a");
  CHECK(letter_of(27) == "ab");
}
