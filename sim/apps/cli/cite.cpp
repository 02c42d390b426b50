// psim cite: the works to cite for psim, a scenario or a study.
#include "sim/apps/cli/cite.hpp"

#include <fmt/format.h>

#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/shelf.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/study/folder.hpp"
#include "sim/study/publish/citations.hpp"

namespace psim::cli {
namespace {

struct ToCite {
  std::string of;
  std::vector<Citation> citations;
};

ToCite to_cite(const std::string& name, Command asked) {
  if (name.empty()) return {"psim", study::citations_of_psim()};
  if (study::is_study(name) || study::is_study(studies_shelf().home / name)) {
    const study::StudyFolder folder(found_on(studies_shelf(), name));
    if (!missing_runs(folder, study::Journal(folder.dir, study::Journal::Builds::any)).empty())
      say("note: {} is not complete, so its statistics are not known yet\n", folder.dir.string());
    return {folder.dir.string(), citations_of_study(folder, asked.data_dirs)};
  }
  asked.scenario = find_scenario(name);
  return {asked.scenario, citations_of_scenario(asked)};
}

}  // namespace

int cite(const std::string& name, const Command& asked, bool as_bibtex) {
  const ToCite found = to_cite(name, asked);
  if (as_bibtex) fmt::print("{}", study::citation_bibtex(found.citations));
  else fmt::print("What to cite for {}:\n\n{}", found.of, study::citation_text(found.citations));
  return done;
}

}  // namespace psim::cli
