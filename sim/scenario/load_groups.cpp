// Several groups: the job of each namespace is the scenario, read again with the fields that its group sets.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "sim/scenario/assignment.hpp"
#include "sim/scenario/load_parts.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/features.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/presets.hpp"

namespace psim {
namespace {

// Puts the fields that group `number` sets into the document. In a shared namespace this is only the batch
// size.
void put_sets(Document& document, const Scenario& all, std::size_t number, bool joins,
              Diagnostics& diagnostics) {
  const GroupSpec& group = all.groups[number];
  std::vector<std::string> sets = group.set;
  for (std::string& text : sets) std::ranges::replace(text, '\n', ' ');
  const std::size_t source = diagnostics.add_source(
      {fmt::format("`set` of group {}", group.name.empty() ? fmt::to_string(number) : group.name),
       fmt::format("{}", fmt::join(sets, "\n"))});
  for (std::uint32_t line = 1; line <= sets.size(); ++line) {
    const std::string& text = sets[line - 1];
    const std::string key = key_in(text);
    const Place place{.source = source,
                      .line = line,
                      .column = 1,
                      .end_line = line,
                      .end_column = 1 + std::max(1U, code_points(key))};
    if (key.empty() || text.find('=') == std::string::npos) {
      diagnostics.add({"group", place, fmt::format("`{}` sets nothing", text), "expected KEY = VALUE",
                       "for example \"training.batch_size = 64\""});
    } else if (joins && key != "training.batch_size") {
      diagnostics.add({"group", place, fmt::format("`{}` belongs to the whole namespace", key),
                       "this group is in the namespace of the previous group",
                       "this group may set training.batch_size only; set other fields in the first group of "
                       "the namespace"});
    } else if (!is_of_group(key)) {
      diagnostics.add(
          {"group", place, fmt::format("a group cannot set `{}`", key), "all groups share it",
           "a group may set seed, compute.time, and fields of [data], [model], [training], [consistency], "
           "[placement], [messages] and [[filter]]; set other fields outside the group"});
    } else {
      assign_text(document, text, source, line, "group", diagnostics);
    }
  }
}

// Keeps a single value for all workers; of a list keeps the values of the job's workers.
template <class T>
void cut(std::vector<T>& values, std::int64_t first, std::int64_t count) {
  if (std::ssize(values) <= 1 || std::ssize(values) < first + count)
    return;  // another check reports a list that is too short
  values.erase(values.begin() + first + count, values.end());
  values.erase(values.begin(), values.begin() + first);
}

// The cluster with these workers only.
void narrow(Scenario& job, const Scenario& all, std::int64_t first, std::int64_t count) {
  job.cluster = all.cluster;
  job.cluster.workers = count;
  cut(job.cluster.worker.speed.values, first, count);
  cut(job.cluster.worker.speed.of_platform, first, count);
  const std::optional<Seconds> time = job.compute.time;  // a group may set it
  job.compute = all.compute;
  job.compute.time = time;
  job.compute.time_speed = all.cluster.worker.speed.of(0);
  const auto narrow_workers = [=](std::vector<std::int64_t>& workers) {
    std::erase_if(workers, [=](std::int64_t w) { return w < first || w >= first + count; });
    for (std::int64_t& w : workers) w -= first;
    return !workers.empty();
  };
  cut(job.compute.columns, first, count);
  std::erase_if(job.compute.effects, [&](EffectSpec& effect) {
    cut(effect.columns, first, count);
    return !effect.workers.empty() && !narrow_workers(effect.workers);
  });
  job.stragglers = all.stragglers;
  std::erase_if(job.stragglers, [&](StragglerSpec& straggler) { return !narrow_workers(straggler.workers); });
}

// The names of the job's workers, counted from `first`; leaves out the workers of other jobs.
void rename(std::vector<std::string>& names, const Scenario& job, const Scenario& all, std::int64_t first) {
  const auto first_node = static_cast<std::uint32_t>(1 + all.cluster.servers + first);
  std::vector<std::string> here;
  for (std::string& name : names) {
    const std::optional<std::uint32_t> node = node_named(all.cluster, name);
    if (!name.starts_with("worker ") || !node) {
      here.push_back(std::move(name));
    } else if (*node >= first_node && *node < first_node + job.cluster.workers) {
      here.push_back(fmt::format("worker {}", *node - first_node));
    }
  }
  names = std::move(here);
}

// Keeps the faults of this job and drops faults of other jobs' workers. If any job of the run has a fault
// that may lose something, nodes of this job repeat messages, too, even if this job keeps no fault.
void narrow_faults(Scenario& job, const Scenario& all, std::int64_t first) {
  job.recovery.enabled = all.may_fail();
  std::vector<FaultSpec> faults;
  for (FaultSpec& fault : job.faults) {
    const bool had_nodes = !fault.nodes.empty();
    rename(fault.nodes, job, all, first);
    bool is_here = !had_nodes || !fault.nodes.empty();
    for (std::vector<std::string>& side : fault.between) {
      rename(side, job, all, first);
      is_here = is_here && !side.empty();
    }
    if (const auto parsed = parse_condition(fault.when); std::holds_alternative<FaultCondition>(parsed)) {
      const std::string& node = std::get<FaultCondition>(parsed).node;
      std::vector<std::string> whose;
      if (!node.empty()) whose.push_back(node);
      rename(whose, job, all, first);
      is_here = is_here && (node.empty() || !whose.empty());
      if (is_here && !node.empty()) fault.when.replace(fault.when.find(node), node.size(), whose.front());
    }
    if (is_here) faults.push_back(std::move(fault));
  }
  job.faults = std::move(faults);
  const InferenceSpec& inference = job.cluster.inference;
  const auto concerns_inference = [&](const FaultSpec& fault) {
    return std::ranges::any_of(fault.nodes,
                               [](const std::string& name) { return name.starts_with("inference "); });
  };
  if (!inference.given) std::erase_if(job.faults, concerns_inference);
  job.cluster.inference.group.clear();
}

// Reads and checks the scenarios of jobs.
class JobLoader {
 public:
  JobLoader(const Scenario& all, const LoadRequest& request, const Diagnostics& sources,
            Diagnostics& diagnostics)
      : all_(all), request_(request), sources_(sources), diagnostics_(diagnostics) {}

