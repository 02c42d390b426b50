#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/run_files.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/further.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/apps/cli/study_report.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/interrupt.hpp"
#include "sim/runs/process.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/publish/papers.hpp"

namespace psim::cli {

// psim cite: the works to cite for psim, a scenario or a study.

namespace {

struct ToCite {
  std::string of;
  std::vector<Citation> citations;
};

ToCite to_cite(const CiteCommand& asked) {
  const std::string& name = asked.name;
  if (name.empty()) return {"psim", study::citations_of_psim()};
  if (study::is_study(name) || study::is_study(studies_shelf().home / name)) {
    const study::StudyFolder folder(found_on(studies_shelf(), name));
    if (!missing_runs(folder, study::Journal(folder.dir, study::Journal::Builds::any)).empty())
      say("note: {} is not complete, so its statistics are not known yet\n", folder.dir.string());
    return {folder.dir.string(), citations_of_study(folder, asked.data_dirs)};
  }
  study::Request request;
  request.scenario = find_scenario(name);
  request.data_dirs = asked.data_dirs;
  return {request.scenario, citations_of_scenario(request)};
}

}  // namespace

int cite(const CiteCommand& asked) {
  const ToCite found = to_cite(asked);
  if (asked.bibtex) fmt::print("{}", study::citation_bibtex(found.citations));
  else fmt::print("What to cite for {}:\n\n{}", found.of, study::citation_text(found.citations));
  return done;
}

namespace {

// Throws Refused unless the folder has all runs and all files made from them.
void check_complete(const study::StudyFolder& folder, const study::StudyContents& contents) {
  const std::string dir = folder.dir.string();
  const study::Journal journal(folder.dir, study::Journal::Builds::any);
  say_what_is_not_read(folder.dir, journal);
  const std::string scenario = folder.scenario().filename().string();
  const std::vector<Json> missing = missing_runs(folder, journal);
  if (!missing.empty())
    throw Refused(
        fmt::format("{} is not complete: {} of {} runs are missing, the first is {}", dir, missing.size(),
                    folder.manifest["runs"].size(), missing.front()["run"].get<std::string>()),
        fmt::format("psim compare {} --out {}", file_word(folder.scenario()), file_word(dir)));
  const bool is_tuning = folder.manifest.contains("stage");
  std::vector<std::string> lacking;
  for (const std::string& name : {scenario, std::string("results.jsonl"), std::string("study.json"),
                                  std::string("runs.csv"), std::string("study.db")}) {
    if (std::ranges::find(contents.files, fs::path(name)) == contents.files.end()) lacking.push_back(name);
  }
  if (is_tuning || !lacking.empty())
    throw Refused(fmt::format("{} is not complete: {}", dir,
                              is_tuning ? "it has the trials, but not the study itself"
                                        : fmt::format("{} missing", fmt::join(lacking, ", "))),
                  fmt::format("psim merge {}", file_word(dir)));
}

// The entries of the archive, by path in the study: files of the study, and papers with their text.
using Entries = std::map<std::string, const std::string*>;

Entries entries_of(const study::StudyFolder& folder, const study::StudyContents& contents,
                   const std::vector<analysis::StudyFile>& papers) {
  std::vector<fs::path> files = contents.files;
  for (const fs::path& run : contents.runs) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.dir / run))
      files.push_back(run / entry.path().filename());
  }
  Entries entries;
  for (const fs::path& file : files) {
    if (file != study::archive_sums && !fs::is_symlink(folder.dir / file)) entries[file.string()] = nullptr;
  }
  for (const analysis::StudyFile& paper : papers) entries[paper.name] = &paper.text;
  return entries;
}

void throw_if_asked_to_end(const InterruptsHeld& interrupts) {
  if (const int signal = interrupts.pending(); signal != 0)
    throw Interrupted{signal, "interrupted: no archive was written"};
}

// Packs the study's files and the papers, with checksums of all.
void pack(const study::StudyFolder& folder, const Entries& entries, const InterruptsHeld& interrupts,
          study::Tarball& tarball) {
  const auto text_of = [&](const std::string& name, const std::string* text) {
    throw_if_asked_to_end(interrupts);
    return text != nullptr ? *text : read_file(folder.dir / name);
  };
  std::string sums;
  for (const auto& [name, text] : entries)
    sums += fmt::format("{}  {}\n", analysis::sha256(text_of(name, text)), name);
  tarball.add("manifest.json", text_of("manifest.json", nullptr));
  tarball.add(std::string(study::archive_sums), sums);
  for (const auto& [name, text] : entries) {
    if (name != "manifest.json") tarball.add(name, text_of(name, text));
  }
}

// Writes the complete archive or nothing.
void write_archive(const study::StudyFolder& folder, const study::StudyContents& contents,
                   const std::vector<analysis::StudyFile>& papers, const fs::path& out) {
  const std::string name = fs::canonical(folder.dir).filename().string();
  const InterruptsHeld interrupts;  // until the temporary file is removed
  FreshFile fresh(end_of_link(out));
  study::Tarball tarball(fresh.path(), name);
  pack(folder, entries_of(folder, contents, papers), interrupts, tarball);
  tarball.finish();
  fresh.move_into_place();
}

fs::path archive_target(const ArchiveCommand& asked, const std::string& name) {
  const fs::path out = asked.out.empty() ? fs::path(name + ".tar.gz") : fs::path(asked.out);
  if (fs::is_directory(out))
    throw Refused(fmt::format("{} is a folder", out.string()),
                  fmt::format("name a file: {}", (out / (name + ".tar.gz")).string()));
  if (!asked.out.empty() && !out.string().ends_with(".tar.gz") && !out.string().ends_with(".tgz"))
    throw Refused(fmt::format("{} does not end in .tar.gz", out.string()), "the archive has this format");
  check_is_file(out);
  if (fs::exists(out) && !study::is_study_archive(out))
    throw Refused(fmt::format("{} exists and was not written by psim archive", out.string()),
                  "name another file; psim replaces only archives of studies");
  return out;
}

}  // namespace

int archive(const ArchiveCommand& asked) {
  const study::StudyFolder folder(found_on(studies_shelf(), asked.study));
  const std::string name = fs::canonical(folder.dir).filename().string();
  const fs::path out = archive_target(asked, name);
  sweep_scratch();
  const std::optional<study::StudyLock> lock = study::StudyLock::alone(folder.dir);
  if (!lock)
    throw Refused(fmt::format("another process works on {}", folder.dir.string()),
                  "wait until the study is complete");
  const study::StudyContents contents = study::study_contents(folder.dir, folder.name());
  check_complete(folder, contents);
  for (const fs::path& other : contents.foreign)
    say("note: {} is left out: psim did not write it\n", (folder.dir / other).string());
  if (asked.authors.empty())
    say("note: without --author 'Family, Given', CITATION.cff and .zenodo.json name no author\n");
  if (asked.license.empty())
    say("note: without --license, for example CC-BY-4.0, others may not use the results: the archive states "
        "no licence\n");
  else if (study::spdx_of(asked.license).empty())
    say("note: --license {}: psim knows no such SPDX identifier, so only LICENSE.txt states the licence. "
        "CITATION.cff and .zenodo.json need an identifier: {}; more at "
        "https://spdx.org/licenses/\n",
        asked.license, study::spdx_names());
  const std::vector<Citation> citations = citations_of_study(folder, asked.data_dirs);
  write_archive(folder, contents, study::papers_of(folder.manifest, asked, citations), out);
  fmt::print("wrote {}   SHA-256 {}\n", out.string(), analysis::sha256(read_file(out)));
  return done;
}

}  // namespace psim::cli
