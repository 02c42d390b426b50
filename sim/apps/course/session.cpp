#include "sim/apps/course/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

#include "analysis/run_files.hpp"
#include "model/base/input.hpp"
#include "model/base/unicode.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/cli/target.hpp"
#include "sim/apps/course/answer.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/files.hpp"
#include "sim/scenario/assignment.hpp"

namespace psim::cli {
namespace {

constexpr const char *state_file = "lab.json", *answers_file = "answers.toml", *session_format = "psim.lab/1",
                     *answer_form = "an answer is a number, or a text in quotes";

std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

// The form of an answer, and space for it.
std::string blank(const LabQuestion& question) {
  return comment(fmt::format("Write {}.{}", form_of(question), right_within(question))) +
         fmt::format("{} = \"\"\n", question.name);
}

std::string answers_sheet(const Lab& lab, const Drawn& drawn) {
  std::string sheet = fmt::format("# Lab {}, {}. Write each answer after its name, then `psim lab check`.\n",
                                  lab.number, drawn.at("student"));
  int number = 0;
  for (const LabQuestion& one : lab.questions) {
    sheet += fmt::format(
        "\n{}", comment(fmt::format("{}. {}{}", ++number,
                                    one.predict ? "Predict first (locked at your first check). " : "",
                                    filled(one.asks, drawn))));
    sheet += blank(one);
    if (!one.predict) continue;
    const LabQuestion observation = observation_of(one);
    sheet += comment("Then run it. " + filled(observation.asks, drawn)) + blank(observation);
    sheet += comment("Why is it so? Write one sentence.") + fmt::format("reason.{} = \"\"\n", one.name);
  }
  return sheet;
}

// The answers by question. Numbers become texts. Observations and reasons are tables: observed.NAME,
// reason.NAME.
std::map<std::string, std::string> answers_in(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw Refused(fmt::format("{} does not exist", path.string()),
                  "`psim lab start` with the same ID and another --out writes an empty file");
  std::map<std::string, std::string> answers;
  const auto add = [&](const std::string& question, const toml::node& answer) {
    const bool is_own = question.rfind('.') == std::string::npos || question.starts_with("observed.") ||
                        question.starts_with("reason.");
    if (!is_own || !(answer.is_string() || answer.is_number()))
      throw Refused(fmt::format("{}:{}: `{}` is neither a number nor a text", path.string(),
                                answer.source().begin.line, question),
                    answer_form);
    const std::string text = label_of(answer);
    answers[question] = text.find_first_not_of(' ') == std::string::npos ? "" : text;
  };
  const toml::table table = toml_in(read_input(path, most_hand_in), path, answer_form);
  for (const auto& [name, node] : table) each_field(std::string(name.str()), node, add);
  return answers;
}

// Whether `json` is a document of this format with these parts.
using Parts = std::initializer_list<std::pair<const char*, bool (Json::*)() const noexcept>>;
bool is_document(const Json& json, const char* format, Parts parts) {
  const auto has = [&](const auto& part) {
    return json.contains(part.first) && (json[part.first].*part.second)();
  };
  return json.is_object() && json.contains("format") && json["format"] == format &&
         std::ranges::all_of(parts, has);
}

// Whether `state` has all values that psim writes.
bool is_state(const Json& state) {
  const auto is_text = [](const Json& one) { return one.is_string(); };
  const auto are_texts = [&](const Json& one) { return one.is_array() && std::ranges::all_of(one, is_text); };
  return is_document(state, session_format,
                     {{"lab", &Json::is_number_integer},
                      {"student", &Json::is_string},
                      {"course", &Json::is_string},
                      {"locked", &Json::is_object},
                      {"misses", &Json::is_object},
                      {"seal", &Json::is_string}}) &&
         std::ranges::all_of(state["locked"], is_text) && std::ranges::all_of(state["misses"], are_texts);
}

}  // namespace

std::optional<std::string> id_in(std::string student) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '@';
  };
  if (student.empty() || student.size() > 64 || !std::ranges::all_of(student, fits) || student[0] == '-' ||
      student[0] == '.')
    return {};
  return in_small_letters(std::move(student));
}

std::string right_within(const LabQuestion& question) {
  if (!question.choices.empty() || question.tolerance <= 0) return "";
  return fmt::format(" Right within {:g} %.", 100 * question.tolerance);
}

bool is_reason(const std::string& text) {
  std::istringstream words(text);
  return std::distance(std::istream_iterator<std::string>(words), {}) >= words_of_a_reason;
}

