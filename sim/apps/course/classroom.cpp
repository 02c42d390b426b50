#include "sim/apps/course/classroom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/apps/course/answer.hpp"
#include "sim/apps/course/session.hpp"
#include "sim/apps/course/solver.hpp"
#include "sim/runs/answer.hpp"
#include "sim/runs/process.hpp"

namespace psim::cli {
namespace {

constexpr std::size_t most_students = 500, most_letters = 100;
constexpr double present_for = 10, remembered_for = 60;  // seconds; a page asks every two

// Bins of one width: 1, 2 or 5 times a power of ten. Open bins at the ends take what is far outside.
class Bins {
 public:
  explicit Bins(std::vector<double> values) {
    std::ranges::sort(values);
    const auto quantile = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
    const double middle = quantile(2), reach = 2 * std::max(quantile(3) - quantile(1), std::abs(middle) / 4),
                 low = *std::ranges::lower_bound(values, quantile(1) - reach),
                 high = *std::prev(std::ranges::upper_bound(values, quantile(3) + reach));
    const double span = std::max(high - low, std::abs(middle) / 2);  // narrower bins would show chance
    for (width_ = round_up(span > 0 ? span / most : 1); index(high) - index(low) >= most;)
      width_ = round_up(1.5 * width_);
    first_ = index(low);
    inner_ = index(high) - first_ + 1;
    is_below_ = index(values.front()) < first_;
    is_above_ = index(values.back()) >= first_ + inner_;
  }

  std::size_t count() const { return bin(is_below_) + bin(inner_) + bin(is_above_); }
  std::size_t of(double value) const {
    const double least = is_below_ ? -1 : 0, last = is_above_ ? inner_ : inner_ - 1;
    return bin(std::clamp(index(value) - first_, least, last) - least);
  }
  std::string label(std::size_t at, const std::string& unit) const {
    const double from = first_ + static_cast<double>(at) - (is_below_ ? 1 : 0);
    const auto edge = [&](double index) { return number_text(index * width_ + 0.0, unit); };
    if (from < first_) return "less than " + edge(first_);
    if (from >= first_ + inner_) return edge(from) + " or more";
    return fmt::format("{} to {}", edge(from), edge(from + 1));
  }

 private:
  static constexpr double most = 10;  // between the ends
  static std::size_t bin(double number) { return static_cast<std::size_t>(number); }
  static double round_up(double size) {
    const double power = std::pow(10, std::floor(std::log10(size)));
    for (const double digit : {1.0, 2.0, 5.0})
      if (digit * power >= size * (1 - 1e-9)) return digit * power;
    return 10 * power;
  }
  double index(double value) const { return std::floor(value / width_ + 1e-9); }

