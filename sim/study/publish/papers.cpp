#include "sim/study/publish/papers.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "analysis/run_files.hpp"
#include "analysis/study/files.hpp"
#include "model/base/input.hpp"
#include "model/base/unicode.hpp"
#include "sim/record/identity.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/text/diagnostics.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {
namespace {

constexpr const char* mit =
#include "LICENSE.inc"
    ;

constexpr std::string_view licences[] = {
    "CC-BY-4.0",     "CC-BY-SA-4.0",      "CC-BY-NC-4.0",  "CC-BY-3.0",
    "CC0-1.0",       "ODbL-1.0",          "ODC-By-1.0",    "PDDL-1.0",
    "MIT",           "Apache-2.0",        "BSD-2-Clause",  "BSD-3-Clause",
    "ISC",           "MPL-2.0",           "GPL-2.0-only",  "GPL-2.0-or-later",
    "GPL-3.0-only",  "GPL-3.0-or-later",  "LGPL-2.1-only", "LGPL-2.1-or-later",
    "LGPL-3.0-only", "LGPL-3.0-or-later", "AGPL-3.0-only", "AGPL-3.0-or-later",
    "EUPL-1.2",      "Unlicense",         "Zlib"};

std::string lower(std::string_view text) { return in_small_letters(std::string(text)); }

std::string text_of(const Json& manifest, const char* key) { return manifest[key].get<std::string>(); }

std::string title_of(const Json& manifest) {
  const std::string title = text_of(manifest, "title");
  return title.empty() ? text_of(manifest, "name") : title;
}

// YAML accepts JSON's quotes.
std::string quoted(const std::string& text) { return Json(text).dump(); }

// "simgrid 3.32, snappy 1.1.9"
std::string libraries_of(const Json& manifest) {
  std::string out;
  for (const auto& [name, version] : manifest["libraries"].items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, version.get<std::string>());
  return out;
}

std::string readme(const Json& m, const std::vector<Citation>& citations) {
  const std::string name = text_of(m, "name");
  return fmt::format(
      "# {}\n\n"
      "A study of {}, made by psim, a deterministic simulator of parameter-server training.\n"
      "README.txt says what each file holds.\n\n"
      "## To check the files\n\n    sha256sum -c {}\n\n"
      "## To make the study again\n\n"
      "| made with | |\n|---|---|\n| psim | {} (build {}) |\n| processors | {} |\n| libraries | {} |\n"
      "| machine | {}, {}, {} |\n\n"
      "Build psim {}. Then, in this folder:\n\n"
      "    psim replay .\n\n"
      "makes every run again, compares it with the recorded one, and says on which machines and with which\n"
      "libraries they must be the same. And\n\n"
      "    psim compare {}\n\n"
      "makes the study anew, under studies/. If {} names files of data, traces or platforms, they are not\n"
      "in this archive: put them into this folder, or give `psim compare` a `--data-dir`.\n\n"
      "## To cite it\n\nCITATION.cff cites the study. It rests on:\n\n```\n{}```\n",
      title_of(m), counted(std::ssize(m["runs"]), "simulated run"), "SHA256SUMS", text_of(m, "psim"),
      text_of(m, "build"), m.value("cpu_family", "unknown"), libraries_of(m),
      m["machine"].value("processor", ""), counted(m["machine"].value("cores", 0), "core"),
      m["machine"].value("system", ""), text_of(m, "psim"), file_word(name + ".toml"), name + ".toml",
      citation_text(citations));
}

// The authors for CITATION.cff: one list item each, indented by `indent`.
std::string cff_authors(const std::vector<Author>& authors, const std::string& indent) {
  std::string out;
  for (const Author& one : authors) {
    if (one.given.empty()) out += fmt::format("{}- name: {}\n", indent, quoted(one.family));
    else
      out += fmt::format("{}- {{family-names: {}, given-names: {}}}\n", indent, quoted(one.family),
                         quoted(one.given));
  }
  return out;
}

std::string cff_reference(const Reference& work) {
  const char* type = work.type == "article"         ? "article"
                     : work.type == "inproceedings" ? "conference-paper"
                     : work.type == "software"      ? "software"
                     : work.type == "book"          ? "book"
                                                    : "generic";
  std::string out =
      fmt::format("  - type: {}\n    title: {}\n    authors:\n{}", type,
                  quoted(std::string(work.field("title"))), cff_authors(authors_of(work), "      "));
  const auto add = [&](const char* key, std::string_view value) {
    if (!value.empty()) out += fmt::format("    {}: {}\n", key, quoted(std::string(value)));
  };
  add("journal", work.field("journal"));
  add("collection-title", work.field("booktitle"));
  if (!work.field("year").empty()) out += fmt::format("    year: {}\n", work.field("year"));
  if (work.key == "psim") add("version", version_text());
  else add("notes", work.field("note"));
  add("doi", work.field("doi"));
  add("url", work.field("url"));
  return out;
}

std::vector<Author> creators_of(const Publication& asked) {
  std::vector<Author> authors;
  for (const std::string& one : asked.authors) {
    const std::size_t comma = one.find(", ");
    if (comma == std::string::npos) authors.push_back({.family = one, .given = ""});
    else authors.push_back({.family = one.substr(0, comma), .given = one.substr(comma + 2)});
  }
  if (authors.empty()) authors.push_back({.family = "The authors of this study", .given = ""});
  return authors;
}

constexpr const char* keywords[] = {"parameter server", "distributed machine learning",
                                    "discrete-event simulation", "psim", "SimGrid"};

std::string citation_cff(const Json& manifest, const Publication& asked,
                         const std::vector<const Reference*>& works) {
  const std::string_view license = spdx_of(asked.license);
  std::string out = fmt::format(
      "cff-version: 1.2.0\nmessage: \"If you use this study, please cite it, and psim and SimGrid, with "
      "which it was made.\"\ntitle: {}\ntype: dataset\n{}authors:\n{}keywords:\n",
      quoted(title_of(manifest)),
      // This key allows only SPDX identifiers.
      license.empty() ? "" : fmt::format("license: {}\n", quoted(std::string(license))),
      cff_authors(creators_of(asked), "  "));
  for (const char* word : keywords) out += fmt::format("  - {}\n", quoted(word));
  out += "references:\n";
  for (const Reference* work : works) out += cff_reference(*work);
  return out;
}

std::string zenodo(const Json& manifest, const Publication& asked,
                   const std::vector<const Reference*>& works) {
  Json creators = Json::array(), references = Json::array(), related = Json::array();
  for (const Author& one : creators_of(asked))
    creators.push_back({{"name", one.given.empty() ? one.family : one.family + ", " + one.given}});
  for (const Reference* work : works) {
    references.push_back(reference_text(*work, version_text()));
    if (!work->field("doi").empty())
      related.push_back({{"identifier", work->field("doi")}, {"relation", "references"}, {"scheme", "doi"}});
  }
  Json document = {
      {"title", title_of(manifest)},
      {"upload_type", "dataset"},
      {"description",
       fmt::format("<p>A study of {} of psim {}, a deterministic simulator of parameter-server training: the "
                   "scenario, the summary of every run, and tables. README.md says how to reproduce it.</p>",
                   counted(std::ssize(manifest["runs"]), "run"), text_of(manifest, "psim"))},
      {"creators", creators},
      {"access_right", "open"},
      {"keywords", keywords},
      {"related_identifiers", related},
      {"references", references}};
  if (const std::string_view license = spdx_of(asked.license); !license.empty())
    document["license"] = lower(license);
  return document.dump(2) + "\n";
}

std::string licence(const Json& manifest, const Publication& asked) {
  const std::string_view known = spdx_of(asked.license);
  const std::string of_results =
      asked.license.empty() ? "the authors have stated no licence.\nAsk them before you use it."
      : known.empty()       ? asked.license + "."
                            : fmt::format("{0}\n(https://spdx.org/licenses/{0}.html).", known);
  return fmt::format(
      "The results of the study ({}.toml, and all files not named below): {}\n\n"
      "README.txt, analysis.py and analysis.R are part of psim:\n\n{}",
      text_of(manifest, "name"), of_results, mit);
}

}  // namespace

