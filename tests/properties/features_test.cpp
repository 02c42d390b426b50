// docs/features.md says of each feature what one sees of it, in a sentence with numbers.
// tests/features/claims.json says which runs a sentence is about and how its numbers follow from their
// summaries. Here the runs are made, and the page must have the sentences that they give.
// PSIM_UPDATE_FEATURES=1 writes them into the page instead.
#include <fmt/args.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

const std::filesystem::path page = source_folder() / "docs/features.md";

// One psim run a command line.
const Json& summary_of(const std::string& arguments) {
  static std::map<std::string, Json> known;
  const auto [at, is_new] = known.try_emplace(arguments);
  if (!is_new) return at->second;
  TemporaryFolder folder;
  std::vector<std::string> words{"run"};
  std::istringstream in(arguments);
  for (std::string word; in >> word;) words.push_back(word);
  words.insert(words.end(), {"--json", "--trace", "none"});
  const Outcome outcome = psim::test::psim(words, folder.path(), {}, 600);
  INFO("psim run " << arguments << "\n" << outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  return at->second = Json::parse(outcome.out);
}

// Sums and products of numbers and of a summary's numbers, such as 100*a/time/wait_share: a letter stands for
// a run, and a path goes as far as it can. Spaces stand around + - * and /, so that they are no parts of a
// path.
class Formula {
 public:
  Formula(std::string_view text, const std::map<char, const Json*>& runs)
      : in_(std::string(text)), runs_(runs) {}
  double value() {
    double sum = product();
    for (std::string sign; in_ >> sign && (sign == "+" || sign == "-");)
      sum += (sign == "-" ? -1 : 1) * product();
    return sum;
  }

 private:
  double product() {
    double result = factor();
    for (;;) {
      const auto before = in_.tellg();
      std::string sign;
      if (!(in_ >> sign) || (sign != "*" && sign != "/")) {
        in_.clear();
        if (before != std::istringstream::pos_type(-1)) in_.seekg(before);
        return result;
      }
      result = sign == "*" ? result * factor() : result / factor();
    }
  }
  double factor() {
    std::string word;
    in_ >> word;
    INFO(word);
    const auto run = runs_.find(word.front());
    if (run == runs_.end()) return std::stod(word);
    const Json& found = run->second->at(Json::json_pointer(word.substr(1)));
    return found.is_array() ? static_cast<double>(found.size()) : found.get<double>();
  }

  std::istringstream in_;
  const std::map<char, const Json*>& runs_;
};

std::string sentence_of(const Json& claim) {
  std::map<char, const Json*> runs;
  for (const auto& [letter, arguments] : claim["runs"].items())
    runs[letter.front()] = &summary_of(arguments.get<std::string>());
  fmt::dynamic_format_arg_store<fmt::format_context> numbers;
  for (const Json& formula : claim["numbers"])
    numbers.push_back(Formula(formula.get<std::string>(), runs).value());
  return fmt::vformat(claim["sees"].get<std::string>(), numbers);
}

// The row of the page whose feature is `feature`, with `sentence` in its second cell.
std::string row_with(const std::string& row, const std::string& sentence) {
  const std::size_t begin = row.find(" | ") + 3, end = row.find(" | ", begin);
  return row.substr(0, begin) + sentence + row.substr(end);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void check_part(std::size_t part, std::size_t parts) {
  const Json claims = Json::parse(content(source_folder() / "tests/features/claims.json"));
  std::vector<std::string> lines = lines_of(content(page));
  const bool updates = std::getenv("PSIM_UPDATE_FEATURES") != nullptr;
  for (std::size_t i = part; i < claims.size(); i += parts) {
    const std::string feature = claims[i]["feature"];
    INFO(feature);
    const auto row = std::ranges::find_if(
        lines, [&](const std::string& line) { return line.starts_with("| " + feature); });
    REQUIRE(row != lines.end());
    const std::string expected = row_with(*row, sentence_of(claims[i]));
    if (!updates) CHECK(*row == expected);
    *row = expected;
  }
  if (!updates) return;
  std::ofstream out(page);
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace

TEST_CASE("features: what one sees, first third", "[features]") { check_part(0, 3); }
TEST_CASE("features: what one sees, second third", "[features]") { check_part(1, 3); }
TEST_CASE("features: what one sees, last third", "[features]") { check_part(2, 3); }

TEST_CASE("features: every row says what one sees, and every sentence is a claim", "[features]") {
  const Json claims = Json::parse(content(source_folder() / "tests/features/claims.json"));
  for (const std::string& line : lines_of(content(page))) {
    if (!line.starts_with("| ") || line.starts_with("| feature ")) continue;
    INFO(line);
    CHECK(std::ranges::count_if(claims, [&](const Json& claim) {
            return line.starts_with("| " + claim["feature"].get<std::string>());
          }) == 1);
  }
}
