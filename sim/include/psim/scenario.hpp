// A scenario describes a simulation. docs/scenario.md has every field.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace psim::api {

// One mistake in a scenario.
struct Problem {
  std::string code;                    // the kind of error, for `psim explain CODE`
  std::string source;                  // the file, or "--set"
  std::uint32_t line = 0, column = 0;  // counted from 1; 0: the whole source
  std::string message, help;           // lower case, without a full stop; `help` may be empty
};

// All mistakes in a scenario. `what()` is the text that `psim check` prints.
struct BadScenario : std::runtime_error {
  BadScenario(const std::string& text, std::vector<Problem> all)
      : std::runtime_error(text), problems(std::move(all)) {}
  std::vector<Problem> problems;
};

// A scenario file or text, and fields that the program sets. Only `problems`, `resolved`, `run` and `watch`
// read and check the file.
class Scenario {
 public:
  // The file at `path`. psim also looks for data files in its folder.
  static Scenario from_file(std::filesystem::path path);
  // TOML. Messages and summaries use `name`, and psim looks for data files in its folder.
  static Scenario from_text(std::string toml, std::string name = "scenario.toml");

  // Sets one field, like `--set KEY=VALUE`: "cluster.workers", "16". VALUE is TOML; a bare word is a string.
  Scenario& set(std::string key, std::string value);
  // The run's seed, 0 to 9e15. It determines all random draws.
  Scenario& seed(std::int64_t seed);
  // The folder where psim looks for data files first.
  Scenario& data_folder(std::filesystem::path folder);

  // All mistakes; empty: the scenario can run. Loads the data. This function and those below throw
  // std::logic_error if the program has added a row that psim cannot use.
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
