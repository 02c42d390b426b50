#include "sim/record/identity.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "model/dataset.hpp"
#include "sim/scenario/reference/reference.hpp"

namespace psim {
namespace {

namespace fs = std::filesystem;

#include "sim/record/versions.inc"

// A hash of many parts, each with its length, so that different lists of parts never give the same bytes.
class Parts {
 public:
  void add(const void* data, std::size_t bytes) {
    text_ += fmt::format(" {}:{:016x}", bytes, XXH3_64bits(data, bytes));
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  void add(const std::string& text) { add(text.data(), text.size()); }
  void add(const SampleMatrix& values) {
    add(values.data(), static_cast<std::size_t>(values.size()) * sizeof(float));
  }
  std::string hash() const { return fmt::format("{:016x}", XXH3_64bits(text_.data(), text_.size())); }

 private:
  std::string text_;
};

void add_data(const Dataset& set, Parts& parts) {
  parts.add(set.inputs);
  parts.add(set.labels);
  parts.add(set.targets);
  parts.add(fmt::format("{} {}", set.classes, set.sparse_inputs.cols));
  parts.add(set.sparse_inputs.begin);
  parts.add(set.sparse_inputs.index);
  parts.add(set.sparse_inputs.value);
}

void add_files(const Scenario& scenario, const DataSplit* data, Parts& parts) {
  if (data != nullptr) {
    add_data(data->train, parts);
    add_data(data->test, parts);
    add_data(data->validation, parts);
  }
  for (const FactorSpec* factor : scenario.compute.factors()) {
    if (factor->steps != nullptr) parts.add(factor->steps->values());
  }
  for (const ProfileSpec& profile : scenario.profiles) {
    for (const auto& [date, value] : profile.rows) parts.add(std::vector<double>{date, value});
  }
  parts.add(scenario.cluster.network.platform_file.text);
}

}  // namespace

std::string version_text() { return psim_version; }

std::string cpu_family() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

std::map<std::string, std::string> libraries() {
  return {{"simgrid", simgrid_version}, {"snappy", snappy_version}};
}

std::string build_id() {
  static const std::string id = [] {
    const fs::path self = fs::read_symlink("/proc/self/exe"), core = self.parent_path() / "psim";
    std::ifstream file(self.filename() == "psim-further" ? core : self, std::ios::binary);
    std::array<char, 65536> block;
    std::uint64_t hash = 0;
    while (file.read(block.data(), block.size()), file.gcount() > 0) {
      hash = XXH3_64bits_withSeed(block.data(), static_cast<std::size_t>(file.gcount()), hash);
    }
    return fmt::format("{:016x}", hash);
  }();
  return id;
}

std::string scenario_hash(const LoadedScenario& loaded) {
  Parts parts;
  parts.add(resolved_toml(loaded.scenario));
  parts.add(version_text());
  for (const auto& [name, version] : libraries()) parts.add(name + " " + version);
  add_files(loaded.scenario, loaded.data.get(), parts);
  for (const LoadedJob& job : loaded.jobs) add_files(job.scenario, job.data.get(), parts);
  return parts.hash();
}

}  // namespace psim
