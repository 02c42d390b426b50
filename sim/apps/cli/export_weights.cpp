// psim export --weights. A run's folder keeps a hash of the last weights and not the weights: they can be as
// large as memory. So psim makes the run once more, and compares the hash.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "model/learner.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/export.hpp"
#include "sim/apps/cli/progress.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/runs/again.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/run_folder.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/simulation.hpp"

namespace psim::cli {
namespace {

// NumPy's format, version 1.0: magic, length of the header, header, numbers in C order. The header ends with
// a newline at a multiple of 64 bytes.
std::string npy(const ParameterArray& array, const Values& weights) {
  std::string shape;
  if (array.shape.empty()) shape = fmt::format("{},", array.range.count);
  for (const std::size_t size : array.shape) shape += fmt::format("{}, ", size);
  const std::size_t value = bytes_per_value(weights.precision());
  std::string header =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}), }}", value, shape);
  constexpr std::size_t before = 10, unit = 64;
  header.resize((before + header.size() + unit) / unit * unit - before - 1, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  text += header;
  const auto* numbers = reinterpret_cast<const char*>(weights.raw()) + array.range.begin * value;
  return text.append(numbers, array.range.count * value);
}

// A file for each array of `model`.
void add_files(const ModelSpec& model, const TrainingResult& training, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>& files) {
  for (const ParameterArray& array : parameter_arrays(model))
    files.emplace_back(prefix + array.name + ".npy", npy(array, *training.last_weights));
}

void check_hash(const Json& model, const TrainingResult& training, const fs::path& run) {
  if (model.at("weights") == fmt::format("{:016x}", training.weights)) return;
  throw Refused(fmt::format("the run of {} has other last weights here than in its record", run.string()),
                "`psim replay` says what differs, and which programs and machines repeat a run exactly");
}

}  // namespace

void export_weights(const ExportCommand& asked, const fs::path& dir) {
  check_outside(asked.weights, "--weights last");
  check_can_make(folder_named(asked.weights), "--weights");
  const FinishedRun run = open_run(dir);
  const LoadedScenario loaded = load_again(run);
  if (!loaded.data && loaded.jobs.empty())
    throw Refused("--weights: a phantom model has no weights", "choose a run of another model.kind");
  Progress progress(loaded);
  const RunResult result = simulate(loaded, {.threads = thread_count(0), .context = {}}, {&progress});
  progress.erase();
  std::vector<std::pair<std::string, std::string>> files;
  if (result.spaces.empty()) {
    check_hash(run.summary.at("model"), result, dir);
    add_files(loaded.scenario.model, result, "", files);
  }
  for (std::size_t n = 0; n < result.spaces.size(); ++n) {
    const SpaceResult& space = result.spaces[n];
    const std::string& name = loaded.scenario.groups[space.groups.front()].name;
    if (!space.last_weights) continue;
    for (const Json& group : run.summary.at("groups")) {
      if (group.at("name") == name) check_hash(group.at("model"), space, dir);
    }
    add_files(space.scenario.model, space, name + ".", files);
  }
  const fs::path folder = folder_named(asked.weights);
  for (const auto& [name, text] : files) {
    if (!fs::exists(fs::symlink_status(folder / name))) continue;
    check_is_file(folder / name);
    if (!asked.force)
      throw Refused(fmt::format("{} exists", (folder / name).string()),
                    "name another folder, or give --force");
  }
  make_folder(folder, asked.weights);
  for (const auto& [name, text] : files) put_file(folder / name, text);
  fmt::print("wrote {} with the last weights to {}\n", counted(std::ssize(files), "file"), folder.string());
}

}  // namespace psim::cli
