// The labs of the course: solved from their text alone, by right and by typically wrong answers, and graded.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/student.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

double seconds(const Json& run) { return run["sim_time_s"]; }
double target(const Json& run) { return run["target"]["sim_time_s"]; }
double loss(const Json& run) { return run["final"]["loss"]; }

// Half the squared distance from [0, 1] of the outputs for the sample that step.toml has.
double loss_by_hand(const std::string& scenario) {
  std::smatch found;
  REQUIRE(std::regex_search(scenario, found,
                            std::regex("inputs = \\[\\[([01]), ([01]), ([01]), ([01]), ([01])\\]")));
  std::vector<double> values;
  for (std::size_t i = 1; i <= 5; ++i) values.push_back(std::stod(found[i]));
  double next = 0.1;  // the first weight of a layer; each is 0.1 more than the one before
  for (const std::size_t outputs : {4, 3, 2}) {
    std::vector<double> sums(outputs);
    double weight = next;
    for (double& sum : sums) {
      for (const double value : values) {
        sum += weight * value;
        weight += 0.1;
      }
    }
    values = sums;
    next += 0.1;
  }
  return (values[0] * values[0] + (values[1] - 1) * (values[1] - 1)) / 2;
}

using Solution = void (*)(Student&);

void solve_1(Student& s) {
  const double workers = s.number("workers"), compute = s.number("time"),
               latency =
                   s.number("latency") *
                   (content(s.folder() / "step.toml").find("latency = \"1ms\"") != std::string::npos ? 1
                                                                                                     : 1e-3),
               bits = s.number("bandwidth") *
                      (content(s.folder() / "step.toml").find("kbps") != std::string::npos ? 1e3 : 1e6);
  s.answer("weights", 38);
  s.answer("push_bytes", workers * 38 * 4);
  s.answer("step_ms", compute + 2 * workers * 38 * 4 * 8 / bits * 1e3 + 4 * latency);
  s.answer("first_loss", loss_by_hand(content(s.folder() / "step.toml")));
  s.answer("messages", 3 * workers);
  s.answer("one_gradient", "as far");
  s.answer("loss_of_sums", loss(s.run({"consistency.aggregation=sum"})));
}

void solve_2(Student& s) {
  const Json even = s.run({"straggler.0.slowdown=1.0"}), bsp = s.run({}), ssp = s.run({"consistency=ssp 3"}),
             asp = s.run({"consistency=asp"}), backup = s.run({"consistency=backup-workers 1"});
  const std::string many = "straggler.0.workers=[0, 1, 2, 3, 4, 5]", some = "straggler.0.probability=0.1";
  s.answer("how_much_slower", target(bsp) / target(even));
  s.answer("how_long_fast_ones_wait",
           fmt::format("{:.4g} %", 100 * bsp["workers"][0]["wait_share"].get<double>()));
  s.answer("who_is_first", target(asp) < target(backup) ? "asp" : "backup 1");
  s.answer("bsp_seconds", target(bsp));
  s.answer("ssp_lead", 3);
  s.answer("asp_staleness", asp["staleness"]["mean"].get<double>());
  std::int64_t cancelled = 0;  // only the slow one is
  for (const Json& worker : backup["workers"])
    cancelled = std::max(cancelled, worker["cancelled"].get<std::int64_t>());
  s.answer("cancelled", static_cast<double>(cancelled));
  s.answer("when_a_bound_helps",
           target(s.run({many, some})) / target(s.run({many, some, "consistency=ssp 3"})));
}

