// Collects all mistakes in a request before psim makes or writes anything.
#pragma once

#include <string>
#include <utility>

#include "sim/runs/refused.hpp"

namespace psim {

class Refusals {
 public:
  // Makes a check, and keeps the exception that refuses the request.
  template <class Check>
  void check(Check&& check) {
    try {
      std::forward<Check>(check)();
    } catch (const UserError& refusal) {
      add(refusal.what(), refusal.help);
    } catch (const Invalid& invalid) {
      add(invalid.text);
    }
  }
  // Throws Invalid with all mistakes, if any.
  void throw_if_any() const {
    if (!text_.empty()) throw Invalid{text_};
  }

 private:
  void add(const std::string& what, const std::string& help) { add(refusal_text(what, help)); }
  void add(const std::string& text) {
    if (text_.find(text) == std::string::npos) text_ += text;
  }
  std::string text_;
};

}  // namespace psim
