#include "sim/scenario/checking/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/checking/checks.hpp"

namespace psim {
namespace {

// With several groups, each job checks the fields that its group may set, and the cluster checks the others.
enum class Of { job, cluster, both };

struct Subject {
  void (*check)(const Check&);
  Of of;
};

constexpr Subject subjects[] = {
    {check_features, Of::both},     {check_source, Of::job},         {check_model, Of::job},
    {check_parameters, Of::job},    {check_devices, Of::job},        {check_memory, Of::job},
    {check_training, Of::job},      {check_consistency, Of::job},    {check_filters, Of::job},
    {check_pace, Of::job},          {check_recovery, Of::cluster},   {check_cluster, Of::cluster},
    {check_inference, Of::cluster}, {check_network, Of::cluster},    {check_architecture, Of::cluster},
    {check_compute, Of::cluster},   {check_stragglers, Of::cluster}, {check_faults, Of::cluster},
    {check_slowness, Of::cluster},  {check_groups, Of::cluster},     {check_tasks, Of::cluster},
    {check_nodes, Of::cluster},
};

}  // namespace

Place Check::place(std::string path) const {
  for (;;) {
    if (const auto it = reading.places.find(path); it != reading.places.end()) return it->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
  }
}

void Check::note_data(const std::string& field, std::string message, std::string help) const {
  diagnostics.note({"data", place(field), std::move(message), "", std::move(help)});
}

void Check::report(std::string code, const std::vector<std::string>& fields, std::string message,
                   std::string label, std::string help) const {
  if (!std::ranges::all_of(fields, [this](const std::string& field) { return reading.reliable(field); }))
    return;
  for (const std::string& field : fields) {
    if (!reading.by_preset(field)) continue;
    std::string origin = fmt::format("`{}` is from preset {}", field, reading.preset);
    if (&field == &fields.front()) {
      origin =
          field.starts_with("filter.")
              ? fmt::format("filter = [] above all tables removes the filters of preset {}", reading.preset)
              : fmt::format("a value in your file overrides preset {}", reading.preset);
    }
    help += (help.empty() ? "" : "; ") + origin;
  }
  if (!group.empty()) message += fmt::format(" in group `{}`", group);
  diagnostics.add(
      {std::move(code), place(fields.front()), std::move(message), std::move(label), std::move(help)});
}

void Check::add(const std::vector<std::string>& fields, std::string message, std::string label,
                std::string help) const {
  report("contradiction", fields, std::move(message), std::move(label), std::move(help));
}

void Check::add_inside(std::string code, const std::string& field, const Inside& inside, std::string message,
                       std::string label, std::string help) const {
  if (!reading.reliable(field)) return;
  const auto [text, begin, length] = inside;
  Place where = place(field);
  // Only if the source has this text unchanged between quotes.
  const bool plain = where.line == where.end_line && where.end_column == where.column + code_points(text) + 2;
  if (plain) {
    where.column += 1 + code_points(text.substr(0, begin));
    where.end_column = where.column + code_points(text.substr(begin, length));
  }
  diagnostics.add({std::move(code), where, std::move(message), std::move(label), std::move(help)});
}

void Check::add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                     std::string help) const {
  report("data", fields, std::move(message), std::move(label), std::move(help));
}

void check_scenario(const Check& check) {
  for (const Subject& subject : subjects) {
    if (check.s.groups.empty() || subject.of != Of::job) subject.check(check);
  }
}

void check_job(const Check& check) {
  for (const Subject& subject : subjects) {
    if (subject.of != Of::cluster) subject.check(check);
  }
}

}  // namespace psim