std::string_view spdx_of(std::string_view name) {
  const auto known = std::ranges::find(licences, lower(name), lower);
  return known == std::end(licences) ? std::string_view() : *known;
}

std::string spdx_names() { return fmt::format("{}", fmt::join(licences, ", ")); }

std::vector<analysis::StudyFile> papers_of(const Json& manifest, const Publication& asked,
                                           const std::vector<Citation>& citations) {
  const std::vector<const Reference*> works = works_of(citations);
  return {{"README.md", readme(manifest, citations)},
          {"CITATION.cff", citation_cff(manifest, asked, works)},
          {".zenodo.json", zenodo(manifest, asked, works)},
          {"LICENSE.txt", licence(manifest, asked)}};
}

namespace {

constexpr time_t entry_date = 315'532'800;  // 1980: programs warn about dates in 1970

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using Entry = std::unique_ptr<archive_entry, FreeEntry>;

Entry entry_of(const fs::path& path, unsigned type, unsigned mode) {
  Entry entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), path.c_str());
  archive_entry_set_filetype(entry.get(), type);
  archive_entry_set_perm(entry.get(), mode);
  archive_entry_set_mtime(entry.get(), entry_date, 0);
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  return entry;
}

}  // namespace

void Tarball::Free::operator()(struct ::archive* writer) const { archive_write_free(writer); }

