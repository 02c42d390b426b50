#include "sim/cli/study/archive.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "analysis/sha256.hpp"
#include "sim/cli/interrupt.hpp"
#include "sim/cli/process.hpp"
#include "sim/cli/run_folder.hpp"
#include "sim/cli/scratch.hpp"
#include "sim/cli/study/archive_papers.hpp"
#include "sim/cli/study/cite.hpp"
#include "sim/cli/study/contents.hpp"
#include "sim/cli/study/folder.hpp"
#include "sim/cli/study/lock.hpp"
#include "sim/cli/study/report.hpp"
#include "sim/cli/study/shelf.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

constexpr const char* no_tar = "on Debian: apt install tar gzip";

// Runs a program, found in PATH, to its end; throws when it fails or is not there.
void run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;  // it ends at interrupts, even while they are held here
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int failure = posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failure == ENOENT) throw Refused(fmt::format("there is no program `{}` in PATH", words[0]), no_tar);
  if (failure != 0)
    throw std::runtime_error(fmt::format("{} cannot be started: {}", words[0], std::strerror(failure)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(fmt::format("{}: {}", words[0], std::strerror(errno)));
  }
  if (status != 0) throw std::runtime_error(fmt::format("{} ended with {}", words[0], how_it_ended(status)));
}

// Throws Refused unless all runs are there and what is made of them, too.
void check_complete(const StudyFolder& folder, const StudyContents& contents) {
  const std::string dir = folder.dir.string();
  const Journal journal(folder.dir, Journal::Builds::any);
  say_what_is_not_read(folder.dir, journal);
  const std::string scenario = folder.manifest["name"].get<std::string>() + ".toml";
  const std::vector<Json> missing = missing_runs(folder, journal);
  if (!missing.empty())
    throw Refused(
        fmt::format("{} is not complete: {} of {} runs are missing, the first is {}", dir, missing.size(),
                    folder.manifest["runs"].size(), missing.front()["run"].get<std::string>()),
        fmt::format("psim compare {} --out {}", file_word(folder.dir / scenario), file_word(dir)));
  const bool is_tuning = folder.manifest.contains("stage");
  std::vector<std::string> lacking;
  for (const std::string& name : {scenario, std::string("results.jsonl"), std::string("study.json"),
                                  std::string("runs.csv"), std::string("study.db")}) {
    if (std::ranges::find(contents.files, fs::path(name)) == contents.files.end()) lacking.push_back(name);
  }
  if (is_tuning || !lacking.empty())
    throw Refused(fmt::format("{} is not complete: {}", dir,
                              is_tuning ? "its trials are there, the study itself is not"
                                        : fmt::format("{} missing", fmt::join(lacking, ", "))),
                  fmt::format("psim merge {}", file_word(dir)));
}

// A second name for the same bytes where the file system can, else a copy.
void put(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  std::error_code other_disk;
  fs::create_hard_link(from, to, other_disk);
  if (other_disk) fs::copy_file(from, to);
}

// The study's files and the papers, as they are to be unpacked, with the sums of all.
void lay_out(const StudyFolder& folder, const StudyContents& contents,
             const std::vector<analysis::StudyFile>& papers, const fs::path& to) {
  std::vector<fs::path> files = contents.files;
  for (const fs::path& run : contents.runs) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.dir / run))
      files.push_back(run / entry.path().filename());
  }
  std::erase_if(files, [&](const fs::path& file) {
    const auto is_paper = [&](const analysis::StudyFile& paper) { return file == paper.name; };
    return file == archive_sums || fs::is_symlink(folder.dir / file) || std::ranges::any_of(papers, is_paper);
  });
  std::map<std::string, std::string> sums;
  fs::create_directories(to);
  for (const fs::path& file : files) {
    put(folder.dir / file, to / file);
    sums[file.string()] = analysis::sha256(read_file(to / file));
  }
  for (const analysis::StudyFile& paper : papers) {
    write_file(to / paper.name, paper.text);
    sums[paper.name] = analysis::sha256(paper.text);
  }
  std::string text;
  for (const auto& [name, sum] : sums) text += fmt::format("{}  {}\n", sum, name);
  write_file(to / archive_sums, text);
}

