// Makes the tables of run.db, and the page about them, from the declarations of events.
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

// The names of the values of a column `kind`, whose meaning does not list them.
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
      "-- Each message once, with the dates when it was sent, and received or lost.\n"
      "CREATE VIEW message AS SELECT sent.number, sent.at_s AS sent_s, received.at_s AS received_s,\n"
      "  lost.at_s AS lost_s, sent.node AS sender";
  for_each_field<Sent>([&sql](const auto& field) { sql += fmt::format(", {}", field.name); });
  sql +=
      "\n  FROM sent LEFT JOIN received ON received.message = sent.number\n"
      "  LEFT JOIN lost ON lost.message = sent.number;\n"
      "-- All events, with the names of their tables.\nCREATE VIEW event AS\n";
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
| `number` | the number of the event in the run, over all tables, from 0: the order of events |
| `at_s` | simulated seconds |
| `node` | the node of the event: the table `node` has its role |
| `cause` | the number of the event's cause: the last event that it waited for |
| `spent` | the use of the time between the cause and the event: compute, network, service, timeout, )"
      R"(or down (a fault lasts). NULL: no time was used, or a date had to come |

A column without a value for an event is NULL. The view `message` has each message once, with `sent_s` and
either `received_s` or `lost_s`. The view `event` has all events, with the name of their table as `type`.

**The cause of an event.** The simulator records each event with its cause: the message that was handled, the
computation that ended, the timer that ran out, or the event after which a busy node was free. So the causes
of the last event lead back to the start of the run, or to a node that started later (`startup`), without a
gap. This chain is the critical path:

```sql
WITH RECURSIVE path AS (
  SELECT * FROM event WHERE number = (SELECT max(number) FROM finish)
  UNION ALL
  SELECT event.* FROM path JOIN event ON event.number = path.cause)
SELECT path.at_s - before.at_s AS seconds, path.spent, path.node, path.type
FROM path JOIN event AS before ON before.number = path.cause
WHERE seconds > 0 ORDER BY path.at_s;
```

If the target or the duration ended the run, it may have no `finish`: start from its last `model_update`.

The table `dependency` has the other events that an event needed, which happened earlier: `needs` names an
event; `clock` names a clock whose pushes of all workers had to be applied to the shard. Without these
dependencies, a what-if answer would be too early. The table `service` has the dates when servers and the
storage worked on a message.
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