Tarball::Tarball(const fs::path& file, const std::string& root)
    : file_(file), root_(root), writer_(archive_write_new()) {
  check(archive_write_set_format_gnutar(writer_.get()));
  check(archive_write_add_filter_gzip(writer_.get()));
  check(archive_write_set_filter_option(writer_.get(), "gzip", "compression-level", "9"));
  check(archive_write_set_filter_option(writer_.get(), "gzip", "timestamp", nullptr));
  check(archive_write_open_filename(writer_.get(), file_.c_str()));
}

// An unfinished archive is not closed, because closing would write the end of an archive.
Tarball::~Tarball() {
  if (writer_) archive_write_fail(writer_.get());
}

void Tarball::check(int result) {
  if (result == ARCHIVE_OK) return;
  const int error = archive_errno(writer_.get());
  if (error > 0) throw fs::filesystem_error("write", file_, std::error_code(error, std::generic_category()));
  const char* why = archive_error_string(writer_.get());
  throw std::runtime_error(fmt::format("{}: {}", file_.string(), why == nullptr ? "cannot be written" : why));
}

void Tarball::add_folder(const fs::path& folder) {
  if (folder.empty() || !folders_.insert(folder).second) return;
  add_folder(folder.parent_path());
  const Entry entry = entry_of(folder / "", AE_IFDIR, 0755);
  check(archive_write_header(writer_.get(), entry.get()));
}

void Tarball::add(const std::string& name, const std::string& content) {
  const fs::path path = root_ / name;
  add_folder(path.parent_path());
  const Entry entry = entry_of(path, AE_IFREG, 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
  check(archive_write_header(writer_.get(), entry.get()));
  for (std::size_t done = 0; done < content.size();) {
    const la_ssize_t written =
        archive_write_data(writer_.get(), content.data() + done, content.size() - done);
    if (written <= 0) check(written < 0 ? static_cast<int>(written) : ARCHIVE_FATAL);
    done += static_cast<std::size_t>(written);
  }
}

void Tarball::finish() {
  check(archive_write_close(writer_.get()));
  writer_.reset();
}

bool is_study_archive(const fs::path& file) try {
  static_cast<void>(InputFile(file));
  struct Free {
    void operator()(struct ::archive* reader) const { archive_read_free(reader); }
  };
  const std::unique_ptr<struct ::archive, Free> reader(archive_read_new());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_format_tar(reader.get());
  constexpr std::size_t block = 10240;
  if (archive_read_open_filename(reader.get(), file.c_str(), block) != ARCHIVE_OK) return false;
  const auto next = [&]() -> fs::path {
    archive_entry* entry = nullptr;
    if (archive_read_next_header(reader.get(), &entry) != ARCHIVE_OK) return {};
    const char* name = archive_entry_pathname(entry);
    return name == nullptr ? "" : name;
  };
  const fs::path folder = next(), manifest = next();
  if (folder.empty() || manifest != folder / "manifest.json") return false;
  std::string begin(256, '\0');
  const la_ssize_t got = archive_read_data(reader.get(), begin.data(), begin.size());
  return got > 0 && begin.find("\"psim.study/") != std::string::npos;
} catch (const InputError&) {
  return false;
}

namespace {

using analysis::Aggregate;
using analysis::Evaluation;

bool any_cell(const Evaluation& evaluation, bool (*holds)(const Aggregate&)) {
  return std::ranges::any_of(evaluation.aggregates, holds);
}
// If seeds change no time, the ratio has neither an interval nor a p value.
bool is_compared(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus && one.versus->replicates && one.versus->pairs.seeds > 1;
  });
}
bool is_counted(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus && one.versus->replicates && one.versus->reached;
  });
}
bool is_corrected(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus &&
           (one.versus->p_value_holm || (one.versus->reached && one.versus->reached->p_value_holm));
  });
}

// A method in the study's table or document, its source, and whether these results use it.
struct Method {
  const char *what, *source;
  bool (*is_used)(const Evaluation& evaluation);
};
constexpr Method methods[] = {
    {"intervals of mean times: Student's t", "Student 1908",
     [](const Evaluation& e) {
       return any_cell(e, [](const Aggregate& one) {
         return one.time_interval_s || (one.time_to_target && one.time_to_target->interval_s);
       });
     }},
    {"mean times over different budgets", "Kaplan and Meier, 1958; Greenwood, 1926",
     [](const Evaluation& e) {
       return any_cell(
           e, [](const Aggregate& one) { return one.time_to_target && one.time_to_target->by_kaplan_meier; });
     }},
    {"intervals of ratios: studentised bootstrap", "Efron, 1979; Hall, 1988; Silverman, 1986", is_compared},
    {"p values: sign flips", "Fisher, 1935", is_compared},
    {"p values: random sign flips", "Phipson and Smyth, 2010",
     [](const Evaluation& e) {
       return any_cell(e, [](const Aggregate& one) { return one.versus && !one.versus->pairs.test.exact; });
     }},
    {"p values of reached targets: McNemar's test", "McNemar, 1947", is_counted},
    {"p values of several comparisons", "Holm, 1979", is_corrected},
    {"choice of the tests of reached targets", "Tarone, 1990",
     [](const Evaluation& e) { return is_counted(e) && is_corrected(e); }},
    {"probability of a better run", "Mann, Whitney 1947", is_compared},
    {"performance profiles", "Dolan and More, 2002; Dahl et al., 2023",
     [](const Evaluation& e) { return !e.profiles.empty(); }},
};

