// Writes the files of studies made by hand into folders: with names that every language must quote, with runs
// that missed their target, diverged or got stuck, and with one seed and no target.
#include <filesystem>
#include <fstream>
#include <string>

#include "analysis/study/files.hpp"
#include "analysis/study/report.hpp"
#include "tests/analysis/study/make_study.hpp"

using namespace psim::analysis;
using namespace psim::test;

namespace {

RunFacts falling(RunFacts facts, double by) {
  for (int i = 0; i <= 10; ++i) facts.curve.emplace_back(facts.time * i / 10, 4.0 / (1 + by * i));
  return facts;
}

Study with_target() {
  RunFacts diverged = falling(missed(20), 1);
  diverged.loss.reset();
  diverged.curve[7].second.reset();
  std::vector<RunFacts> quick, slow, lost;
  for (int seed = 0; seed < 9; ++seed) {
    quick.push_back(falling(reached(2 + 0.25 * (seed % 4), 20), 3));
    slow.push_back(falling(reached(7 - 0.5 * (seed % 3), 20), 2));
    lost.push_back(seed % 3 > 0 ? falling(missed(20), 1) : falling(reached(12, 20), 1));
  }
  lost[4] = diverged;
  const std::string odd = "50% \"top-k\", a_b & {c} \\d #1 $x^2$ ~";
  return study(
      {"cluster.network, in Gbps", "k"},
      {cell("bsp", {"1", "a"}, slow), cell("bsp", {"10", "a"}, quick), cell(odd, {"1", "a"}, quick),
       cell(odd, {"10", "a"}, slow), cell("asp", {"1", "a"}, lost), cell("asp", {"10", "a"}, quick)});
}

Study without_target() { return study({}, {cell("", {}, {{.time = 3, .loss = {}}})}); }

Study with_stuck() {
  return study({}, {cell("wait", {}, {{.time = 3, .stuck = true}, {.time = 3}}),
                    cell("remove", {}, lasting({2, 2})), cell("at once", {}, lasting({0, 2}))});
}

// Arms and conditions that readers like to take for numbers or for nothing. Each cell has a time of its own.
Study with_names() {
  std::vector<Cell> cells;
  double time = 1;
  for (const char* k : {"1", "01", "1.0", "NA", "null"}) {
    for (const char* arm : {"1", "01", "1.0", "NA", "NULL", "nan", "TRUE", "1e0"})
      cells.push_back(cell(arm, {k}, {falling({.time = time += 1}, time)}));
  }
  return study({"k"}, cells);
}

void write(const Study& study, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const StudyFile& file : study_files(study, evaluate(study)))
    std::ofstream(folder / file.name, std::ios::binary) << file.text;
  write_database(folder / "study.db", study);
  const Evaluation evaluation = evaluate(study);
  std::ofstream(folder / "table.tex")
      << "\\documentclass{article}\n\\usepackage[paperwidth=60cm]{geometry}\\usepackage{booktabs}\n\\begin{"
         "document}\n"
      << table(study, evaluation, {.format = TableFormat::latex, .wide = true}) << "\\end{document}\n";
  std::ofstream(folder / "study.txt") << table(study, evaluation, {}) << "\n"
                                      << remarks(study, evaluation) << "\n"
                                      << loss_chart(study, {});
}

}  // namespace

int main(int, char** argv) {
  write(with_target(), std::filesystem::path(argv[1]) / "target");
  write(without_target(), std::filesystem::path(argv[1]) / "plain");
  write(with_stuck(), std::filesystem::path(argv[1]) / "stuck");
  write(with_names(), std::filesystem::path(argv[1]) / "names");
}
