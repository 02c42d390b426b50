// What a worker sends each shard of a gradient.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "sim/nodes/worker/client_actor.hpp"
#include "sim/protocol/key_space.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Servers with 4 and 5 of 9 values.
std::string scenario(const std::string& training = "", const std::string& more = "") {
  return "[model]\nkind = \"phantom\"\nparameters = 9\nprecision = \"float64\"\n[training]\nsteps = 30\n" +
         training + "[compute]\ntime = \"1s\"\n[cluster]\nworkers = 3\nservers = 2\n" + more;
}

Lines play(const std::string& toml, const std::function<void(Stage&, PushEncoder&)>& part) {
  Lines lines = on_stage(toml, [&](Stage& stage) {
    PushEncoder encoder(stage.job(), stage.worker(1));
    part(stage, encoder);
  });
  for (std::string& line : lines) line = line.substr(line.find(' ') + 1);
  return lines;
}

void say(Stage& stage, const Encoded& encoded) {
  std::string text = encoded.values.values ? fmt::format("{}", fmt::join(numbers_of(encoded.values), " "))
                                           : fmt::format("{} values", encoded.values.count);
  if (encoded.keys) text += fmt::format(" at {}", fmt::join(*encoded.keys, " "));
  stage.say(text);
}

constexpr KeyRange everything{};
const Numbers dense{0, 1, 2, 3, 4, 5, 6, 7, 8};

}  // namespace

TEST_CASE("pushes: each shard gets its part of a dense gradient, and of a phantom its size",
          "[roles][pushes]") {
  const Lines lines = play(scenario(), [](Stage& stage, PushEncoder& encoder) {
    const auto gradient = values_of(dense);
    say(stage, encoder.encode(0, gradient, nullptr, everything));
    const Encoded second = encoder.encode(1, gradient, nullptr, everything);
    say(stage, second);
    stage.say(fmt::format("{} bytes", second.bytes));
    say(stage, encoder.encode(1, nullptr, nullptr, everything));
  });
  CHECK(lines == Lines{"0 1 2 3", "4 5 6 7 8", "40 bytes", "5 values"});
}

TEST_CASE("pushes: of a sparse gradient a shard gets its keys, and of a block only those in it",
          "[roles][pushes]") {
  const Lines lines = play(scenario(), [](Stage& stage, PushEncoder& encoder) {
    const BatchKeys batch = split({1, 3, 6, 8}, stage.plan().keys);
    const auto gradient = values_of({10, 30, 60, 80});
    for (const KeyRange block : {everything, KeyRange{2, 7}, KeyRange{3, 6}, KeyRange{7, 9}}) {
      for (const std::uint32_t shard : {0U, 1U}) say(stage, encoder.encode(shard, gradient, &batch, block));
    }
  });
  CHECK(lines ==
        Lines{"10 30 at 1 3", "60 80 at 2 4", "30 at 3", "60 at 2", "30 at 3", " at ", " at ", "80 at 4"});
}

TEST_CASE("pushes: what a shard's filters left out comes with its next push, also after a cut",
          "[roles][pushes]") {
  const std::string filter = "[[filter]]\nkind = \"top-k\"\nfraction = 0.4\n";  // 2 of 5
  const Lines lines = play(scenario("", filter), [](Stage& stage, PushEncoder& encoder) {
    say(stage, encoder.encode(1, values_of({0, 0, 0, 0, 4, 50, 6, 7, 80}), nullptr, everything));
    KeySpace keys = stage.plan().keys;
    keys.cut({1, 3});
    encoder.cut({1, 3}, keys);
    const auto nothing = values_of(Numbers(9, 0.0));
    say(stage, encoder.encode(1, nothing, nullptr, everything));  // one of 3
    say(stage, encoder.encode(2, nothing, nullptr, everything));  // one of 2
  });
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("0 50 0 0 80"));
  CHECK(lines[1].starts_with("0 0 6"));
  CHECK(lines[2].starts_with("7 0"));
}