void solve_3(Student& s) {
  const std::string momentum = "training.optimizer=momentum", much = "training.momentum=0.9";
  const Json asp = s.run({}), bsp = s.run({"consistency.model=bsp"}), pushed = s.run({momentum, much}),
             cured = s.run({momentum, much, "consistency.model=bsp"}),
             aware = s.run({momentum, much, "training.staleness_aware=true"}),
             half = s.run({momentum, much, "training.learning_rate=0.1"}),
             limited = s.run({"consistency.max_staleness=5"});
  const auto pace = [](const Json& run) { return run["steps"].get<double>() / seconds(run); };
  const double ratio = loss(pushed) / loss(asp), least = std::min({loss(cured), loss(aware), loss(half)});
  s.answer("mean_staleness", s.number("workers") - 1);
  s.answer("momentum_under_asp", ratio < 0.7   ? "much smaller"
                                 : ratio < 1.4 ? "about the same"
                                               : "much larger");
  s.answer("best_cure", least == loss(cured)   ? "bsp"
                        : least == loss(aware) ? "pushes that weigh 1 / staleness"
                                               : "a learning rate of 0.1");
  s.answer("asp_loss", loss(asp));
  s.answer("momentum_loss", loss(pushed));
  s.answer("speed_of_asp", pace(asp) / pace(bsp));
  s.answer("share_thrown_away",
           limited["pushes"]["dropped"].get<double>() / limited["pushes"]["arrived"].get<double>());
}

void solve_4(Student& s) {
  const double workers = s.number("workers"), compute = s.number("time") / 1e3,
               bits = 32 * 2 * s.number("arrays"), each_way = workers * bits / (1e9 * s.number("bandwidth"));
  const Json one = s.run({}), four = s.run({"cluster.servers=4"}), two = s.run({"cluster.servers=2"}),
             ring = s.run({"architecture.kind=all-reduce"}),
             half = s.run({"filter=[{kind=\"fp16\", on=\"both\"}]"});
  const double least = std::min({seconds(one), seconds(two), seconds(ring)});
  s.answer("step_seconds", compute + 2 * each_way);
  s.answer("four_servers", (compute + 2 * each_way) / (compute + each_way / 2));
  s.answer("ring_or_servers", least == seconds(one)   ? "one server"
                              : least == seconds(two) ? "two servers"
                                                      : "a ring");
  s.answer("bytes_of_a_step", 2 * workers * bits / 8e6);
  s.answer("ring_bytes", ring["bytes_sent"].get<double>() / 1e7);
  s.answer("half_the_bytes", seconds(one) / seconds(half));
}

void solve_5(Student& s) {
  const std::string calm = "fault=[]", on = "recovery.enabled=true", copy = "replication.copies=1",
                    ring = "architecture.kind=all-reduce", whom = "fault.0.nodes=[\"worker 1\"]";
  std::smatch every;
  const std::string text = content(s.folder() / "README.md");
  REQUIRE(std::regex_search(text, every, std::regex("snapshot.every=([0-9]+) updates")));
  const Json alone = s.run({calm, on}), watched = s.run({calm, on, copy}), nothing = s.run({}),
             replica = s.run({copy}), snapshots = s.run({"snapshot.every=" + every[1].str() + " updates"}),
             restarts = s.run({ring, whom, "recovery.workers=restart"}),
             shrinks = s.run({ring, whom, "recovery.workers=remove"});
  const auto recovery = [](const Json& run, const char* part) {
    return run["failures"]["recoveries"][0][part].get<double>();
  };
  const double least = std::min({seconds(replica), seconds(restarts), seconds(shrinks)});
  s.answer("detection", (s.number("timeout") - 4) / 1e3);
  s.answer("who_loses_most", "no copy at all");
  s.answer("price_of_a_replica", watched["bytes_sent"].get<double>() / alone["bytes_sent"].get<double>());
  s.answer("lost_by_nothing", seconds(nothing) - seconds(alone));
  s.answer("lost_by_snapshots", seconds(snapshots) - seconds(alone));
  s.answer("catch_up", recovery(snapshots, "catch_up_s"));
  s.answer("ring_or_servers", least == seconds(replica)    ? "servers with a replica"
                              : least == seconds(restarts) ? "the ring that restarts"
                                                           : "the ring that shrinks");
  s.answer("ring_lost_work", recovery(shrinks, "total_s"));
}

void solve_6(Student& s) {
  const Json baseline = s.run({});
  const double asp = target(s.run({"consistency=asp"})), servers = target(s.run({"cluster.servers=3"})),
               rate = target(s.run({"training.learning_rate=0.5"})), least = std::min({asp, servers, rate});
  s.answer("what_helps_most", least == asp       ? "asp"
                              : least == servers ? "three servers"
                                                 : "a learning rate of 0.5");
  s.answer("baseline_seconds", target(baseline));
  s.answer("baseline_cents", 100 * baseline["economy"]["to_target"]["dollars"].get<double>());
  write(s.folder() / "design.toml",
        "[consistency]\nmodel = \"asp\"\n[training]\nlearning_rate = 0.5\n[cluster]\nservers = 3\n");
}

