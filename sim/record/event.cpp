#include "sim/record/event.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <array>
#include <bit>
#include <utility>

#include "sim/record/event_fields.hpp"

namespace psim {
namespace {

constexpr std::size_t most_words = 32;

// The words of an event that are hashed, and a mask of its fields that have a value.
class Words {
 public:
  void add(std::uint64_t word) { words_[count_++] = word; }
  template <class T>
  void add_field(const T& value) {
    constexpr bool is_optional = OptionalOf<T>::value;
    present_ <<= 1U;
    if constexpr (is_optional) {
      if (value) add_field(*value);
    } else if constexpr (std::is_floating_point_v<T>) {
      add(std::bit_cast<std::uint64_t>(value));
      present_ |= 1U;
    } else if constexpr (Named<T>) {
      add(index_in(value));
      present_ |= 1U;
    } else {
      add(static_cast<std::uint64_t>(value));
      present_ |= 1U;
    }
  }
  std::uint64_t hash() {
    add(present_);
    return XXH3_64bits(words_.data(), count_ * sizeof words_[0]);
  }

 private:
  std::array<std::uint64_t, most_words> words_;
  std::size_t count_ = 0;
  std::uint64_t present_ = 0;
};

template <class T>
std::string told(const T& value) {
  if constexpr (Named<T>) return std::string(name_in(value));
  else if constexpr (std::is_floating_point_v<T>) return fmt::format("{:.9g}", value);
  else return fmt::format("{}", static_cast<std::int64_t>(value));
}

}  // namespace

std::uint64_t hash_of(const Event& event) {
  Words words;
  words.add(std::bit_cast<std::uint64_t>(event.at));
  words.add(event.node | static_cast<std::uint64_t>(event.what.index()) << 32U);
  std::visit(
      [&words]<class T>(const T& what) {
        // In addition to the fields: the date, the node, and the mask.
        static_assert(count_of_fields<T>() + 3 <= most_words);
        for_each_field<T>([&](const auto& field) { words.add_field(what.*field.member); });
      },
      event.what);
  return words.hash();
}

std::string to_string(const Event& event) {
  return std::visit(
      [&event]<class T>(const T& what) {
        std::string line = fmt::format("t={:.9g}s {}: node {}", event.at, T::table, event.node);
        for_each_field<T>([&](const auto& field) {
          const auto& value = what.*field.member;
          if constexpr (OptionalOf<std::decay_t<decltype(value)>>::value) {
            if (value) line += fmt::format(", {} {}", field.name, told(*value));
          } else {
            line += fmt::format(", {} {}", field.name, told(value));
          }
        });
        return line;
      },
      event.what);
}

// Makes the tables of run.db, and the page about them, from the declarations of events.

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
dependencies, nobody could tell how much later an event could have come. The table `service` has the
dates when servers and the storage worked on a message. `step_cost` has what each step takes at the usual
speed of its machine, and `rate` what stragglers, profiles and faults left of speeds and links.
`without_fault` has the ends of the same run without its faults.
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
  if constexpr (Named<Value>) {
    const auto& names = all_names(Value{});
    return {names.begin(), names.end()};
  } else {
    return {};
  }
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
