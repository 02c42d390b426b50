#include "sim/record/event_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/record/event_fields.hpp"

namespace psim {
namespace {

// For "refused" in "applied; late: it is too late; refused: it is for another owner": the text after its
// colon; empty if the meaning does not explain the value.
std::string_view told_of(std::string_view value, std::string_view meaning) {
  const std::string name = fmt::format("{}:", value);
  for (std::size_t at = meaning.find(name); at != std::string_view::npos; at = meaning.find(name, at + 1)) {
    const bool begins =
        at == 0 || meaning.substr(0, at).ends_with("; ") || meaning.substr(0, at).ends_with(". ");
    if (!begins) continue;
    const std::string_view rest = meaning.substr(at + name.size() + 1);
    return rest.substr(0, rest.find("; "));
  }
  return {};
}

template <class Member>
std::vector<std::string_view> words_of_values(const Field<Member>& field) {
  using Value = typename decltype(kind_of_member(field.member))::Value;
  if constexpr (Named<Value>) return all_names(Value{});
  else return {};
}

}  // namespace

std::string explain_event(std::string_view name) {
  std::string out;
  for_each_subject([&]<class T>() {
    std::vector<std::string_view> columns;
    for_each_field<T>([&](const auto& field) {
      columns.push_back(field.name);
      for (const std::string_view value : words_of_values(field)) {
        if (const std::string_view told = told_of(value, field.meaning); value == name && !told.empty())
          out += fmt::format("{}, a value of `{}` in run.db, {}:\n  {}\n", name, field.name, T::table, told);
      }
    });
    if (name == T::table)
      out += fmt::format(
          "{}, a table of run.db (--trace events):\n  {}\n  columns: number, at_s, node, {}\n  psim explain "
          "tables says what each of them holds\n",
          name, T::about, fmt::join(columns, ", "));
  });
  return out;
}

std::string explain_event_column(std::string_view name) {
  std::string out;
  for_each_subject([&]<class T>() {
    for_each_field<T>([&](const auto& field) {
      if (field.name == name) out += fmt::format("  {}: {}\n", T::table, field.meaning);
    });
  });
  return out.empty() ? out : fmt::format("{}, a column of run.db:\n{}", name, out);
}

std::vector<std::string> event_words() {
  std::vector<std::string> words;
  for_each_subject([&]<class T>() {
    words.emplace_back(T::table);
    for_each_field<T>([&](const auto& field) {
      words.emplace_back(field.name);
      for (const std::string_view value : words_of_values(field)) {
        if (!told_of(value, field.meaning).empty()) words.emplace_back(value);
      }
    });
  });
  return words;
}

}  // namespace psim
