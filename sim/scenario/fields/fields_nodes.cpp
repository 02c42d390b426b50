// What nodes are like over time.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

// "startup_cv" for "cv": keys that live as long as the program.
std::string_view startup_key(std::string_view key) {
  static std::deque<std::string> keys;
  std::string name = fmt::format("startup_{}", key);
  for (const std::string& known : keys) {
    if (known == name) return known;
  }
  return keys.emplace_back(std::move(name));
}

}  // namespace

void describe_startup(FieldVisitor& v, StartupSpec& s, std::string_view table) {
  const std::string_view mean =
      table == "cluster.worker" ? "cluster.worker.startup" : "cluster.server.startup";
  const bool is_server = table == "cluster.server";
  const std::string_view kind = is_server ? "architecture.kind" : "";
  const std::vector<std::string_view> kinds =
      is_server ? std::vector<std::string_view>{"parameter-server"} : std::vector<std::string_view>{};
  v.field(
      "startup", &s.mean,
      {.doc = "Mean time from the beginning of the run until a node is up and asks the scheduler to join. "
              "A restart or a join of a fault has it behind it.",
       .min = 0,
       .max = 1e6,
       .when_key = kind,
       .when = kinds});
  const Need need{.keys = {mean}, .text = "with startup", .met = [&s] { return s.given(); }};
  v.field("startup_distribution", choice(s.distribution),
          {.doc = "How that time varies from node to node; a node's start counts as the first step.",
           .when_key = kind,
           .when = kinds,
           .need = need});
  std::vector<std::string_view> described;
  for (const DistributionRow& row : all_rows<DistributionRow>()) {
    for (const Setting* setting : row.settings) {
      if (std::ranges::find(described, setting->key) != described.end()) continue;
      described.push_back(setting->key);
      Setting own = *setting;
      own.key = startup_key(setting->key);
      SettingValue& place = s.settings.place_of(*setting);
      const FieldTarget target = std::visit([](auto& value) -> FieldTarget { return &value; }, place);
      v.field(own.key, target,
              {.doc = setting->doc,
               .min = setting->min,
               .max = setting->max,
               .above_min = setting->above_min,
               .below_max = setting->below_max,
               .when_key = "startup_distribution",
               .when = names_of_rows<DistributionRow>([setting](const DistributionRow& other) {
                 return std::ranges::find(other.settings, setting->key, &Setting::key) !=
                        other.settings.end();
               }),
               .need = need,
               .default_text = setting->default_text});
    }
  }
}

void describe_economy(FieldVisitor& v, EconomySpec& e) {
  v.field(
      "price", &e.price,
      {.doc = "Dollars for an hour of a node, from when it begins to start until it leaves or the run ends.",
       .min = 0,
       .max = 1e9});
  v.table(
      "power",
      "Electric power of each: linear between the two, by the share of time in which it computes or copies.",
      [&] {
        v.field("idle", &e.power.idle, {.doc = "Power while it does nothing.", .min = 0, .max = 1e9});
        v.field("full", &e.power.full,
                {.doc = "Power while it computes or copies; at least `idle`.", .min = 0, .max = 1e9});
      });
}

void describe_slow(FieldVisitor& v, Scenario& s) {
  SlowSpec& slow = s.recovery.slow;
  v.table(
      "slow",
      "The scheduler looks for workers that compute slowly for long, by the times per sample that they "
      "report "
      "after every clock (latency-induced probation: Dean, Barroso, CACM 2013). Without this table it does "
      "not.",
      [&] {
        v.field(
            "factor", &slow.factor,
            {.doc = "A worker is slow when its mean time per sample is more than so many times the median of "
                    "the others'.",
             .min = 1,
             .max = 1e6,
             .above_min = true});
        v.field("window", &slow.window,
                {.doc = "Clocks over which each worker's mean is taken.", .min = 1, .max = 1e6});
        v.field("action", choice(slow.action), {.doc = "What becomes of it."});
      },
      &slow.given);
}

void describe_profile(FieldVisitor& v, ProfileSpec& p) {
  v.field("of", choice(p.of), {.doc = "What the file tells."});
  v.field(
      "file", &p.file,
      {.doc = "File with a date in seconds and a value in each line, dates rising; it is part of the run's "
              "identity.",
       .required = true});
  v.field("workers", &p.workers,
          {.doc = "Which workers, counted from 0.",
           .min = 0,
           .max = 19'999,
           .filled = true,
           .default_text = "all"});
  v.field("every", &p.every,
          {.doc = "Repeat the profile with this period.",
           .min = 0,
           .max = 1e9,
           .above_min = true,
           .default_text = "once"});
}

}  // namespace psim
