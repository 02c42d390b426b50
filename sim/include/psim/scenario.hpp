// A scenario describes a simulation. docs/scenario.md has every field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace psim::api {

// One thing that is wrong with a scenario.
struct Problem {
  std::string code;                    // the kind of error, for `psim explain CODE`
  std::string source;                  // the file, or "--set"
  std::uint32_t line = 0, column = 0;  // count from 1; 0: the source as a whole
  std::string message, help;           // lower case, without a full stop; `help` may be empty
};

// All that is wrong with a scenario. `what()` is the text that `psim check` prints.
struct BadScenario : std::runtime_error {
  BadScenario(const std::string& text, std::vector<Problem> all)
      : std::runtime_error(text), problems(std::move(all)) {}
  std::vector<Problem> problems;
};

// A scenario file or text, with fields that the program sets. The file is read and checked only by
// `problems`, `resolved`, `run` and `watch`.
class Scenario {
 public:
  // The file at `path`; data files are looked for in its folder, too.
  static Scenario from_file(std::filesystem::path path);
  // TOML; `name` stands in messages and summaries, and files are looked for in its folder.
  static Scenario from_text(std::string toml, std::string name = "scenario.toml");

  // Sets one field, as `--set KEY=VALUE`: "cluster.workers", "16". VALUE is TOML; a bare word stands for a
  // string.
  Scenario& set(std::string key, std::string value);
  // The run's seed, 0 to 9e15: all random draws follow from it.
  Scenario& seed(std::int64_t seed);
  // Where data files are looked for first.
  Scenario& data_folder(std::filesystem::path folder);

  // All that is wrong; empty: it can be run. Loads the data. Throws std::logic_error for a row of the
  // program's own that cannot be used, as all that follows.
  std::vector<Problem> problems() const;
  // The scenario as TOML with every default written out. Throws BadScenario.
  std::string resolved() const;

  // The parts that this object was made of.
  struct Parts {
    std::string name;
    std::optional<std::string> text;  // none: `name` is a file
    std::vector<std::pair<std::string, std::string>> sets;
    std::vector<std::string> data_folders;
  };
  const Parts& parts() const { return parts_; }

 private:
  explicit Scenario(Parts parts) : parts_(std::move(parts)) {}
  Parts parts_;
};

}  // namespace psim::api