// Nothing of the archive depends on who makes it, when or where: no owners, no order of a disk, and one date,
// of 1980: tar warns of those of 1970.
void pack(const fs::path& parent, const std::string& name, const fs::path& archive) {
  run_program({"tar", "--create", "--file=" + archive.string(), "--use-compress-program=gzip -n -9",
               "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
               "--mtime=@315532800", "--mode=u=rwX,go=rX", "--directory=" + parent.string(), "--", name});
}

// All of it or nothing, whatever happens meanwhile.
void write_archive(const StudyFolder& folder, const StudyContents& contents,
                   const std::vector<analysis::StudyFile>& papers, const fs::path& out) {
  const std::string name = fs::canonical(folder.dir).filename().string();
  const fs::path fresh = fmt::format("{}.{}", out.string(), getpid());
  const InterruptsHeld interrupts;  // until the temporary files are gone
  const ScratchFolder scratch("psim-archive");
  try {
    lay_out(folder, contents, papers, scratch.path() / "files" / name);
    pack(scratch.path() / "files", name, fresh);
    fs::rename(fresh, out);
  } catch (...) {
    std::error_code none;
    fs::remove(fresh, none);
    if (interrupts.pending() != 0)
      throw Interrupted{interrupts.pending(), "interrupted: no archive was written"};
    throw;
  }
}

fs::path archive_target(const ArchiveCommand& asked, const std::string& name) {
  const fs::path out = asked.out.empty() ? fs::path(name + ".tar.gz") : fs::path(asked.out);
  if (fs::is_directory(out))
    throw Refused(fmt::format("{} is a folder", out.string()),
                  fmt::format("name a file: {}", (out / (name + ".tar.gz")).string()));
  if (!asked.out.empty() && !out.string().ends_with(".tar.gz") && !out.string().ends_with(".tgz"))
    throw Refused(fmt::format("{} does not end in .tar.gz", out.string()), "the archive is one");
  return out;
}

}  // namespace

int archive(const ArchiveCommand& asked) {
  const StudyFolder folder(found_on(studies_shelf(), asked.study));
  const std::string name = fs::canonical(folder.dir).filename().string();
  const fs::path out = archive_target(asked, name);
  const std::optional<StudyLock> lock = StudyLock::alone(folder.dir);
  if (!lock)
    throw Refused(fmt::format("a process works on {}", folder.dir.string()),
                  "wait until the study is complete");
  const StudyContents contents = study_contents(folder.dir, folder.manifest["name"].get<std::string>());
  check_complete(folder, contents);
  for (const fs::path& other : contents.foreign)
    say("note: {} is left out: psim did not write it\n", (folder.dir / other).string());
  if (asked.authors.empty())
    say("note: without --author 'Family, Given', CITATION.cff and .zenodo.json name nobody\n");
  if (asked.license.empty())
    say("note: without --license, for example CC-BY-4.0, nobody else may use the results: the archive states "
        "no "
        "licence\n");
  else if (spdx_of(asked.license).empty())
    say("note: --license {}: SPDX has no such identifier that psim knows, so LICENSE.txt alone states it, "
        "and "
        "not CITATION.cff and .zenodo.json, which take such identifiers only: {}; more are at "
        "https://spdx.org/licenses/\n",
        asked.license, spdx_names());
  const std::vector<Citation> citations = citations_of_study(folder.dir, {.data_dirs = asked.data_dirs});
  write_archive(folder, contents, archive_papers(folder, asked, citations), out);
  fmt::print("wrote {}   SHA-256 {}\n", out.string(), analysis::sha256(read_file(out)));
  return done;
}

}  // namespace psim::cli
