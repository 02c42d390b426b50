// The labs of the course, solved by their texts alone: arithmetic where the text teaches it, and runs of
// one's own.
#pragma once

#include "tests/support/student.hpp"

namespace psim::test {

// Writes all answers of lab 1 to 6, and what runs showed.
void solve(int lab, Student& student);

// What lab 2's text lets a student reckon: a step of a fast worker computes for about 8 ms and has messages
// for about 3 ms.
struct Reckoned {
  double slower, waits, slow_share;
};
Reckoned reckoned(Student& student);

// The worker's share of all steps that lab 2 makes slow.
double share_of_slow(Student& student, const Json& run);
// How long a step takes, in seconds.
double step(const Json& run);

}  // namespace psim::test
