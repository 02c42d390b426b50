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

// Where the meaning does not tell them: the names of an enumeration's values.
template <class Member>
std::string values_of(const Field<Member>& field) {
  using Value = typename decltype(kind_of_member(field.member))::Value;
  if constexpr (Named<Value>) {
    if (field.name == "kind") return fmt::format(": {}", fmt::join(all_names(Value{}), ", "));
  }
  return {};
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
  sql +=
      "-- Each message once, with the dates of what became of it.\n"
      "CREATE VIEW message AS SELECT sent.number, sent.at_s AS sent_s, received.at_s AS received_s,\n"
      "  lost.at_s AS lost_s, sent.node AS sender";
  for_each_field<Sent>([&sql](const auto& field) { sql += fmt::format(", {}", field.name); });
  return sql +
         "\n  FROM sent LEFT JOIN received ON received.message = sent.number\n"
         "  LEFT JOIN lost ON lost.message = sent.number;\n";
}

std::string event_tables_page() {
  std::string page =
      R"(# The events of a run

With `--trace events` a run's `run.db` has one table for each kind of event. `psim explain tables` prints
this page from the declarations in `sim/record`. [results.md](results.md) describes the summary and the other
tables.

Every table begins with these three columns:

| column | meaning |
|---|---|
| `number` | counts the events of a run over all tables, from 0: it is the order in which they happened |
| `at_s` | simulated seconds |
| `node` | at which it happens: table `node` says what that is |

A column that an event has nothing for is NULL. The view `message` has each message once, with `sent_s` and
either `received_s` or `lost_s`.

**What a worker waited for.** Each row of `wait` names the message that ended it. If that is an answer of a
server, and `release` has a row with the same node, shard, worker and pull, the server had made the pull wait,
and the row says what released it: for example whose push. That push was sent when its worker had computed it
(`computation`), which had begun when that worker's own `wait` was over. So a delay can be followed backwards
through a run.
)";
  for_each_subject([&page]<class T>() {
    page += fmt::format("\n## {}\n\n{}.\n\n| column | type | meaning |\n|---|---|---|\n", T::table, T::about);
    for_each_field<T>([&page](const auto& field) {
      page += fmt::format("| `{}` | {}{} | {}{} |\n", field.name, type_of(field),
                          is_optional(field) ? ", or NULL" : "", field.meaning, values_of(field));
    });
  });
  return page;
}

}  // namespace psim
