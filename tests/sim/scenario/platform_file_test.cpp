// Goal: no platform file, whatever its numbers, ends in anything but a run's platform or a diagnostic.
// Method: a sound file with one attribute changed, and random changes.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "sim/scenario/load.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"
#include "tests/texts/mutator.hpp"

using namespace psim;

namespace {

std::string platform(const std::string& speed, const std::string& bandwidth, const std::string& latency) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
         "<platform version='4.1'>\n<zone id='z' routing='Full'>\n<host id='a' speed='" +
         speed + "'/>\n<host id='b' speed='1Gf'/>\n<host id='c' speed='1Gf'/>\n<link id='l' bandwidth='" +
         bandwidth + "' latency='" + latency +
         "'/>\n<route src='a' dst='b'><link_ctn id='l'/></route>\n<route src='a' dst='c'><link_ctn "
         "id='l'/></route>\n"
         "<route src='b' dst='c'><link_ctn id='l'/></route>\n</zone>\n</platform>\n";
}

struct Attempt {
  bool accepted = false;
  std::string report;
};

Attempt attempt(const std::string& xml) {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "platform.xml", std::ios::binary) << xml;
  std::ofstream(folder.path() / "scenario.toml")
      << "[model]\nkind = \"phantom\"\nparameters = 100\n[training]\nsteps = 2\n[cluster]\nworkers = 1\n"
         "[cluster.network]\ntopology = \"simgrid-xml\"\nplatform = \"platform.xml\"\nplatform_speeds = "
         "true\n";
  Diagnostics diagnostics;
  const std::string file = (folder.path() / "scenario.toml").string();
  const bool accepted =
      load_scenario({.path = file, .overrides = {}, .data_dirs = {}}, diagnostics).has_value();
  CHECK(accepted == diagnostics.empty());
  if (accepted) {  // then it can also be run
    const psim::test::Outcome outcome = psim::test::psim({"run", file, "--json"}, folder.path(), {}, 30);
    INFO(xml << outcome.err);
    CHECK(outcome.code == 0);
  }
  return {accepted, accepted ? "" : diagnostics.render()};
}

}  // namespace

TEST_CASE("numbers of a platform file that no cluster has are diagnosed", "[platform]") {
  CHECK(attempt(platform("1Gf", "1GBps", "50us")).accepted);
  for (const char* speed : {"0", "-1Gf", "nan", "inf", "1e300", "-0", "1e-300"}) {
    const Attempt bad = attempt(platform(speed, "1GBps", "50us"));
    INFO(speed << bad.report);
    CHECK_FALSE(bad.accepted);
    CHECK(bad.report.find("psim cannot use the platform of platform.xml") != std::string::npos);
  }
  for (const char* bandwidth : {"0", "-1GBps", "nan", "inf", "1e300", "1e-9"}) {
    const Attempt bad = attempt(platform("1Gf", bandwidth, "50us"));
    INFO(bandwidth << bad.report);
    CHECK_FALSE(bad.accepted);
  }
  for (const char* latency : {"-1s", "nan", "inf", "1e300", "1e300s", "2h"}) {
    const Attempt bad = attempt(platform("1Gf", "1GBps", latency));
    INFO(latency << bad.report);
    CHECK_FALSE(bad.accepted);
  }
}

TEST_CASE("a platform file that is huge, deep or full of entities is diagnosed", "[platform][slow]") {
  const std::string sound = platform("1Gf", "1GBps", "50us");
  const auto inside = [&](const std::string& more) {
    std::string xml = sound;
    return xml.insert(xml.find("<zone"), more);
  };
  std::string deep, entities = "<!DOCTYPE platform [<!ENTITY a \"aaaaaaaaaa\">";
  for (int i = 0; i < 50000; ++i) deep += "<zone id='n" + std::to_string(i) + "' routing='Full'>";
  for (char c = 'b'; c < 'k'; ++c) {
    entities += std::string("<!ENTITY ") + c + " \"";
    for (int i = 0; i < 10; ++i) entities += std::string("&") + static_cast<char>(c - 1) + ";";
    entities += "\">";
  }
  for (const std::string& xml :
       {inside(deep), "<?xml version='1.0'?>\n" + entities + "]><platform version='4.1'>&j;</platform>",
        inside(
            "<cluster id='x' prefix='x' suffix='' radical='0-2000000000' speed='1Gf' bw='1GBps' lat='1us'/>"),
        sound + std::string(70'000'000, ' '), inside("<host id='" + std::string(300'000, 'x') + "_file"),
        std::string("<")}) {
    const Attempt bad = attempt(xml);
    INFO(xml.substr(0, 200) << bad.report);
    CHECK_FALSE(bad.accepted);
  }
}

TEST_CASE("platform files with random changes are used or diagnosed", "[platform][slow]") {
  const std::vector<std::string> corpus{platform("1Gf", "1GBps", "50us"), platform("2Mf", "10Mbps", "0")};
  int accepted = 0;
  constexpr int rounds = 150;
  for (int i = 0; i < rounds; ++i) {
    Stream stream(3, "platform", static_cast<std::uint64_t>(i));
    CAPTURE(i);
    accepted += attempt(stream.below(2) == 0 ? psim::test::mutated_text(corpus, stream)
                                             : psim::test::mutated_bytes(corpus, stream))
                        .accepted
                    ? 1
                    : 0;
  }
  CHECK(accepted > 0);
  CHECK(accepted < rounds);
}
