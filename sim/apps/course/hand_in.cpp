#include "sim/apps/course/hand_in.hpp"

#include <fmt/format.h>
#include <system_error>

#include "analysis/input.hpp"
#include "model/base/input.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/runs/answer.hpp"

namespace psim::cli {
namespace {

constexpr const char* hand_in_format = "psim.hand-in/1";

Json files_of(const Lab& lab, const LabSession& session) {
  Json files = Json::object();
  std::error_code error;
  for (const std::string& name : scenario_files(lab)) {
    const fs::path file = session.folder() / name;
    files[name] = fs::is_regular_file(file, error) ? as_utf8(read_input(file, most_hand_in)) : "";
  }
  return files;
}

// Whether `json` has all parts of a hand-in.
bool is_hand_in(const Json& json) {
  return json.is_object() && json.contains("format") && json["format"] == hand_in_format &&
         json.contains("lab") && json["lab"].is_number_integer() && json.contains("student") &&
         json["student"].is_string() && json.contains("answers") && json["answers"].is_object() &&
         json.contains("locked") && json["locked"].is_object() && json.contains("digests") &&
         json.contains("observed") && json["observed"].is_object() && json.contains("misses") &&
         json["misses"].is_object() && json["digests"].is_object() && json.contains("files") &&
         json["files"].is_object() && json.contains("seal") && json["seal"].is_string();
}

}  // namespace

Json hand_in_in(const std::string& text, const std::string& name) {
  if (text.size() > most_hand_in)
    throw Refused(fmt::format("{} is too large", name), "a hand-in has less than a megabyte");
  Json hand_in = analysis::json_in(text);
  if (!is_hand_in(hand_in))
    throw Refused(fmt::format("{} is not a hand-in", name), "`psim lab hand-in` writes one");
  return hand_in;
}

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver) {
  Json answers = Json::object(), observed = Json::object();
  for (const LabQuestion& question : lab.questions) {
    answers[question.name] = session.answer(question).value_or("");
    if (question.predict) observed[question.name] = session.answer(observation_of(question)).value_or("");
  }
  Json hand_in{{"format", hand_in_format},
               {"lab", lab.number},
               {"student", session.student()},
               {"answers", std::move(answers)},
               {"observed", std::move(observed)},
               {"locked", session.state()["locked"]},
               {"misses", session.state()["misses"]},
               {"digests", solver.digests()},
               {"files", files_of(lab, session)}};
  if (lab.design) hand_in["design"] = session.design(*lab.design).value_or("");
  hand_in["seal"] = seal_of(hand_in);
  return hand_in;
}

}  // namespace psim::cli
