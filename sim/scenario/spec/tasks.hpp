// The [[task]] tables of a scenario with consistency = "tasks", and the program that they make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/tasks.hpp"

namespace psim {

struct TaskSpec {
  std::string name;
  TaskKind kind = TaskKind::pull;
  std::string on;                     // pull: "workers", "worker 3" or "any worker"
  std::optional<std::int64_t> count;  // pull on any worker: units of a clock
  std::vector<std::string> after;     // "push", "all push", "update[-1]"
  std::optional<double> amount;       // scale, clip
};

// An error of a field.
struct TaskFinding {
  std::string field, message, label, help;
};

struct ParsedProgram {
  Program program;  // complete if there are no findings
  std::vector<TaskFinding> findings;
};
ParsedProgram parse_program(const std::vector<TaskSpec>& tasks, std::int64_t workers);

}  // namespace psim