  LoadedJob load(std::size_t first_group, std::size_t end, std::int64_t first_worker) {
    LoadedJob job{.scenario = {}, .first_worker = static_cast<std::uint32_t>(first_worker)};
    std::int64_t workers = 0, samples = 0;
    for (std::size_t g = first_group; g < end; ++g) {
      job.groups.push_back(g);
      const std::int64_t count = *all_.groups[g].workers;
      const std::int64_t batch = batch_of(first_group, g);
      job.batch_sizes.insert(job.batch_sizes.end(), static_cast<std::size_t>(count), batch);
      workers += count;
      samples += count * batch;
    }
    const bool differ =
        std::ranges::adjacent_find(job.batch_sizes, std::not_equal_to{}) != job.batch_sizes.end();
    if (!differ) job.batch_sizes.clear();
    read(first_group, first_group, [&](const Reading& reading, Diagnostics& found, Scenario& scenario) {
      narrow(scenario, all_, first_worker, workers);
      settle_loops(scenario);
      settle_warmup(scenario, reading);
      scenario.cluster.inference.given = is_served(first_group, end);
      const Check check{
          .s = scenario, .reading = reading, .diagnostics = found, .group = all_.groups[first_group].name};
      if (differ) {
        scenario.training.batch_size = samples / workers;
        if (samples % workers != 0)
          check.add(
              {fmt::format("group.{}.set", end - 1), "training.batch_size"},
              fmt::format("a clock of {} has {}", counted(workers, "worker"), counted(samples, "sample")),
              "samples / workers must be a whole number",
              "change batch_size or workers of the groups in this namespace");
      }
      check_job(check);
      job.data = load_data_of(scenario, request_, reading, check);
      scenario.groups.clear();
      narrow_faults(scenario, all_, first_worker);
      job.scenario = std::move(scenario);
    });
    return job;
  }

 private:
  // The scenario with the fields that the groups `first` and `second` set.
  template <class Use>
  void read(std::size_t first, std::size_t second, Use&& use) {
    Diagnostics found = sources_;
    std::optional<Document> document = read_request(request_, found);
    if (!document) return merge(found, diagnostics_);
    put_sets(*document, all_, first, false, found);
    if (second != first) put_sets(*document, all_, second, true, found);
    take_preset(*document, found);
    Scenario scenario;
    Reader reader(*document, found);
    describe(reader, scenario);
    reader.finish({"compare", "tune"});
    settle_split(scenario, *document);
    use(reader.reading(), found, scenario);
    merge(found, diagnostics_);
  }

  bool is_served(std::size_t first_group, std::size_t end) const {
    const InferenceSpec& inference = all_.cluster.inference;
    if (!inference.given || inference.group.empty()) return inference.given && first_group == 0;
    return std::any_of(all_.groups.begin() + static_cast<std::ptrdiff_t>(first_group),
                       all_.groups.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](const GroupSpec& group) { return group.name == inference.group; });
  }

  std::int64_t batch_of(std::size_t first, std::size_t group) {
    std::int64_t batch = 0;
    read(first, group, [&](const Reading&, Diagnostics&, const Scenario& scenario) {
      batch = scenario.training.batch_size;
    });
    return batch;
  }

  const Scenario& all_;
  const LoadRequest& request_;
  const Diagnostics& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace

void share_workers(Scenario& scenario) {
  std::int64_t rest = scenario.cluster.workers, open = 0;
  for (const GroupSpec& group : scenario.groups) {
    rest -= group.workers.value_or(0);
    open += group.workers ? 0 : 1;
  }
  for (GroupSpec& group : scenario.groups) {
    if (group.workers) continue;
    group.workers = std::max<std::int64_t>(rest, 0) / open--;
    rest -= *group.workers;
  }
}

std::vector<LoadedJob> load_jobs(const Scenario& scenario, const LoadRequest& request,
                                 const Diagnostics& sources, Diagnostics& diagnostics) {
  JobLoader loader(scenario, request, sources, diagnostics);
  std::vector<LoadedJob> jobs;
  std::int64_t worker = 0;
  for (std::size_t first = 0; first < scenario.groups.size();) {
    std::size_t end = first + 1;
    while (end < scenario.groups.size() && scenario.groups[end].space == Namespace::shared) ++end;
    jobs.push_back(loader.load(first, end, worker));
    for (; first < end; ++first) worker += *scenario.groups[first].workers;
  }
  return jobs;
}

}  // namespace psim
