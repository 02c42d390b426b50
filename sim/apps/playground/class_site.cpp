// psim serve --class.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/page/page.hpp"
#include "model/base/unicode.hpp"
#include "sim/apps/cli/console.hpp"
#include "sim/apps/course/classroom.hpp"
#include "sim/apps/playground/commands.hpp"
#include "sim/apps/playground/door.hpp"
#include "sim/runs/files.hpp"
#include "sim/runs/process.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

constexpr std::size_t code_length = 5;

// Letters and digits that nobody confuses, without vowels, so that no code is a word.
std::string new_code() {
  constexpr std::string_view letters = "23456789bcdfghjkmnpqrstvwxyz";
  constexpr std::size_t fair = 256 / letters.size() * letters.size();
  std::string code;
  while (code.size() < code_length) {
    const auto byte = static_cast<unsigned char>(random_bytes(1).front());
    if (byte < fair) code += letters[byte % letters.size()];
  }
  return code;
}

// The wrong codes of each address: so many at once, and then so many a second. A whole class behind one
// address may mistype twice. Somebody who tries codes for an hour finds one of 17 millions with p = 0.0005.
class Guesses {
 public:
  bool are_left(const std::string& address) const {
    const auto one = used_.find(address);
    return one == used_.end() || now_of(one->second) + 1 <= at_once;
  }
  void use(const std::string& address) {
    constexpr std::size_t many = 1000;  // addresses
    if (used_.size() >= many) std::erase_if(used_, [](const auto& one) { return now_of(one.second) == 0; });
    Used& one = used_[address];
    one = {now_of(one) + 1, host_seconds()};
  }

 private:
  struct Used {
    double count = 0, at = 0;
  };
  static constexpr double at_once = 400, per_second = 2;
  static double now_of(const Used& one) {
    return std::max(0.0, one.count - per_second * (host_seconds() - one.at));
  }
  std::map<std::string, Used> used_;
};

// Who a student's page says that it is: the code of the class, a dot, and the number that the page has drawn.
struct Caller {
  std::string code, student;
};
Caller caller_of(const RequestHead& head) {
  const std::size_t dot = std::min(head.token.find('.'), head.token.size());
  return {in_small_letters(head.token.substr(0, dot)), head.token.substr(dot)};
}

bool is_drawn(std::string_view student) {
  constexpr std::size_t length = 33;  // a dot and 128 bits
  return student.size() == length &&
         student.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

// "/" or "/CODE", which need not be a right one.
bool is_page(std::string_view target) {
  const auto is_letter = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  return target == "/" || (target.size() == 1 + code_length && target.front() == '/' &&
                           std::ranges::all_of(target.substr(1), is_letter));
}

// What stands behind the ? of an address.
std::size_t number_behind(std::string_view target) {
  return number_in<std::size_t>(target.substr(target.find('?') + 1)).value_or(0);
}

class ClassSite {
 public:
  ClassSite(const ServeCommand& asked, std::int64_t lab, const fs::path& scratch)
      : room_(lab, asked.course, new_code(), scratch),
        page_(reply_of(200, analysis::class_page())),
        door_(asked, Bounds{.body = 1024},
              Site{[this](const RequestHead& head) { return at_head(head); },
                   [this](const RequestHead& head, const std::string& body) { return at_end(head, body); }}) {
    page_.type = "text/html; charset=utf-8";
  }

  // Returns the signal that ends it.
  int teach(const InterruptsHeld& held) {
    door_.open();
    fmt::print("students: {}\n", join());
    const bool is_local =
        door_.url().starts_with("http://localhost:") || door_.url().starts_with("http://127.");
    say("Project the first address; students open the second one. Ctrl-C ends the class, and nothing is "
        "kept.\n");
    if (is_local) say("Only this machine knows this name: --address 0.0.0.0 --name HOST is for a network.\n");
    return Door::ended_by(held);
  }

 private:
  std::string join() const { return door_.url() + "/" + room_.code(); }

  static Reply told(const Json& state) {
    Reply reply = reply_of(200, state.dump(-1, ' ', false, Json::error_handler_t::replace));
    reply.type = "application/json";
    return reply;
  }

  std::optional<Reply> at_head(const RequestHead& head) {
    const bool gets = head.method == "GET", posts = head.method == "POST";
    if (gets && is_page(head.target)) {
      Reply page = page_;
      page.is_public = true;
      return page;
    }
    if (!door_.is_token(Door::token_in(head))) return for_student(head);
    if (Door::asks_with_token(head)) return page_;
    if (gets && head.target.starts_with("/class?")) return for_teacher(number_behind(head.target));
    if (posts && head.target == "/act") return std::nullopt;
    return reply_of(404, "there is nothing here\n");
  }

  Reply for_teacher(std::uint64_t version) {
    Json state = room_.for_teacher(version);
    if (state.contains("code")) state["address"] = door_.url();
    return told(state);
  }

  std::optional<Reply> for_student(const RequestHead& head) {
    const auto& [code, student] = caller_of(head);
    if (!is_drawn(student)) return reply_of(403, "open the address that psim serve printed\n");
    if (!room_.knows(student) && !guesses_.are_left(head.address))
      return reply_of(429, "too many wrong codes; try again in a few seconds\n");
    if (code != room_.code()) {
      guesses_.use(head.address);
      return reply_of(403, "no class has this code\n");
    }
    if (!room_.admits(student)) return reply_of(503, "the class is full\n");
    if (head.method == "GET" && head.target.starts_with("/state?"))
      return told(room_.for_student(student, number_behind(head.target)));
    if (head.method == "POST" && head.target.starts_with("/answer?")) return std::nullopt;
    return reply_of(404, "there is nothing here\n");
  }

  Reply at_end(const RequestHead& head, const std::string& body) {
    if (head.target == "/act")
      return room_.act(body) ? for_teacher(0) : reply_of(400, "there is no such action\n");
    const std::string student = caller_of(head).student;
    const std::string refusal = room_.answer(student, number_behind(head.target), body);
    return refusal.empty() ? told(room_.for_student(student, 0)) : reply_of(400, refusal + "\n");
  }

  Classroom room_;
  Guesses guesses_;
  Reply page_;
  Door door_;
};

}  // namespace

int serve_class(const ServeCommand& asked) {
  const std::int64_t lab = lab_number_in(asked.lab);
  const ScratchFolder scratch("psim-class");
  const InterruptsHeld held;
  const int signal = ClassSite(asked, lab, scratch.path()).teach(held);
  throw Interrupted{signal, "the class is over; nothing of it is kept"};
}

}  // namespace psim::cli
