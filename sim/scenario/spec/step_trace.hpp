// Measured step times from a file, and the ways in which a run takes them: as they are, or resampled with a
// bootstrap. Pure functions of the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/settings.hpp"

namespace psim {

// How a run takes the rows of a measured series.
// - as_it_is: in the order of the file, and again from its beginning.
// - iid: each step draws a row of its own. This keeps the distribution and loses the order.
// - blocks: the moving block bootstrap (Kuensch 1989). Runs of `block`
//   neighbouring rows begin at random rows, so a step stays as slow as the steps near it.
enum class ResamplingKind : std::uint8_t { as_it_is, iid, blocks };

struct Resampling {
  ResamplingKind kind = ResamplingKind::as_it_is;
  double block = 0;           // blocks: their length, in rows of a trace or in seconds of a profile
  bool drawn_start = false;   // as it is: begins at a random row
  bool drawn_sample = false;  // each seed first draws a series of the same length, and then takes rows of it
};

// "as it is", "iid" or "blocks of N steps". Nothing for another text.
std::optional<Resampling> step_resampling(std::string_view text);
// "as it is" or "blocks of TIME", where TIME is a duration such as "10s". Nothing for another text.
std::optional<Resampling> time_resampling(std::string_view text);

// A worker's column in a trace. Workers with the same column have different copies of it: they take the same
// times at different steps.
struct TraceColumn {
  std::uint32_t column = 0, copy = 0;
};

class StepTrace {
 public:
  // `values`: row by row, each with `columns` values. At least one row.
  StepTrace(std::size_t columns, std::vector<double> values);

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return values_.size() / columns_; }
  const std::vector<double>& values() const { return values_; }
  double mean(std::size_t column) const { return means_[column]; }
  double at(std::size_t row, std::size_t column) const { return values_[row * columns_ + column]; }

 private:
  std::size_t columns_;
  std::vector<double> values_, means_;
};

// A drawn sample is shorter than the file. The mean over blocks of length L out of N rows varies by the
// factor u = 1 - L / N less than the cluster's: the means of all possible blocks lie around the file's mean,
// not around the cluster's. This holds for the sample, and again for a run of N steps. A sample of
// N u / (2 - u) = N (N - L) / (N + L) rows makes up for both.
//
// Which row of a series of `rows` rows a run takes in a step. Copies of a column take different rows; the
// first copies of all columns take the same row, which keeps the effects that slow all workers at once.
std::size_t row_of_step(const Resampling& how, std::size_t rows, std::uint64_t seed, std::uint32_t copy,
                        std::int64_t step);

// The columns of `workers` workers. Without a draw worker i has column i of as many, or the single column.
// With a draw every column is taken once, in random order, before any is taken again.
std::vector<TraceColumn> trace_columns(std::size_t columns, std::size_t workers, bool drawn,
                                       std::uint64_t seed);

// Measured series over time, read from files: the speed and availability of workers, the bandwidth and
// latency of nodes' links. Pure functions of the date and the seed.
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
