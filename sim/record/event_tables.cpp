// What is made of the declarations of events in words: the tables of run.db, and the page about them.
#include <fmt/format.h>

#include "sim/record/event_fields.hpp"

namespace psim {
namespace {

template <class Member>
std::string_view type_of(const Field<Member>& field) {
  using Value = typename decltype(kind_of_member(field.member))::Value;
  if constexpr (Named<Value>) return "TEXT";
  else return std::is_floating_point_v<Value> ? "REAL" : "INTEGER";
}

template <class Member>
bool is_optional(const Field<Member>& field) {
  return decltype(kind_of_member(field.member))::value;
}

}  // namespace

std::string event_tables() {
  std::string sql;
  for_each_subject([&sql]<class T>() {
    sql += fmt::format("-- {}.\nCREATE TABLE {} (number INTEGER PRIMARY KEY, at_s REAL, node INTEGER",
                       T::about, T::table);
    for_each_field<T>([&sql](const auto& field) {
      sql += fmt::format(",\n  {} {} /* {} */", field.name, type_of(field), field.meaning);
    });
    sql += ");\n";
  });
  return sql +
         "-- Each message once, with the dates of what became of it.\n"
         "CREATE VIEW message AS SELECT sent.number, sent.node AS sender, receiver, kind, sent.at_s AS "
         "sent_s,\n"
         "  received.at_s AS received_s, lost.at_s AS lost_s, sent_bytes, shard, epoch, clock, version, "
         "above,\n"
         "  pull, push, pushes_before, carried_values, carried_keys, carried_ids\n"
         "  FROM sent LEFT JOIN received ON received.message = sent.number\n"
         "  LEFT JOIN lost ON lost.message = sent.number;\n";
}

std::string event_tables_page() {
  std::string page =
      "# The events of a run\n\n"
      "With `--trace events` a run's `run.db` has one table for each kind of event. `psim explain --tables` "
      "prints this\npage from the declarations in `sim/record/event.hpp`. What the other tables and the "
      "summary "
      "hold says\n[results.md](results.md).\n\n"
      "Every table has these three columns first:\n\n"
      "| column | meaning |\n|---|---|\n"
      "| `number` | counts the events of a run over all tables, from 0: `ORDER BY number` is the order in "
      "which "
      "they happened |\n"
      "| `at_s` | simulated seconds |\n"
      "| `node` | at which it happens: table `node` says what that is |\n\n"
      "A column that an event has nothing for is NULL. The view `message` has each message once, with "
      "`sent_s` "
      "and either\n`received_s` or `lost_s`.\n";
  for_each_subject([&page]<class T>() {
    page += fmt::format("\n## {}\n\n{}.\n\n| column | type | meaning |\n|---|---|---|\n", T::table, T::about);
    for_each_field<T>([&page](const auto& field) {
      page += fmt::format("| `{}` | {}{} | {} |\n", field.name, type_of(field),
                          is_optional(field) ? ", or NULL" : "", field.meaning);
    });
  });
  return page;
}

}  // namespace psim