constexpr Solution solutions[] = {solve_1, solve_2, solve_3, solve_4, solve_5, solve_6};

}  // namespace

TEST_CASE("labs: each is solved from its text", "[lab]") {
  for (int lab = 1; lab <= 6; ++lab) {
    for (const std::string id : {"a1234567", "b.c@uni"}) {
      INFO("lab " << lab << " of " << id);
      Student student(lab, id);
      solutions[lab - 1](student);
      const Outcome check = student.check();
      INFO(check.out);
      CHECK(check.code == 0);
      const Json grade = graded(student.hand_in());
      INFO(grade.dump(2));
      CHECK(grade["points"] == grade["possible"]);
      CHECK(grade["findings"].empty());
    }
  }
}

TEST_CASE("labs: predictions come first, and stay", "[lab]") {
  Student student(2, "a1");
  student.answer("bsp_seconds", "2.5");
  const Outcome early = student.check();
  CHECK(early.code == 1);
  CHECK(early.out.find("first predict how_much_slower, how_long_fast_ones_wait, who_is_first") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(student.folder() / "runs" / "bsp"));
  student.answer("how_much_slower", "1");  // that it does not matter
  student.answer("how_long_fast_ones_wait", "none");
  student.answer("who_is_first", "SSP 3");
  const Outcome unread = student.check();
  CHECK(unread.out.find("cannot be read: write a share: 73 % or 0.73") != std::string::npos);
  CHECK(unread.out.find("locked: 1; it is compared when all predictions are made") != std::string::npos);
  student.answer("how_long_fast_ones_wait", "0 %");
  CHECK(student.check().out.find("you predicted 1; it is ") != std::string::npos);
  student.answer("how_much_slower", "3.5");
  CHECK(student.check().out.find("(your first prediction counts: 1)") != std::string::npos);
  const Json grade = graded(student.hand_in());
  CHECK(grade["items"][0]["points"] == 0.5);  // made, and wrong
  const std::string told = student.check().out, is = "you predicted 1; it is ";
  student.answer("how_much_slower", std::stod(told.substr(told.find(is) + is.size())));
  student.check();  // what is right now was not predicted
  CHECK(graded(student.hand_in())["items"][0]["points"] == 0.5);
}

TEST_CASE("labs: what nobody answered earns nothing, a prediction that was never made neither", "[lab]") {
  Student student(2, "nobody");
  const Json grade = graded(student.hand_in());
  REQUIRE(grade["items"].size() > 0);
  for (const Json& item : grade["items"]) {
    INFO(item.dump());
    CHECK(item["points"] == 0);
  }
}

TEST_CASE("labs: wrong answers get one hint after the other", "[lab]") {
  Student student(1, "a1");
  student.answer("weights", "12");  // neurons that are no inputs, and not weights
  student.answer("push_bytes", "152");
  student.answer("step_ms", "3");
  student.answer("messages", "4");
  const auto hints = [&] {
    const std::string out = student.check().out;
    return std::pair(out.find("hint 1: run it") != std::string::npos,
                     out.find("hint 2: each worker") != std::string::npos);
  };
  CHECK(hints() == std::pair(true, false));
  CHECK(hints() == std::pair(true, false));  // the same answer again
  student.answer("messages", "5");
  CHECK(hints() == std::pair(true, true));
  solve_1(student);
  CHECK(student.check().code == 0);
  student.answer("messages", "5");  // what was right once is not any more
  CHECK(student.check().code == 1);
}

