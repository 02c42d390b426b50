// Names beside marks, so that none covers another.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace psim::analysis {

// In millimetres, down from the top.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool meets(const Box& other) const;
  bool holds(const Box& other) const;
};

struct MarkedName {
  std::string name;
  double x = 0, y = 0;  // of its mark
};

// The place of a name: it starts or ends at `x`.
struct Label {
  double x = 0, y = 0;  // the middle of its height
  const char* anchor;   // start or end
  bool is_far = false;  // far from its mark: a line should connect them
};

// Places the names right or left of their marks within `area`, as near as possible. None if there is no room
// for all.
std::optional<std::vector<Label>> labels_of(const std::vector<MarkedName>& names, double radius,
                                            const Box& area);

}  // namespace psim::analysis
