// Measured series over time, read from files: the speed and availability of workers, the bandwidth and
// latency of nodes' links. Pure functions of the date and the seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/settings.hpp"
#include "sim/scenario/spec/step_trace.hpp"

namespace psim {

enum class ProfileOf : std::uint8_t { speed, availability, bandwidth, latency };
enum class ProfileUnit : std::uint8_t { factors, bytes_per_second };

// Dates and values of a file.
struct ProfileSpec {
  ProfileOf of = ProfileOf::speed;
  std::string file;
  std::vector<std::int64_t> workers;  // of speed and availability; empty: all
  std::vector<std::string> nodes;     // of bandwidth and latency; empty: all
  ProfileUnit unit = ProfileUnit::factors;
  std::optional<Seconds> every;  // period of repetition
  std::string resample = "as it is";
  // The loader fills these in: the meaning of `resample`, and the content of the file.
  Resampling resampling = {};
  std::vector<std::pair<double, double>> rows = {};

  bool is_of_links() const { return of == ProfileOf::bandwidth || of == ProfileOf::latency; }
  // Seconds from the beginning of the file until its end. The last value holds for the mean time of a row.
  double length() const;
};

// Whether the profile gives the speed or availability of a worker.
bool concerns(const ProfileSpec& profile, std::int64_t worker);

// The value at a date: the value of the last row before it; `usual` before the first row. Each `who` draws
// its own blocks of a resampled profile.
double value_at(const ProfileSpec& profile, double now, double usual, std::uint64_t seed, std::uint64_t who);
// A date after `now` until which the value does not change; none if it never changes again.
std::optional<double> next_row(const ProfileSpec& profile, double now, std::uint64_t seed, std::uint64_t who);

}  // namespace psim
