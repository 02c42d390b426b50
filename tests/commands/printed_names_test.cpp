// Goal: whatever psim prints can be used as it stands: a name in `psim explain`, a command in a shell.
// Method: everything that some runs and studies print.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/study_place.hpp"

using namespace psim::test;

TEST_CASE("every name in summary.json and every label of its text is explained", "[study][slow]") {
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

TEST_CASE("explain knows every column as merge --columns names it", "[study][slow]") {
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

namespace {

bool leaves_gaps(const std::string& text, const std::string& dashes) {
  if (text.empty() || text.starts_with('.')) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' && (i >= dashes.size() || dashes[i] == ' ')) return false;
  }
  return true;
}

// Headings of the tables in a transcript: what stands above the dashes of a line such as "----  -------", of
// one line or several. A unit alone is the end of a heading that is wider than its column.
std::set<std::string> headings_in(const std::string& text) {
  static const std::regex dashes("-{2,}(  -{2,})+");
  std::set<std::string> headings;
  std::vector<std::string> above;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, dashes)) {
      above.push_back(line);
      continue;
    }
    // The line above names columns; those above that one, too, if they leave the gaps between columns free.
    std::size_t first = above.empty() ? 0 : above.size() - 1;
    while (first > 0 && leaves_gaps(above[first - 1], line)) --first;
    above.erase(above.begin(), above.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t begin = 0; begin < line.size();) {
      const std::size_t end = std::min(line.find("  ", begin), line.size());
      std::string heading;
      for (const std::string& one : above) {
        std::istringstream words(one.size() > begin ? one.substr(begin, end - begin) : "");
        for (std::string word; words >> word;) heading += (heading.empty() ? "" : " ") + word;
      }
      const bool is_unit = heading.starts_with('[') || heading.starts_with('(');
      const bool is_sql = !is_unit && heading.find('(') != std::string::npos;
      if (!heading.empty() && !is_unit && !is_sql) headings.insert(heading);
      begin = end + 2;
    }
    above.clear();
  }
  return headings;
}

std::vector<std::string> words_of_glossary() {
  std::vector<std::string> words;
  std::istringstream lines(content(source_folder() / "docs" / "glossary.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| English")) continue;
    std::istringstream names(line.substr(2, line.find(" |", 2) - 2));
    for (std::string name; std::getline(names, name, ',');)
      words.push_back(name.substr(name.find_first_not_of(' ')));
  }
  return words;
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

TEST_CASE("explain has every heading of every table, and every word of the glossary", "[study][slow]") {
  std::set<std::string> words = headings_in(content(source_folder() / "README.md"));
  for (const char* folder : {"tests/golden", "tests/bad_scenarios", "docs"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / folder)) {
      const std::string kind = entry.path().extension().string();
      if (kind == ".expected" || kind == ".md") words.merge(headings_in(content(entry.path())));
    }
  }
  for (const std::string word : {"same steps", "re-run", "held up", "on the critical path", "examined"})
    words.insert(word);
  CHECK(words.contains("faster by"));
  for (const std::string& word : words_of_glossary()) words.insert(word);
  const Place place;
  for (const std::string& word : words) {
    INFO(word);
    const bool is_value = word.find("runs/") == 0 || word.find('=') != std::string::npos;  // a run's own name
    if (!is_value) CHECK(place.psim({"explain", word}).code == 0);
  }
}

