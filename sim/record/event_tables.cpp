// What is made of the declarations of events in words: the tables of run.db, and the page about them.
#include <fmt/format.h>

#include <utility>

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
    sql += fmt::format(
        "-- {}.\nCREATE TABLE {} (number INTEGER PRIMARY KEY, at_s REAL, node INTEGER, cause INTEGER, spent "
        "TEXT",
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
  sql +=
      "\n  FROM sent LEFT JOIN received ON received.message = sent.number\n"
      "  LEFT JOIN lost ON lost.message = sent.number;\n"
      "-- All events, with the tables that tell more of them.\nCREATE VIEW event AS\n";
  std::string between = "  ";
  for_each_subject([&]<class T>() {
    sql += fmt::format("{}SELECT number, at_s, node, cause, spent, '{}' AS type FROM {}",
                       std::exchange(between, "\n  UNION ALL "), T::table, T::table);
  });
  return sql + ";\n";
}

std::string event_tables_page() {
  std::string page =
      R"(# The events of a run

With `--trace events` a run's `run.db` has one table for each kind of event. `psim explain tables` prints
this page from the declarations in `sim/record`. [results.md](results.md) describes the summary and the other
tables.

Every table begins with these columns:

| column | meaning |
|---|---|
| `number` | counts the events of a run over all tables, from 0: it is the order in which they happened |
| `at_s` | simulated seconds |
| `node` | at which it happens: table `node` says what that is |
| `cause` | the number of the event that it comes of: the last one that it waited for |
| `spent` | what the time since then went into: compute, network, service, timeout, )"
      R"(or down (a fault lasts). NULL: into nothing, or a date had to come |

A column that an event has nothing for is NULL. The view `message` has each message once, with `sent_s` and
either `received_s` or `lost_s`. The view `event` has all events, with the name of their table as `type`.

**What an event comes of.** The simulator records each event with its cause: the message that was handled,
the computation that ended, the timer that ran out, the event after which a busy node was free. So the causes
of the last event lead back to the begin of the run, or to a node that started later (`startup`), and nothing
between them is left out. That is the critical path:

```sql
WITH RECURSIVE path AS (
  SELECT * FROM event WHERE number = (SELECT max(number) FROM finish)
  UNION ALL
  SELECT event.* FROM path JOIN event ON event.number = path.cause)
SELECT path.at_s - before.at_s AS seconds, path.spent, path.node, path.type
FROM path JOIN event AS before ON before.number = path.cause
WHERE seconds > 0 ORDER BY path.at_s;
```

A run that its target or its duration has ended may have no `finish`: begin with its last `model_update`.

The table `dependency` has the other needs of an event, which were met earlier: in `needs` an event, or in
`clock` the pushes of all workers for that clock, applied to its shard. Without these an answer's date under
other circumstances would be too early. `service` has when servers and the storage worked on a message.
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