TEST_CASE("labs: a hand-in that was edited or copied is found", "[lab]") {
  Student one(4, "one"), two(4, "two");
  solve_4(one);
  solve_4(two);
  one.check();
  two.check();
  const fs::path file = one.hand_in();
  Json edited = Json::parse(content(file));
  edited["answers"]["ring_bytes"] = "1";
  write(file, edited.dump());
  const Json grade = graded(file);
  CHECK(grade["findings"][0].get<std::string>().find("it was edited") != std::string::npos);
  CHECK(grade["points"] == 0);
  Json stolen = Json::parse(content(two.hand_in()));
  stolen["student"] = "three";
  const fs::path copy = one.folder() / "copy.json";
  write(copy, stolen.dump());
  CHECK(graded(copy)["findings"].size() == 1);  // the seal; nothing is run for it
  const Outcome both = psim::test::psim({"grade", two.hand_in().string(), copy.string()});
  CHECK(both.code == 1);
  CHECK(both.out.find("its answers are those of two") != std::string::npos);
  const std::string again = two.hand_in().string();
  CHECK(psim::test::psim({"grade", again, again}).out.find("has handed in") != std::string::npos);
  Student first(1, "two");
  const Outcome labs = psim::test::psim({"grade", again, first.hand_in().string()});
  CHECK(labs.out.find("has handed in") == std::string::npos);
  // Nobody is reported for knowing as little as another one, nor for a good guess.
  Student x(2, "x"), y(2, "y");
  const Outcome unanswered = psim::test::psim({"grade", x.hand_in().string(), y.hand_in().string()});
  CHECK(unanswered.out.find("its answers") == std::string::npos);
}

TEST_CASE("labs: grades in every form", "[lab]") {
  Student student(1, "a1");
  solve_1(student);
  student.check();
  const fs::path file = student.hand_in(), folder = student.folder();
  const Outcome outcome =
      psim::test::psim({"grade", file.string(), "--csv", (folder / "g.csv").string(), "--gradescope",
                        (folder / "results.json").string(), "--junit", (folder / "g.xml").string()});
  CHECK(outcome.code == 0);
  CHECK(content(folder / "g.csv").find("a1,1,7,7,") != std::string::npos);
  const Json results = Json::parse(content(folder / "results.json"));
  CHECK(results["score"] == 7.0);
  CHECK(results["tests"].size() == 7);
  CHECK(results["tests"][0]["max_score"] == 1.0);
  CHECK(content(folder / "g.xml").find("tests=\"7\" failures=\"0\"") != std::string::npos);
  student.answer("messages", "1");
  student.check();
  const std::string again = student.hand_in().string();
  CHECK(psim::test::psim({"grade", again}).code == 1);
  CHECK(psim::test::psim({"grade", again, "--pass", "80"}).code == 0);
}

TEST_CASE("labs: nonsense is refused", "[lab]") {
  const TemporaryFolder folder;
  const auto says = [&](const std::vector<std::string>& words, const std::string& what) {
    const Outcome outcome = psim::test::psim(words, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find(what) != std::string::npos);
  };
  says({"lab", "start"}, "which lab?");
  says({"lab", "start", "9", "--student", "a"}, "there is no lab 9");
  says({"lab", "start", "x", "--student", "a"}, "no number of a lab");
  says({"lab", "start", "1", "--student", "../../etc"}, "no ID of a student");
  says({"lab", "start", "1"}, "whose lab is it?");
  says({"lab", "check"}, "no folder of a lab");
  says({"lab", "dance"}, "nothing that psim lab does");
  write(folder.path() / "lab.json", "{\"format\": 3}");
  says({"lab", "check"}, "not as psim wrote it");
  for (const std::string& text :
       std::vector<std::string>{"", "{}", "[1]", "{\"format\": \"psim.hand-in/1\", \"lab\": 1}"}) {
    write(folder.path() / "hand.json", text);
    const Outcome outcome = psim::test::psim({"grade", "hand.json"}, folder.path());
    CHECK(outcome.code == 1);
    CHECK(outcome.out.find("is no hand-in") != std::string::npos);
    CHECK(outcome.out.find("-          -          -  hand.json") != std::string::npos);  // nobody's
  }
  says({"grade", "a.json", "b.json"}, "there is no file a.json, b.json");
  says({"grade"}, "psim grade needs hand-ins");
  const Outcome pile = psim::test::psim({"grade", "a.json", "hand.json", "--csv", "g.csv"}, folder.path());
  CHECK(pile.code == 1);  // one that is missing stops no pile
  CHECK(content(folder.path() / "g.csv").find(",,,,a.json,a.json: No such file") != std::string::npos);
}
