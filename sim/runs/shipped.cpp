#include "sim/runs/shipped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "sim/runs/refused.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

std::vector<fs::path> scenarios_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;  // the folder may be missing
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

fs::path scenario_folder() {
  for (fs::path dir = fs::read_symlink("/proc/self/exe").parent_path(); dir != dir.root_path();
       dir = dir.parent_path()) {
    for (const char* place : {"scenarios", "share/psim/scenarios"}) {  // in a checkout; after installation
      if (fs::exists(dir / place / "quickstart.toml")) return dir / place;
    }
  }
  return "scenarios";
}

std::vector<fs::path> scenarios() { return scenarios_in(scenario_folder()); }

std::string find_scenario(const std::string& name) {
  std::error_code error;
  if (fs::exists(name, error)) return name;
  const std::string file = name.ends_with(".toml") ? name : name + ".toml";
  std::vector<fs::path> places{file};
  if (name.find('/') == std::string::npos)
    places.insert(places.end(), {"scenarios" / fs::path(file), scenario_folder() / file});
  const auto found =
      std::ranges::find_if(places, [&](const fs::path& path) { return fs::is_regular_file(path, error); });
  if (found != places.end()) return found->string();
  if (name.find('/') != std::string::npos) return name;
  std::vector<std::string> names;
  for (const fs::path& folder : {fs::path("."), scenario_folder()}) {
    for (const fs::path& one : scenarios_in(folder)) names.push_back(one.stem().string());
  }
  const std::string near = nearest(fs::path(file).stem().string(), names);
  throw Refused(fmt::format("unknown scenario `{}`", name),
                near.empty() ? "`psim list` shows the scenarios that come with psim; you may also name a file"
                             : fmt::format("did you mean `{}`?", near));
}

std::string scenario_name(const std::string& path) { return fs::path(path).stem().string(); }

}  // namespace psim
