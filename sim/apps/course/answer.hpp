// Reads a student's answer and decides whether it is right.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/apps/course/lab.hpp"

namespace psim::cli {

enum class Mark { right, wrong, unreadable };
Mark mark_of(const LabQuestion& question, const std::string& answer, const RightAnswer& right);
// Whether one answer is right for all students. `right`: the right answer of each student.
bool suits_all(const LabQuestion& question, const std::vector<RightAnswer>& right);
// Whether the answer is a number or one of the choices.
bool is_readable(const LabQuestion& question, const std::string& answer);
// The number of a readable answer, in the question's unit; or the choice that it names, counted from 0.
std::optional<double> amount_in(std::string text, const LabQuestion& question);
std::optional<std::size_t> chosen_in(const LabQuestion& question, const std::string& answer);
// How a student may write the answer.
std::string form_of(const LabQuestion& question);
// A readable answer as psim understands it: "13 864 ms" is 1.386e+04 ms.
std::string as_read(const LabQuestion& question, const std::string& answer);
std::string number_text(double number, const std::string& unit);
// The right answer as a student would write it.
std::string answer_text(const LabQuestion& question, const RightAnswer& right);

}  // namespace psim::cli
