#include "sim/cli/lab/hand_in.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "model/mutant.hpp"
#include "model/random.hpp"
#include "sim/cli/talk.hpp"

namespace psim::cli {
namespace {

constexpr const char* hand_in_format = "psim.hand-in/1";

constexpr std::uintmax_t most_bytes = 1'000'000;

Json files_of(const Lab& lab, const LabSession& session) {
  Json files = Json::object();
  for (const LabRun& run : lab.runs) files[run.scenario] = read_file(session.folder() / run.scenario);
  return files;
}

// Whether `json` has all that a hand-in has.
bool is_hand_in(const Json& json) {
  return json.is_object() && json.contains("format") && json["format"] == hand_in_format &&
         json.contains("lab") && json["lab"].is_number_integer() && json.contains("student") &&
         json["student"].is_string() && json.contains("answers") && json["answers"].is_object() &&
         json.contains("locked") && json["locked"].is_object() && json.contains("digests") &&
         json["digests"].is_object() && json.contains("files") && json["files"].is_object() &&
         json.contains("seal") && json["seal"].is_string();
}

std::string text_at(const Json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// The seeds on which a design is judged: nobody knows them who does not know the secret.
std::vector<std::int64_t> hidden_seeds(const LabDesign& design, const std::string& secret) {
  Stream stream(0, "hidden seeds of " + secret);
  std::vector<std::int64_t> seeds;
  for (std::int64_t i = 0; i < design.seeds; ++i)
    seeds.push_back(static_cast<std::int64_t>(1 + stream.below(999'999'999)));
  return seeds;
}

Grade::Item judged(const Lab& lab, const Json& hand_in, LabSolver& solver, const std::string& secret) {
  Grade::Item item{.name = lab.design->file, .points = 0, .possible = lab.design->points, .note = {}};
  const std::string design = text_at(hand_in, "design");
  if (design.empty()) {
    item.note = "no design";
    return item;
  }
  try {
    const double score = solver.judge(design, hidden_seeds(*lab.design, secret));
    item.points = score * item.possible;
    item.note = fmt::format("{:.0f} % of the way, over {} hidden seeds", 100 * score, lab.design->seeds);
  } catch (const Refused& refusal) {
    item.note = refusal.what();
  }
  return item;
}

// What does not fit this student's numbers.
void add_findings(const Lab& lab, const Drawn& drawn, const Json& hand_in, LabSolver& solver,
                  std::vector<std::string>& findings) {
  for (const auto& [name, digest] : solver.digests()) {
    if (text_at(hand_in["digests"], name) != digest)
      findings.push_back(fmt::format(
          "run `{}` has another digest: it is not this student's, or psim is another build", name));
  }
  for (const LabRun& run : lab.runs) {
    if (text_at(hand_in["files"], run.scenario) != filled(read_file(lab.folder / run.scenario), drawn))
      findings.push_back(fmt::format("{} is not as it was given out", run.scenario));
  }
}

Grade::Item marked(const LabQuestion& question, const Json& hand_in, LabSolver& solver) {
  Grade::Item item{.name = question.name, .points = 0, .possible = question.points, .note = {}};
  const std::string counts = text_at(hand_in[question.predict ? "locked" : "answers"], question.name);
  const RightAnswer right = solver.right(question);
  const Mark mark = counts.empty() ? Mark::unreadable : mark_of(question, counts, right);
  // A prediction is worth half of its points for being made.
  if (mark == Mark::right) item.points = item.possible;
  else if (question.predict && mark == Mark::wrong) item.points = item.possible / 2;
  item.note = counts.empty()        ? "no answer"
              : mark == Mark::right ? "right"
                                    : fmt::format("{}; right is {}", counts, answer_text(question, right));
  return item;
}

}  // namespace

std::string seal_of(const Json& hand_in) {
  Json rest = hand_in;
  rest.erase("seal");
  const std::string text = rest.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver) {
  Json answers = Json::object();
  for (const LabQuestion& question : lab.questions)
    answers[question.name] = session.answer(question).value_or("");
  Json hand_in{{"format", hand_in_format},
               {"lab", lab.number},
               {"student", session.student()},
               {"answers", std::move(answers)},
               {"locked", session.state()["locked"]},
               {"misses", session.state()["misses"]},
               {"digests", solver.digests()},
               {"files", files_of(lab, session)}};
  if (lab.design) hand_in["design"] = session.design(*lab.design).value_or("");
  hand_in["seal"] = seal_of(hand_in);
  return hand_in;
}

Grade grade_of(const fs::path& file, const fs::path& course, const fs::path& scratch,
               const std::string& secret) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw Refused(fmt::format("{}: {}", file.string(), error.message()), "a hand-in is a file");
  if (size > most_bytes)
    throw Refused(fmt::format("{} is too large", file.string()), "a hand-in has less than a megabyte");
  const Json hand_in = Json::parse(read_file(file), nullptr, false);
  if (!is_hand_in(hand_in))
    throw Refused(fmt::format("{} is no hand-in", file.string()), "`psim lab hand-in` writes one");

  Grade grade{.file = file.string(),
              .student = hand_in["student"],
              .answers = hand_in["answers"].dump() + hand_in["locked"].dump(),
              .lab = hand_in["lab"],
              .items = {},
              .findings = {}};
  const Lab lab = lab_of(grade.lab, course, grade.student);
  const Drawn drawn = draw(lab, grade.student);
  LabSolver solver(lab, drawn, scratch);
  const bool is_sealed = hand_in["seal"] == seal_of(hand_in);
  if (!is_sealed)
    grade.findings.emplace_back(
        "it was edited after it was written, so it counts nothing: the seal does not fit");
  add_findings(lab, drawn, hand_in, solver, grade.findings);
  for (const LabQuestion& question : lab.questions) grade.items.push_back(marked(question, hand_in, solver));
  if (lab.design) grade.items.push_back(judged(lab, hand_in, solver, secret));
  for (const Grade::Item& item : grade.items) {
    grade.points += is_sealed || mutant("edited-hand-ins-count") ? item.points : 0;
    grade.possible += item.possible;
  }
  return grade;
}

}  // namespace psim::cli
