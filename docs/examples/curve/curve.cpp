// Runs a scenario under three consistency models, prints a curve of each, and watches one of the runs.
//   ./curve [SCENARIO.toml]
#include <psim/run.hpp>
#include <psim/sinks.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace api = psim::api;

constexpr const char* usual = R"(
[model]
layers = [64, 32, 10]
[training]
target = {accuracy = 0.9}
epochs = 4
batch_size = 16
learning_rate = 0.3
evaluate_every = "20ms"
[compute]
time = "10ms"
[cluster]
workers = 4
servers = 2
[[straggler]]
workers = [3]
slowdown = 4.0
)";

// Prints a row for each of about 12 evaluations: its date, its loss, a bar for the loss, and its accuracy.
void draw(const std::string& model, const api::Result& result) {
  const std::string target = result.time_to_target_s ? std::to_string(*result.time_to_target_s) + " s" : "-";
  std::printf("%s: %.3f simulated s, to the target %s, digest %.8s\n", model.c_str(), result.sim_time_s,
              target.c_str(), result.digest.c_str());
  const std::size_t step = std::max<std::size_t>(1, result.curve.size() / 12);
  for (std::size_t i = 0; i < result.curve.size(); i += step) {
    const api::CurvePoint& point = result.curve[i];
    std::printf("  %7.3f s  loss %5.3f %-24s accuracy %4.1f %%\n", point.sim_time_s, point.loss,
                std::string(point.loss < 2.4 ? static_cast<std::size_t>(10 * point.loss) : 24, '#').c_str(),
                100 * point.accuracy.value_or(0));
  }
}

// Counts all events, and the updates of all servers together.
class Counter : public psim::EventSink {
 public:
  void on(const psim::Event& event, std::uint64_t) override {
    if (event.as<psim::ModelUpdate>() != nullptr) ++updates_;
    ++events_;
  }
  void print() const { std::printf("watched: %ld events, %ld updates of shards\n", events_, updates_); }

 private:
  long events_ = 0, updates_ = 0;
};

int main(int argc, char** argv) try {
  api::Scenario scenario = argc > 1 ? api::Scenario::from_file(argv[1]) : api::Scenario::from_text(usual);
  for (const char* model : {"bsp", "ssp", "asp"})
    draw(model, api::run(api::Scenario(scenario).set("consistency.model", model)));

  Counter counter;
  api::watch(scenario.set("consistency.model", "asp"), counter);
  counter.print();
} catch (const api::BadScenario& wrong) {
  std::fputs(wrong.what(), stderr);  // all errors, with line, caret and hint
  return 2;
} catch (const std::runtime_error& failure) {  // psim::api::RunRefused or RunFailed
  std::fputs(failure.what(), stderr);
  return 3;
}
