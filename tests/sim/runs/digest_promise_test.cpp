// `psim replay` says whether another digest breaks a promise.
#include "sim/runs/again.hpp"

#include "tests/support/catch.hpp"

using namespace psim;

namespace {

LoadedScenario under(NetworkModel model) {
  LoadedScenario loaded;
  loaded.scenario.cluster.network.model = model;
  return loaded;
}

Json program(const char* psim, const char* simgrid, const char* snappy, const char* cpu_family) {
  return {
      {"psim", psim}, {"cpu_family", cpu_family}, {"libraries", {{"simgrid", simgrid}, {"snappy", snappy}}}};
}

const Json old_debian = program("0.1.0", "3.32", "1.1.9", "x86-64");

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("under fluid the digest holds on x86-64 with one release of SimGrid", "[replay]") {
  const LoadedScenario loaded = under(NetworkModel::fluid);
  const DigestPromise same =
      promise_on_digest(loaded, old_debian, program("0.1.0", "3.32", "1.2.1", "x86-64"));
  CHECK(says(same.rule, "the same digest on every x86-64 processor with the same release of SimGrid"));
  CHECK(same.verdict() == "no difference was to be expected");

  const DigestPromise release =
      promise_on_digest(loaded, old_debian, program("0.1.0", "4.0", "1.1.9", "x86-64"));
  CHECK(says(release.rule, "the same weights bit for bit, and dates to 1e-9"));
  CHECK(release.verdict() == "a difference was to be expected: SimGrid was 3.32 and is 4.0");

  const DigestPromise both =
      promise_on_digest(loaded, old_debian, program("0.1.0", "4.0", "1.1.9", "aarch64"));
  CHECK(says(both.rule, "the same weights bit for bit, and dates to 1e-9"));
  CHECK(both.exceptions == "SimGrid was 3.32 and is 4.0, the processor was x86-64 and is aarch64");
}

TEST_CASE("under nic the digest holds everywhere", "[replay]") {
  for (const Json& here : {old_debian, program("0.1.0", "4.0", "1.2.1", "x86-64"),
                           program("0.1.0", "4.0", "1.1.9", "aarch64")}) {
    const DigestPromise promise = promise_on_digest(under(NetworkModel::nic), old_debian, here);
    CHECK(says(promise.rule, "the same digest on every processor and with every release of SimGrid"));
    CHECK(promise.verdict() == "no difference was to be expected");
  }
}

TEST_CASE("a model over the devices of one machine is fluid under every model of the network", "[replay]") {
  LoadedScenario loaded = under(NetworkModel::nic);
  loaded.scenario.architecture = {.kind = Architecture::model_parallel, .over = PipelineOver::devices};
  const DigestPromise promise =
      promise_on_digest(loaded, old_debian, program("0.1.0", "4.0", "1.1.9", "x86-64"));
  CHECK(says(promise.rule, "promise under fluid for another release of SimGrid"));
  loaded.scenario.architecture.over = PipelineOver::nodes;
  CHECK(promise_on_digest(loaded, old_debian, old_debian).rule.starts_with("promise under nic"));
}

TEST_CASE("under fluid no digest is promised between two processors of another kind", "[replay]") {
  const Json arm = program("0.1.0", "3.32", "1.1.9", "aarch64");
  const DigestPromise promise = promise_on_digest(under(NetworkModel::fluid), arm, arm);
  CHECK(says(promise.rule, "the same weights bit for bit, and dates to 1e-9"));
  CHECK(promise.verdict() ==
        "a difference was to be expected: under fluid psim promises no digest on this processor");
  CHECK(promise_on_digest(under(NetworkModel::nic), arm, arm).exceptions.empty());
}

TEST_CASE("another psim may give another digest, and another Snappy if messages are compressed", "[replay]") {
  const Json newer = program("0.2.0", "3.32", "1.1.9", "x86-64");
  const Json other_snappy = program("0.1.0", "3.32", "1.2.1", "x86-64");
  for (const NetworkModel model : {NetworkModel::nic, NetworkModel::fluid}) {
    LoadedScenario loaded = under(model);
    CHECK(promise_on_digest(loaded, old_debian, newer).exceptions == "psim was 0.1.0 and is 0.2.0");
    CHECK(promise_on_digest(loaded, old_debian, other_snappy).exceptions.empty());
    loaded.scenario.filters.push_back({.kind = FilterKind("snappy")});
    CHECK(promise_on_digest(loaded, old_debian, other_snappy).exceptions == "Snappy was 1.1.9 and is 1.2.1");
    loaded.jobs.push_back({.scenario = loaded.scenario});
    loaded.scenario.filters.clear();
    CHECK(promise_on_digest(loaded, old_debian, other_snappy).exceptions == "Snappy was 1.1.9 and is 1.2.1");
  }
}

TEST_CASE("a record without its program's processor is no broken promise", "[replay]") {
  Json unknown = old_debian;
  unknown.erase("cpu_family");
  const DigestPromise promise = promise_on_digest(under(NetworkModel::fluid), unknown, old_debian);
  CHECK(promise.verdict() == "a difference was to be expected: the processor was unknown and is x86-64");
}
