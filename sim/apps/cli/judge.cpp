#include "sim/apps/cli/judge.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <system_error>

#include "sim/fuzz/expectation.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"

namespace psim::cli {
namespace {

// The status of `psim WORDS...`; nothing if it was killed: after `limit` seconds of processor time, after a
// multiple of that by the clock (a busy machine is slow), or by an interrupt.
std::optional<int> run_psim(std::vector<std::string> words, const fs::path& out, const fs::path& log,
                            double limit, const std::atomic<int>& stopped_by) {
  Child child(std::move(words), out, log, {.cpu_seconds = static_cast<std::uint64_t>(limit)});
  constexpr std::chrono::milliseconds slice{50};
  constexpr double patience = 30;  // seconds by the clock for each second of the limit
  bool in_time = false;
  for (double waited = 0; !in_time && waited < patience * limit * 1e3 && stopped_by == 0;
       waited += static_cast<double>(slice.count()))
    in_time = child.ends_within(slice);
  if (!in_time) return std::nullopt;  // the destructor kills it
  const int status = child.wait();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return std::nullopt;
  return status;
}

// Failures of the same kind get the same text, without dates and names.
std::string without_numbers(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

std::string outcome_of(const Json& summary, const Scenario& scenario) {
  if (!summary["stuck"].empty())
    return summary["stuck"][0].get<std::string>().find("nothing new has come") == std::string::npos
               ? "stuck"
               : "in vain";
  if (summary["target"]["reached"]) return "target";
  const std::optional<Seconds>& duration = scenario.training.duration;
  return duration && summary["sim_time_s"] >= duration->value ? "time is up" : "done";
}

Verdict failed(std::string kind, std::string detail) {
  return {.outcome = "failed", .failure = std::move(kind), .detail = std::move(detail)};
}

// Whether a process with the output `text` failed because of a full disk. That is not its fault, and it may
// have had no space to say so.
bool disk_is_full(const std::string& text, const fs::path& folder) {
  constexpr std::uintmax_t too_little = std::uintmax_t{1} << 20U;  // bytes; a run.db takes more
  return text.find("disk is full") != std::string::npos ||
         text.find(std::strerror(ENOSPC)) != std::string::npos || fs::space(folder).available < too_little;
}

// The output from the error on. Notes on the scenario come before the error and do not end a run.
std::string from_error(const std::string& text) {
  const std::size_t before = text.starts_with("error") ? std::string::npos : text.find("\nerror");
  return before == std::string::npos ? text : text.substr(before + 1);
}

// The failure of a process that should have ended with 0 or 1; nothing if it did. Throws
// std::filesystem::filesystem_error if the disk is full.
std::optional<Verdict> bad_end(std::optional<int> status, const fs::path& log, double limit) {
  if (!status) return failed("hang", fmt::format("no end after {} s", limit));
  if (WIFSIGNALED(*status)) {
    const std::string name = strsignal(WTERMSIG(*status));
    return failed("signal: " + name, fmt::format("{}\n{}", name, read_file(log)));
  }
  if (WEXITSTATUS(*status) <= answer_is_no) return std::nullopt;
  const std::string text = read_file(log);
  if (disk_is_full(text, log.parent_path()))
    throw fs::filesystem_error("write", log.parent_path(), std::error_code(ENOSPC, std::generic_category()));
  const std::string error = from_error(text);
  return failed(fmt::format("exit code {}: {}", WEXITSTATUS(*status), without_numbers(error)), error);
}

// The first check of `psim verify` that is violated.
Verdict broken_promise(const Json& document) {
  for (const Json& check : document["checks"]) {
    if (check["violations"] == 0) continue;
    const std::string text = check["first"].empty() ? "" : check["first"][0]["text"].get<std::string>();
    return failed("violated: " + check["name"].get<std::string>(), text);
  }
  return failed("violated", "");
}

}  // namespace

Verdict Judge::operator()(const std::string& toml) const {
  const fs::path file = folder / "scenario.toml", out = folder / "out.json", log = folder / "log",
                 record = folder / "run";
  write_file(file, toml);
  Diagnostics diagnostics;
  const std::optional<LoadedScenario> loaded =
      load_scenario({.path = file.string(), .overrides = {}, .data_dirs = {}}, diagnostics);
  if (!loaded || !diagnostics.empty())
    return {.outcome = "refused", .failure = {}, .detail = diagnostics.render()};
  std::string digest;
  Json summary;
  std::vector<std::string> states;
  for (const std::string threads : {"1", "2"}) {
    std::vector<std::string> words{"run", file.string(), "--json", "--threads", threads};
    if (threads == "1") words.insert(words.end(), {"--trace", "events", "--force", "--out", record.string()});
    const std::optional<int> status = run_psim(std::move(words), out, log, limit, interrupted);
    if (interrupted != 0) return {.outcome = "interrupted", .failure = {}, .detail = {}};
    if (const auto bad = bad_end(status, log, limit)) return *bad;
    summary = Json::parse(read_file(out), nullptr, false);
    if (summary.is_discarded()) return failed("no document", read_file(out));
    if (threads == "1") states = summary.value("reached_states", states);
    const std::string now = summary["digest"];
    if (!digest.empty() && now != digest)
      return failed("two digests", fmt::format("{} with one thread, {} with two", digest, now));
    digest = now;
  }
  const std::optional<int> verified =
      run_psim({"verify", record.string(), "--json"}, out, log, limit, interrupted);
  if (interrupted != 0) return {.outcome = "interrupted", .failure = {}, .detail = {}};
  if (const auto bad = bad_end(verified, log, limit)) return *bad;
  if (WEXITSTATUS(*verified) != done) return broken_promise(Json::parse(read_file(out)));
  const std::string outcome = outcome_of(summary, loaded->scenario);
  const std::string stuck = summary["stuck"].empty() ? "" : summary["stuck"][0].get<std::string>();
  if (!stuck.empty() && fuzz::must_end(loaded->scenario))
    return failed(outcome + " though all is well again", stuck);
  return {.outcome = outcome, .failure = {}, .detail = stuck, .states = std::move(states)};
}

}  // namespace psim::cli
