// A consistency model that a scenario writes as expressions (model/base/formula.hpp): when a worker may start
// a clock, when an update is made, what a push weighs, and which push comes too late.
//
// The rest of psim knows no expressions. The names that the expressions use decide the shape of the model:
// `computed_on` or `version` in `start` makes workers wait for a newer version, `applied` or `pushed` for
// their own push, `clock` or `min_clock` for the slowest worker. If every stale push is too late, only fresh
// pushes count, and a clock is a version.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/formula.hpp"
#include "sim/protocol/consistency_policy.hpp"

namespace psim {

// The expressions of a scenario; the defaults are asp.
struct CustomTexts {
  std::string start = "true", update = "pushes >= 1", weight = "1", too_late = "false";
};

// Numbers that do not change within a run.
struct CustomNumbers {
  std::int64_t workers = 1, k = 1, staleness = 0;
};

// The mistake in the expression of field `field` of [consistency].
struct CustomMistake {
  std::string field;
  FormulaMistake what;
};

class CustomModel final : public PlainModel {
 public:
  // All mistakes of the expressions. They are checked together only after each one is valid.
  static std::vector<CustomMistake> mistakes(const CustomTexts& texts, const CustomNumbers& numbers);

  // Whether the expression `weight` uses the work behind a push.
  static bool weighs_work(const CustomTexts& texts);

  // Throws CustomMistake.
  CustomModel(const CustomTexts& texts, const CustomNumbers& numbers);

  bool starts(const StartView& worker) const override;
  bool makes_update(const Update& at) const override;
  double weight(std::int64_t age) const override;
  double weight_of(const Push& push, std::int64_t age) const override;
  bool is_whole_weight() const override { return whole_; }
  bool is_too_late(std::int64_t age) const override;
  std::int64_t most_of_worker() const override;
  bool varies() const override;
  // "`clock - min_clock <= 3` is false: clock = 5, min_clock = 1"
  std::string why_not(const StartView& view, Memory memory) const override;
  std::string why_no_update(const ShardView& view, Memory memory) const override;

 private:
  void check_ages() const;
  void check_group() const;
  void check_gate() const;

  CustomNumbers numbers_;
  Formula start_, update_, weight_;
  bool whole_;  // the weight uses the work behind a push
  Formula too_late_;
};

}  // namespace psim