  double width_ = 0, first_ = 0, inner_ = 0;
  bool is_below_ = false, is_above_ = false;
};

}  // namespace

std::vector<AnswerBar> histogram(const LabQuestion& question, const std::vector<std::string>& answers,
                                 const RightAnswer* right) {
  std::vector<AnswerBar> bars;
  const auto count = [&](const std::string& answer, std::size_t bar) {
    ++bars[bar].count;
    if (right != nullptr && mark_of(question, answer, *right) == Mark::right) ++bars[bar].right;
  };
  if (!question.choices.empty()) {
    for (const std::string& one : question.choices) bars.push_back({.label = one});
    for (const std::string& one : answers) count(one, chosen_in(question, one).value());
    if (right != nullptr)
      for (const std::size_t one : right->choices) bars[one].has_right = true;
    return bars;
  }
  constexpr double most = 1e100;  // so that sums and differences are numbers
  const auto number_of = [most](double number) { return std::clamp(number, -most, most); };
  std::vector<double> numbers;
  for (const std::string& one : answers) numbers.push_back(number_of(amount_in(one, question).value()));
  if (right != nullptr) numbers.push_back(number_of(right->number));
  if (numbers.empty()) return bars;
  const Bins bins(numbers);
  for (std::size_t i = 0; i < bins.count(); ++i) bars.push_back({.label = bins.label(i, question.unit)});
  for (std::size_t i = 0; i < answers.size(); ++i) count(answers[i], bins.of(numbers[i]));
  if (right != nullptr) bars[bins.of(numbers.back())].has_right = true;
  return bars;
}

Classroom::Classroom(std::int64_t lab, const fs::path& course, std::string code, fs::path scratch)
    : code_(std::move(code)),
      lab_(lab_of(lab, course, code_)),
      drawn_(draw(lab_, code_)),
      cluster_(cluster_text(lab_, drawn_)) {
  for (const LabQuestion& one : lab_.questions)
    if (one.predict) predictions_.push_back({.question = one});
  if (predictions_.empty())
    throw Refused(fmt::format("lab {} has no predictions", lab),
                  "a class predicts the answers of questions with `predict = true`");
  solves_ = std::jthread(
      [this, scratch = std::move(scratch)](const std::stop_token& stop) { solve(scratch, stop); });
}

void Classroom::solve(const fs::path& scratch, const std::stop_token& stop) {
  LabSolver solver(lab_, drawn_, scratch, stop);
  for (Prediction& one : predictions_) {
    std::optional<RightAnswer> right;
    std::string because, error;
    try {
      right = solver.right(one.question);
      because = solver.told(one.question.because);
    } catch (const Refused& refusal) {
      error = refusal_text(refusal.what(), refusal.help);
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    if (stop.stop_requested()) return;
    const std::lock_guard lock(mutex_);
    one.right = std::move(right);
    one.because = std::move(because);
    one.error = std::move(error);
    ++version_;
  }
}

bool Classroom::act(std::string_view what) {
  const std::lock_guard lock(mutex_);
  Stage& stage = predictions_[at_].stage;
  if (what == "next") at_ = std::min(at_ + 1, predictions_.size() - 1);
  else if (what == "previous") at_ -= at_ > 0 ? 1 : 0;
  else if (what == "show") stage = Stage::shown;
  else if (what == "close" || what == "open") {
    if (stage != Stage::shown) stage = what == "open" ? Stage::open : Stage::closed;
  } else {
    return false;
  }
  ++version_;
  return true;
}

// The question, and what everybody may know of its answer.
Json Classroom::shown_to_all(std::uint64_t version) const {
  const Prediction& now = predictions_[at_];
  Json all{{"version", version},
           {"lab", fmt::format("Lab {}: {}", lab_.number, lab_.title)},
           {"cluster", cluster_},
           {"at", at_ + 1},
           {"of", predictions_.size()},
           {"asks", filled(now.question.asks, drawn_)},
           {"form", form_of(now.question)},
           {"choices", now.question.choices},
           {"stage", now.stage == Stage::open     ? "open"
                     : now.stage == Stage::closed ? "closed"
                                                  : "shown"}};
  if (now.stage != Stage::shown) return all;
  if (now.right) {
    all["right"] = answer_text(now.question, *now.right);
    all["within"] = right_within(now.question);
    all["because"] = now.because;
  } else {
    all["waits"] = now.error.empty() ? "psim still computes it" : "psim could not compute it";
  }
  return all;
}

Json Classroom::for_teacher(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  const double since = host_seconds() - present_for;
  const auto present =
      std::ranges::count_if(seen_, [&](const auto& student) { return student.second >= since; });
  const std::uint64_t own = version_ + answered_;
  if (version == own) return {{"version", own}, {"present", present}};
  const Prediction& now = predictions_[at_];
  Json all = shown_to_all(own);
  all["present"] = present;
  all["code"] = code_;
  all["error"] = now.error;
  all["answered"] = now.answers.size();
  std::vector<std::string> answers;
  for (const auto& [student, answer] : now.answers) answers.push_back(answer);
  const bool is_shown = now.stage == Stage::shown && now.right;
  all["bars"] = Json::array();
  std::size_t right = 0;
  for (const AnswerBar& one : histogram(now.question, answers, is_shown ? &*now.right : nullptr)) {
    all["bars"].push_back(
        {{"label", one.label}, {"count", one.count}, {"right", one.right}, {"here", one.has_right}});
    right += one.right;
  }
  if (is_shown) all["were_right"] = right;
  return all;
}

Json Classroom::for_student(const std::string& student, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (version == version_) return {{"version", version_}};
  const Prediction& now = predictions_[at_];
  Json all = shown_to_all(version_);
  if (const auto own = now.answers.find(student); own != now.answers.end()) {
    all["own"] = as_read(now.question, own->second);
    if (all.contains("right"))
      all["is_right"] = mark_of(now.question, own->second, *now.right) == Mark::right;
  }
  return all;
}

bool Classroom::knows(const std::string& student) {
  const std::lock_guard lock(mutex_);
  return seen_.contains(student);
}

bool Classroom::admits(const std::string& student) {
  const std::lock_guard lock(mutex_);
  const double now = host_seconds();
  const auto is_forgotten = [&](const auto& one) {
    const auto has_answer = [&](const Prediction& about) { return about.answers.contains(one.first); };
    return one.second < now - remembered_for && std::ranges::none_of(predictions_, has_answer);
  };
  if (!seen_.contains(student) && seen_.size() >= most_students) std::erase_if(seen_, is_forgotten);
  if (!seen_.contains(student) && seen_.size() >= most_students) return false;
  seen_[student] = now;
  return true;
}

std::string Classroom::answer(const std::string& student, std::size_t question, const std::string& text) {
  const std::lock_guard lock(mutex_);
  Prediction& now = predictions_[at_];
  if (question != at_ + 1) return "the class has another question now";
  if (now.stage != Stage::open) return "the predictions are closed";
  const bool is_long = now.question.choices.empty() && text.size() > most_letters;
  if (is_long || !is_utf8(text) || !is_readable(now.question, text))
    return fmt::format("psim cannot read this: write {}", form_of(now.question));
  now.answers[student] = text;
  ++answered_;
  return "";
}

}  // namespace psim::cli
