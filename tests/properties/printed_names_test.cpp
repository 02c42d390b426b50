// Goal: whatever psim prints can be used as it stands: a name in `psim explain`, a command in a shell.
// Method: everything that some runs and studies print.
#include <algorithm>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;

TEST_CASE("every name in summary.json and every label of its text is explained", "[study]") {
  const Place place;
  std::set<std::string> names;
  // A kind of message, a library or a run's own name stands for itself.
  const std::function<void(const Json&, const std::string&)> add = [&](const Json& value,
                                                                       const std::string& of) {
    if (value.is_array()) {
      for (const Json& one : value) add(one, of);
    }
    if (!value.is_object() || of == "bytes_by_kind" || of == "libraries") return;
    for (const auto& [key, inner] : value.items()) {
      names.insert(key);
      add(inner, key);
    }
  };
  std::string texts;
  for (const char* one : {"server_crash", "serving", "two_jobs", "clicks"}) {
    const std::vector<std::string> words{"run", one, "--set", "training.epochs=1", "--out", one};
    texts += place.psim(words).out;
    add(Json::parse(content(place.at(one) / "summary.json")), "");
  }
  CHECK(names.contains("unused_at_end"));
  // "  quality   ...", and in a line of several "crashes 1   suspicions 2 (0 false)".
  const std::regex label("\n  ([a-z]+)  "), part("(?:  |, )([a-z]+(?: [a-z]+)*) [0-9]");
  std::set<std::string> labels{"false"};
  for (std::sregex_iterator i(texts.begin(), texts.end(), label), end; i != end; ++i) labels.insert((*i)[1]);
  const std::size_t line = texts.find("\n  failures");
  REQUIRE(line != std::string::npos);
  const std::string failures = texts.substr(line + 1, texts.find('\n', line + 1) - line - 1);
  for (std::sregex_iterator i(failures.begin(), failures.end(), part), end; i != end; ++i)
    labels.insert((*i)[1]);
  CHECK(labels.contains("crashes"));
  CHECK(labels.contains("requests sent again"));
  names.insert(labels.begin(), labels.end());
  for (const char* other : {"tuned", "untuned", "compare.seeds", "compare.arm", "compare.consistency",
                            "compare.\"cluster.workers\"", "tune.seeds", "tune.training.learning_rate"})
    names.insert(other);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(place.psim({"explain", name}).code == 0);
  }
}

TEST_CASE("explain knows every column as merge --columns names it", "[study]") {
  const Place place;
  place.write(std::string(scenario) + axes);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  const std::string list = place.psim({"merge", "study", "--columns", "nosuch"}).err;
  const std::size_t begin = list.find("There are: ");
  REQUIRE(begin != std::string::npos);
  std::string names = list.substr(begin + 11, list.find('\n', begin) - begin - 11);
  std::ranges::replace(names, ',', ' ');
  std::istringstream words(names);
  int count = 0;
  for (std::string name; words >> name; ++count) {
    INFO(name);
    CHECK(place.psim({"explain", name}).code == 0);
  }
  CHECK(count > 10);
}

TEST_CASE("hints can be typed as they are printed, whatever names are in them", "[study]") {
  const Place place;
  const auto works = [&](const std::string& line) {
    INFO(line);
    CHECK(process({"sh", "-c", "psim() { '" + binary().string() + "' \"$@\"; }\n" + line}, place.at("."))
              .code == 0);
  };
  place.write(std::string(scenario) + axes);
  for (const std::string name : {"a b", "-odd", "it's", "$HOME", "a;b"}) {
    const std::string ran = place.psim({"run", "scenario.toml", "--out=" + name}).out;
    REQUIRE(contains(ran, ", or psim replay "));
    works(ran.substr(ran.find("psim replay "),
                     ran.find('\n', ran.find("psim replay ")) - ran.find("psim replay ")));
    REQUIRE(place.psim({"compare", "scenario.toml", "--slice", "1/2", "--out=s" + name}).code == 0);
    const std::string slice =
        place.psim({"compare", "scenario.toml", "--slice", "2/2", "--out=" + name + "s"}).err;
    REQUIRE(contains(slice, "psim merge "));
    REQUIRE(place.psim({"compare", "scenario.toml", "--slice", "1/2", "--out=" + name + "s"}).code == 0);
    works(slice.substr(slice.find("psim merge ")));
    // What is missing is named with a command that makes it.
    const Outcome missing = place.psim({"merge", "s" + name});
    REQUIRE(missing.code == 1);
    works(missing.out.substr(missing.out.find("  psim compare ")));
  }
}

TEST_CASE("what a tuned study prints to go on with can be run, also with one seed", "[study][tune]") {
  const Place place;
  for (const std::string seeds : {"", "seeds = [7]\n"}) {
    place.write(tuned + seeds);
    const std::string arm = "consistency=\"bsp\"";
    for (const std::vector<std::string>& one :
         {std::vector<std::string>{"--set", "seed=1"}, {"--seed", "1"}}) {
      std::vector<std::string> words{"compare", "scenario.toml", "--set", arm, "--out", "study", "--force"};
      words.insert(words.end(), one.begin(), one.end());
      const Outcome made = place.psim(words);
      INFO(made.err);
      CHECK(made.code == 0);
      CHECK(place.manifest("study")["runs"].size() == 2);  // untuned and tuned
    }
  }
  // The one seed of the command line is the first of as many as --until-ci needs.
  const Outcome more =
      place.psim({"compare", "scenario.toml", "--set", "seed=1", "--until-ci", "90%", "--out", "ci"});
  INFO(more.err);
  CHECK(more.code == 0);
}
