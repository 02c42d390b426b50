#include "sim/apps/course/grading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "analysis/input.hpp"
#include "model/input.hpp"
#include "model/random.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/hand_in.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/refused.hpp"

namespace psim::cli {
namespace {

std::string text_at(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The seeds that judge a design. They cannot be guessed without the secret.
std::vector<std::int64_t> hidden_seeds(const LabDesign& design, const std::string& secret) {
  Stream stream(0, "hidden seeds of " + secret);
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < design.seeds; ++i)
    seeds.push_back(static_cast<std::int64_t>(1 + stream.below(999'999'999)));
  return seeds;
}

// "score 66 %, over 3 hidden seeds; on one of them it gets stuck": the result of a design. It does not
// reveal the seeds.
std::string verdict_of(const LabDesign& design, const std::vector<Trial>& trials) {
  std::string text =
      fmt::format("score {:.0f} %, over {} hidden seeds", 100 * mean_score(trials), trials.size());
  for (const Trial& one : trials) {
    if (one.is_stuck) text += "; on one of them it gets stuck";
    if (one.is_stuck || one.keeps_limit) continue;
    text += fmt::format("; on one of them the limit `{}` is not met", design.within);
    for (std::size_t i = 0; i < one.shown.size(); ++i)
      text += fmt::format(", {} {:.4g}", design.shows[i].first, one.shown[i]);
  }
  return text;
}

Grade::Item judged(const Lab& lab, const Json& hand_in, LabSolver& solver, const std::string& secret) {
  Grade::Item item{.name = lab.design->file, .points = 0, .possible = lab.design->points, .note = {}};
  const std::string design = text_at(hand_in, "design");
  if (design.empty()) {
    item.note = "no design";
    return item;
  }
  try {
    const std::vector<Trial> trials = solver.judge(design, hidden_seeds(*lab.design, secret));
    item.points = std::round(100 * mean_score(trials) * item.possible) / 100;
    item.note = verdict_of(*lab.design, trials);
  } catch (const Refused& refusal) {
    item.note = refusal.what();
  }
  return item;
}

// Adds what does not match this student's numbers.
void add_findings(const Lab& lab, const Drawn& drawn, const Json& hand_in, LabSolver& solver,
                  std::vector<std::string>& findings) {
  std::vector<std::string> others;
  for (const LabRun& run : lab.runs) {
    try {
      const std::string digest = solver.run(run.name)["digest"];
      if (text_at(hand_in["digests"], run.name) != digest) others.push_back(run.name);
    } catch (const Refused& refusal) {
      findings.emplace_back(refusal.what());
    }
  }
  if (!others.empty())
    findings.push_back(fmt::format("wrong digest of {}: {} another student's, or from another build of psim",
                                   fmt::join(others, ", "), others.size() > 1 ? "they are" : "it is"));
  for (const std::string& file : scenario_files(lab)) {
    if (text_at(hand_in["files"], file) != given_out(lab, file, drawn))
      findings.push_back(fmt::format("{} differs from the original", file));
  }
}

// Whether a hand-in has the value that the student's own run showed for a prediction.
bool observes(const LabQuestion& question, const Json& hand_in, LabSolver& solver) {
  const LabQuestion observation = observation_of(question);
  const std::string given = text_at(hand_in["observed"], question.name);
  return !given.empty() && mark_of(observation, given, solver.right(observation)) == Mark::right;
}

Grade::Item marked(const LabQuestion& question, const Json& hand_in, LabSolver& solver) {
  const std::string counts = text_at(hand_in[question.predict ? "locked" : "answers"], question.name);
  Grade::Item item{
      .name = question.name, .points = 0, .possible = question.points, .note = {}, .given = counts};
  const RightAnswer right = solver.right(question);
  const Mark mark = counts.empty() ? Mark::unreadable : mark_of(question, counts, right);
  item.right = answer_text(question, right);
  item.note = counts.empty()             ? "no answer"
              : mark == Mark::right      ? "right"
              : mark == Mark::unreadable ? fmt::format("cannot be read: {}", counts)
                                         : fmt::format("not right: {}", counts);
  const double each = question.predict ? item.possible / 2 : item.possible;
  if (mark == Mark::right) item.points = each;
  // Half of a prediction's points are for the value from the student's own run.
  if (question.predict && mark != Mark::unreadable) {
    const bool is_observed = observes(question, hand_in, solver);
    if (is_observed) item.points += each;
    item.note += is_observed ? ", observed" : ", not observed";
  }
  const auto misses = hand_in["misses"].find(question.name);
  if (misses != hand_in["misses"].end() && misses->is_array() && !misses->empty())
    item.note += fmt::format(" ({} wrong before)", misses->size());
  return item;
}

// A hand-in that cannot be read must not disturb the others.
std::string content_of(const fs::path& file) {
  try {
    return read_input(file, most_hand_in);
  } catch (const InputError& error) {
    throw Refused(error.what(), "a hand-in is a readable file of less than a megabyte");
  }
}

// Adds all items of a hand-in with a valid seal.
void add_items(const Lab& lab, const Json& hand_in, LabSolver& solver, const std::string& secret,
               Grade& grade) {
  for (const LabQuestion& question : lab.questions) {
    try {
      grade.items.push_back(marked(question, hand_in, solver));
    } catch (const Refused& refusal) {  // a mistake of the lab, not of the student: the item does not count
      grade.findings.emplace_back(refusal.what());
    }
  }
  if (lab.design) grade.items.push_back(judged(lab, hand_in, solver, secret));
}

}  // namespace

Grade grade_of(const fs::path& file, const fs::path& course, const fs::path& scratch,
               const std::string& secret) {
  const Json hand_in = hand_in_in(content_of(file), file.string());
  Grade grade{.file = file.string(),
              .student = id_in(hand_in["student"]).value_or(""),
              .answers = hand_in["answers"].dump() + hand_in["locked"].dump(),
              .lab = hand_in["lab"],
              .items = {},
              .findings = {}};
  if (grade.student.empty())
    throw Refused(fmt::format("{} has no ID of a student", file.string()), "`psim lab hand-in` writes one");
  const Lab lab = lab_of(grade.lab, course, grade.student);
  if (hand_in["seal"] != seal_of(hand_in)) {
    grade.possible = lab.points();
    grade.findings.emplace_back("it was edited after psim wrote it (the seal does not fit), so it scores 0");
    return grade;
  }
  const Drawn drawn = draw(lab, grade.student);
  LabSolver solver(lab, drawn, scratch);
  add_findings(lab, drawn, hand_in, solver, grade.findings);
  add_items(lab, hand_in, solver, secret, grade);
  for (const Grade::Item& item : grade.items) {
    grade.points += item.points;
    grade.possible += item.possible;
  }
  return grade;
}

}  // namespace psim::cli