void add_citation(std::vector<Citation>& all, const Citation& one) {
  if (std::ranges::find(all, one.what, &Citation::what) == all.end()) all.push_back(one);
}

// Adds the citations of all runs of a scenario, and of their tuning.
void add_runs_of(const Request& request, std::vector<Citation>& all) {
  const Plan plan = plan_study(request, false);
  for (const PlannedRun& run : plan.runs) {
    LoadedScenario again;
    if (!run.loaded) again = load_for_run(run.request);
    const LoadedScenario& loaded = run.loaded ? *run.loaded : again;
    for (const Citation& one : citations_of(loaded.scenario)) add_citation(all, one);
    for (const LoadedJob& job : loaded.jobs) {
      for (const Citation& one : citations_of(job.scenario)) add_citation(all, one);
    }
  }
  Diagnostics diagnostics;
  const std::optional<TuneSpec> spec = load_tune(load_request(request, diagnostics), diagnostics);
  if (!spec || spec->method == TuneMethod::grid) return;
  add_citation(all, {fmt::format("tune.method = {}", name_of(spec->method)),
                     references_in(spec->method == TuneMethod::random ? "Bergstra, Bengio 2012"
                                                                      : "Jamieson, Talwalkar 2016")});
}

void add_methods_of(const StudyFolder& folder, std::vector<Citation>& all) {
  const Journal journal(folder.dir, Journal::Builds::any);
  if (!missing_runs(folder, journal).empty()) return;
  const analysis::Study results = results_of(folder.manifest, journal);
  const Evaluation evaluation = analysis::evaluate(results);
  for (const Method& method : methods) {
    if (method.is_used(evaluation)) add_citation(all, {method.what, references_in(method.source)});
  }
  if (!results.until_ci.is_null())
    add_citation(all, {"as many seeds as --until-ci needs: a pilot decides", references_in("Stein, 1945")});
}

}  // namespace

std::vector<Citation> citations_of_psim() {
  return {{"psim, the simulator", references_in("psim itself")},
          {"SimGrid, its actors and its network", references_in("Casanova et al. 2014")},
          {"Eigen, its linear algebra", references_in("Guennebaud, Jacob et al. 2010")}};
}

std::vector<Citation> citations_of_scenario(const Request& request) {
  std::vector<Citation> all = citations_of_psim();
  add_runs_of(request, all);
  return all;
}

std::vector<Citation> citations_of_study(const StudyFolder& folder,
                                         const std::vector<std::string>& data_dirs) {
  Request request;
  request.data_dirs = data_dirs;
  std::vector<Citation> all = citations_of_scenario(folder.request(request));
  add_methods_of(folder, all);
  return all;
}

std::vector<const Reference*> works_of(const std::vector<Citation>& all) {
  std::vector<const Reference*> works;
  for (const Citation& one : all) {
    for (const Reference* work : one.references) {
      if (std::ranges::find(works, work) == works.end()) works.push_back(work);
    }
  }
  return works;
}

std::string citation_text(const std::vector<Citation>& citations) {
  std::size_t width = 0;
  for (const Citation& one : citations) width = std::max(width, one.what.size());
  std::string out;
  for (const Citation& one : citations) {
    std::string keys;
    for (const Reference* work : one.references) keys += fmt::format(" [{}]", work->key);
    out += fmt::format("  {:<{}} {}\n", one.what, width,
                       keys.empty() ? " nothing to cite: psim makes it, or it is your own file" : keys);
  }
  out += "\nReferences:\n";
  for (const Reference* work : works_of(citations))
    out += fmt::format("  [{}] {}\n", work->key, reference_text(*work, version_text()));
  return out + "\nIn a clone of psim, `git rev-parse HEAD` names the commit: cite it next to the version.\n";
}

std::string citation_bibtex(const std::vector<Citation>& citations) {
  std::string out;
  for (const Reference* work : works_of(citations))
    out += (out.empty() ? "" : "\n") + bibtex(*work, version_text());
  return out;
}

}  // namespace psim::study