TEST_CASE("explain answers a word with its own text", "[study][slow]") {
  const Place place;
  struct Asked {
    const char *word, *said, *not_said;
  };
  const Asked table[] = {
      {"shard", "The parameters of one key range", "read-my-writes"},
      {"clock", "One round of a worker", "read-my-writes"},
      {"replica", "A copy of a shard on another server", "read-my-writes"},
      {"throughput", "samples a second whose gradients", "staleness"},
      {"samples_per_s", "whose gradients are in the model", "accuracy"},
      {"Throughput", "samples a second whose gradients", ""},
      {"replicas", "replica", ""},
      {"gate", "lets a worker begin a clock", "snapshot"},
      {"read-my-writes", "all earlier pushes", "snapshot"},
      {"idle-fault", "a fault never happened", "late-straggler"},
      {"slack (median)", "could have ended later", ""},
      {"same steps", "as many steps as the original", ""},
      {"service", "worked on a message", "timeout"},
      {"heartbeat", "this node is alive", "regroup"},
      {"conservation", "each message is received once or lost", "regrouping"},
      {"push_outcome", "Server `node` applies or drops a push", "model_update"},
      {"refused", "it is for another owner", "it had arrived before"},
      {"staleness_updates", "applied: updates since that version", ""},
      {"on_path", "on the critical path", "without_effect"},
      {"ms", "0.001 s", "Gbps"},
      {"Gbps", "a bandwidth", "duration"},
      {"baseline", "arm that the others are compared with", "--recipe slurm"},
      {"link-down", "fault.kind = \"link-down\"", ""},
      {"locked", "when all predictions are made", ""},
      {"verify", "psim help verify", "snapshot"},
      {"observed", "your own run shows", ""},
  };
  for (const Asked& one : table) {
    const Outcome answer = place.psim({"explain", one.word});
    INFO(one.word << "\n" << answer.out << answer.err);
    CHECK(answer.code == 0);
    CHECK(contains(answer.out, one.said));
    if (*one.not_said != '\0') CHECK_FALSE(contains(answer.out, one.not_said));
  }
  CHECK(contains(place.psim({"explain", "thruput"}).err, "psim cannot explain `thruput`"));
  CHECK(contains(place.psim({"explain", "critcal_path"}).err, "did you mean `critical_path`?"));
  CHECK(contains(place.psim({"explain", "same stepz"}).err, "did you mean `same steps`?"));
}

TEST_CASE("explain has every name in what --json and files of psim hold", "[study][slow]") {
  const Place place;
  std::ofstream(place.at("scenario.toml")) << scenario << "[[straggler]]\nworkers = [1]\n" << axes;
  REQUIRE(place.psim({"run", "scenario.toml", "--out", "a"}).code == 0);
  REQUIRE(place.psim({"run", "scenario.toml", "--seed", "5", "--out", "b"}).code == 0);
  REQUIRE(place.psim({"compare", "scenario.toml", "--out", "study"}).code == 0);
  std::set<std::string> names;
  const std::function<void(const Json&, const std::string&)> add = [&](const Json& value,
                                                                       const std::string& of) {
    if (value.is_array()) {
      for (const Json& one : value) add(one, of);
    }
    if (!value.is_object() || of == "bytes_by_kind" || of == "libraries" || of == "condition") return;
    for (const auto& [key, inner] : value.items()) {
      names.insert(key);
      add(inner, key);
    }
  };
  const std::vector<std::vector<std::string>> commands{{"why", "a", "--json"},
                                                       {"why", "a", "b", "--json"},
                                                       {"why", "a", "--gradients", "--json"},
                                                       {"what-if", "a", "compute=50%", "--json"},
                                                       {"verify", "a", "--json"},
                                                       {"report", "a", "--json"},
                                                       {"studies", "--in", ".", "--json"},
                                                       {"runs", "--in", ".", "--json"}};
  for (const std::vector<std::string>& words : commands) {
    const Outcome answer = place.psim(words);
    INFO(answer.err);
    REQUIRE(answer.code == 0);
    add(Json::parse(answer.out), "");
  }
  REQUIRE(place.psim({"export", "a", "--csv", "a.csv"}).code == 0);
  for (const char* file : {"a.csv", "study/runs.csv", "study/curves.csv"}) {
    std::istringstream heads(content(place.at(file)));
    std::string line;
    std::getline(heads, line);
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    for (std::string name; words >> name;) names.insert(name);
  }
  const std::string tables = place.psim({"explain", "tables"}).out;
  static const std::regex name("\n(?:## |\\| `)([a-z_]+)");
  for (std::sregex_iterator one(tables.begin(), tables.end(), name), end; one != end; ++one)
    names.insert((*one)[1]);
  CHECK(names.size() > 200);
  for (const std::string& one : names) {
    INFO(one);
    const Outcome answer = place.psim({"explain", one});
    CHECK(answer.code == 0);
    CHECK(contains(in_small_letters(answer.out), in_small_letters(one)));
  }
}

TEST_CASE("hints can be typed as they are printed, whatever names are in them", "[study][slow]") {
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

TEST_CASE("what a tuned study prints to go on with can be run, also with one seed", "[study][tune][slow]") {
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