std::string seal_of(const Json& sealed) {
  Json rest = sealed;
  rest.erase("seal");
  const std::string text = rest.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string as_utf8(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

void LabSession::check_folder(const fs::path& folder) {
  if (fs::exists(folder))
    throw Refused(fmt::format("{} exists already", folder.string()),
                  "continue there with `psim lab check`, or name another folder with --out");
  check_can_make(folder, "--out");
}

void LabSession::start(const Lab& lab, const std::string& student, const fs::path& folder,
                       const fs::path& course) {
  const Drawn drawn = draw(lab, student);
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(lab.folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || name == "lab.toml" || name.ends_with("~")) continue;
    write_file(folder / name, given_out(lab, name, drawn));
  }
  write_file(folder / answers_file, answers_sheet(lab, drawn));
  const Json state{
      {"format", session_format}, {"lab", lab.number},
      {"student", student},       {"course", course.empty() ? "" : fs::absolute(course).string()},
      {"locked", Json::object()}, {"misses", Json::object()}};
  LabSession(folder, state, {}).save();
}

LabSession LabSession::open(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / state_file, error))
    throw Refused(fmt::format("{} is not a folder of a lab", folder.string()),
                  "psim lab start NUMBER --student ID makes one");
  Json state = analysis::json_file(folder / state_file);
  if (!is_state(state) || state["seal"] != seal_of(state))
    throw Refused(fmt::format("{} has changed since psim wrote it", (folder / state_file).string()),
                  "start the lab again in another folder, with the same ID");
  return {folder, std::move(state), answers_in(folder / answers_file)};
}

void LabSession::save() {
  state_["seal"] = seal_of(state_);
  put_file(folder_ / state_file, state_.dump(2) + "\n");
}

std::optional<std::string> LabSession::answer(const LabQuestion& question) const {
  const auto found = answers_.find(question.name);
  return found == answers_.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> LabSession::reason(const std::string& question) const {
  const auto found = answers_.find("reason." + question);
  return found != answers_.end() && is_reason(found->second) ? std::optional(found->second) : std::nullopt;
}

std::vector<std::string> LabSession::answered_nowhere(const Lab& lab) const {
  std::vector<std::string> names;
  const auto asks = [](const LabQuestion& question, const std::string& name) {
    return question.name == name ||
           (question.predict && (observation_of(question).name == name || "reason." + question.name == name));
  };
  for (const auto& [name, answer] : answers_) {
    if (std::ranges::none_of(lab.questions, [&](const LabQuestion& one) { return asks(one, name); }))
      names.push_back(name);
  }
  return names;
}

std::optional<std::string> LabSession::design(const LabDesign& design) const {
  std::error_code error;
  if (!fs::exists(folder_ / design.file, error)) return std::nullopt;
  return as_utf8(read_input(folder_ / design.file, most_hand_in));
}

std::optional<std::string> LabSession::locked(const std::string& question) const {
  const auto found = state_["locked"].find(question);
  return found == state_["locked"].end() ? std::nullopt : std::optional(found->get<std::string>());
}

void LabSession::lock(const std::string& question, const std::string& answer) {
  state_["locked"][question] = answer;
  save();
}

std::vector<std::string> LabSession::misses(const std::string& question) const {
  const auto found = state_["misses"].find(question);
  return found == state_["misses"].end() ? std::vector<std::string>()
                                         : found->get<std::vector<std::string>>();
}

void LabSession::miss(const std::string& question, const std::string& answer) {
  Json& answers = state_["misses"][question];
  if (!answers.empty() && answers.back() == answer) return;
  answers.push_back(answer);
  save();
}

namespace {

constexpr const char* hand_in_format = "psim.hand-in/2";

Json files_of(const Lab& lab, const LabSession& session) {
  Json files = Json::object();
  std::error_code error;
  for (const std::string& name : scenario_files(lab)) {
    const fs::path file = session.folder() / name;
    files[name] = fs::is_regular_file(file, error) ? as_utf8(read_input(file, most_hand_in)) : "";
  }
  return files;
}

}  // namespace

Json hand_in_in(const std::string& text, const std::string& name) {
  if (text.size() > most_hand_in)
    throw Refused(fmt::format("{} is too large", name), "a hand-in has less than a megabyte");
  Json hand_in = analysis::json_in(text);
  if (!is_document(hand_in, hand_in_format,
                   {{"lab", &Json::is_number_integer},
                    {"student", &Json::is_string},
                    {"answers", &Json::is_object},
                    {"observed", &Json::is_object},
                    {"reasons", &Json::is_object},
                    {"locked", &Json::is_object},
                    {"misses", &Json::is_object},
                    {"digests", &Json::is_object},
                    {"files", &Json::is_object},
                    {"seal", &Json::is_string}}))
    throw Refused(fmt::format("{} is not a hand-in", name), "`psim lab hand-in` writes one");
  return hand_in;
}

Json hand_in_of(const Lab& lab, const LabSession& session, LabSolver& solver) {
  Json answers = Json::object(), observed = Json::object(), reasons = Json::object();
  for (const LabQuestion& question : lab.questions) {
    answers[question.name] = session.answer(question).value_or("");
    if (!question.predict) continue;
    observed[question.name] = session.answer(observation_of(question)).value_or("");
    reasons[question.name] = session.reason(question.name).value_or("");
  }
  Json hand_in{{"format", hand_in_format},
               {"lab", lab.number},
               {"student", session.student()},
               {"answers", std::move(answers)},
               {"observed", std::move(observed)},
               {"reasons", std::move(reasons)},
               {"locked", session.state()["locked"]},
               {"misses", session.state()["misses"]},
               {"digests", solver.digests()},
               {"files", files_of(lab, session)}};
  if (lab.design) hand_in["design"] = session.design(*lab.design).value_or("");
  hand_in["seal"] = seal_of(hand_in);
  return hand_in;
}

}  // namespace psim::cli
