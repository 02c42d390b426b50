// A finished run with its files cut, removed and changed, in hundreds of ways: nothing crashes, and no run
// whose files were changed is taken for a good one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>

#include "analysis/run_files.hpp"
#include "analysis/verify/verify.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* scenario = R"(seed = 7
[model]
layers = [64, 4, 10]
[training]
batch_size = 8
steps = 3
[cluster]
workers = 2
[compare]
seeds = [7]
)";

using Files = std::map<std::string, std::string>;  // content by name

Files files_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename()] = content(entry.path());
  return files;
}

void write(const fs::path& folder, const Files& files) {
  fs::remove_all(folder);
  fs::create_directory(folder);
  for (const auto& [name, text] : files) std::ofstream(folder / name, std::ios::binary) << text;
}

// Draws for one mutation.
class Dice {
 public:
  explicit Dice(std::uint64_t number) : state_(number) {}
  std::size_t below(std::size_t limit) {  // splitmix64 (Steele, Lea, Flood 2014)
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30U) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27U) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((bits ^ bits >> 31U) % std::max<std::size_t>(1, limit));
  }

 private:
  std::uint64_t state_;
};

// One change to one file; what it was.
std::string mutate(Files& files, Dice& dice) {
  auto file = files.begin();
  std::advance(file, static_cast<std::ptrdiff_t>(dice.below(files.size())));
  auto& [name, text] = *file;
  const std::size_t at = dice.below(text.size());
  switch (dice.below(8)) {
    case 0: return files.erase(file), "removed a file";
    case 1: return text.resize(at), fmt::format("{} cut to {} bytes", name, at);
    case 2: return text.clear(), name + " emptied";
    case 3: return text.insert(at, 1 + dice.below(9), 'x'), fmt::format("{}: more at {}", name, at);
    case 4: return text += text.substr(at), fmt::format("{}: its end twice, from {}", name, at);
    case 5: {
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (digit == std::string::npos) return text += ' ', name + ": a blank more";
      text[digit] = static_cast<char>('0' + (text[digit] - '0' + 1 + dice.below(9)) % 10);
      return fmt::format("{}: another digit at {}", name, digit);
    }
    case 6:
      for (std::size_t i = at; i < std::min(text.size(), at + 16); ++i) text[i] = '\0';
      return text += '\0', fmt::format("{}: nothing from {}", name, at);
    default:
      text[at] = static_cast<char>(text[at] ^ (1 << dice.below(8)));
      return fmt::format("{}: a bit at {}", name, at);
  }
}

// Whether psim verify would be content. Throws nothing but what psim reports as an error.
bool is_verified(const fs::path& run) {
  try {
    return psim::analysis::verify(run).holds();
  } catch (const std::exception&) {
    return false;
  }
}

class Place {
 public:
  Place() {
    std::ofstream(folder_.path() / "scenario.toml") << scenario;
    REQUIRE(psim({"run", "scenario.toml", "--trace", "events", "--out", "run"}).code == 0);
    good_ = files_in(run());
  }
  fs::path run() const { return folder_.path() / "run"; }
  const Files& good() const { return good_; }
  Outcome psim(const std::vector<std::string>& words) const {
    return psim::test::psim(words, folder_.path());
  }

 private:
  TemporaryFolder folder_;
  Files good_;
};

}  // namespace

TEST_CASE("a run folder that was changed is never taken for a good one", "[fuzz][slow]") {
  const Place place;
  REQUIRE(is_verified(place.run()));
  for (std::uint64_t number = 0; number < 400; ++number) {
    Files files = place.good();
    Dice dice(number);
    const std::string what = mutate(files, dice);
    write(place.run(), files);
    INFO("mutation " << number << ": " << what);
    CHECK(!psim::analysis::broken_seal(place.run()).empty());
    CHECK(!is_verified(place.run()));
    if (number % 20 != 0) continue;
    const Outcome replay = place.psim({"replay", "run"});
    CHECK((replay.code == 1 || replay.code == 2));
    const Outcome again = place.psim({"run", "scenario.toml", "--trace", "events", "--out", "run"});
    INFO(again.err);
    CHECK((again.code == 0 || again.code == 2));  // 2: nothing there shows that it is a run
    if (again.code == 0) CHECK(content(place.run() / "summary.json") == place.good().at("summary.json"));
  }
}

TEST_CASE("a run folder whose checksums were changed with it makes nothing crash", "[fuzz][slow]") {
  const Place place;
  for (std::uint64_t number = 0; number < 400; ++number) {
    Files files = place.good();
    files.erase("checksums");
    Dice dice(1000 + number);
    std::string what = mutate(files, dice);
    write(place.run(), files);
    psim::analysis::seal(place.run());
    INFO("mutation " << number << ": " << what);
    is_verified(place.run());
    if (number % 20 != 0) continue;
    for (const char* command : {"replay", "verify"}) {
      const Outcome outcome = place.psim({command, "run"});
      INFO(command << outcome.out << outcome.err);
      CHECK(outcome.code <= 3);
    }
  }
}
