#include "analysis/render/labels.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/render/svg_document.hpp"

namespace psim::analysis {
namespace {

// A possible place of a name, relative to its mark.
struct Shift {
  double across = 0, down = 0;
  bool is_right = true;
};

// The near ones first.
std::vector<Shift> shifts() {
  std::vector<Shift> all;
  for (int column = 0; column < 12; ++column) {
    for (int row = -60; row <= 60; ++row) {
      for (const bool is_right : {true, false}) all.push_back({column * 4.0, row * line_mm / 5, is_right});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Shift& s) { return std::hypot(s.across, s.down); });
  return all;
}

// Whether the line from (x, y) to (to_x, to_y) crosses the box.
bool crosses(double x, double y, double to_x, double to_y, const Box& box) {
  constexpr int places = 40;
  for (int i = 0; i <= places; ++i) {
    const double share = static_cast<double>(i) / places;
    const double px = x + share * (to_x - x), py = y + share * (to_y - y);
    if (box.left < px && px < box.right && box.top < py && py < box.bottom) return true;
  }
  return false;
}

struct Leader {
  double x, y, to_x, to_y;
};

}  // namespace

bool Box::meets(const Box& other) const {
  return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
}

bool Box::holds(const Box& other) const {
  return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
}

std::optional<std::vector<Label>> labels_of(const std::vector<MarkedName>& names, double radius,
                                            const Box& area) {
  const std::vector<Shift> candidates = shifts();
  const double gap = radius + 0.8;
  std::vector<Box> marks, texts;
  std::vector<Leader> leaders;
  for (const auto& [name, x, y] : names) marks.push_back({x - radius, y - radius, x + radius, y + radius});
  std::vector<Label> labels;
  for (const auto& [name, x, y] : names) {
    const double width = text_width(name);
    const auto fits = [&, x = x, y = y](const Shift& shift) {
      const double near = shift.is_right ? x + gap + shift.across : x - gap - shift.across;
      const double middle = y + shift.down, begin = shift.is_right ? near : near - width;
      const Box box{begin, middle - line_mm / 2, begin + width, middle + line_mm / 2};
      const auto meets = [&](const Box& other) { return box.meets(other); };
      return area.holds(box) && std::ranges::none_of(marks, meets) && std::ranges::none_of(texts, meets) &&
             std::ranges::none_of(texts,
                                  [&](const Box& other) { return crosses(x, y, near, middle, other); }) &&
             std::ranges::none_of(leaders,
                                  [&](const Leader& l) { return crosses(l.x, l.y, l.to_x, l.to_y, box); });
    };
    const auto found = std::ranges::find_if(candidates, fits);
    if (found == candidates.end()) return std::nullopt;
    const double near = found->is_right ? x + gap + found->across : x - gap - found->across;
    const double middle = y + found->down, begin = found->is_right ? near : near - width;
    texts.push_back({begin, middle - line_mm / 2, begin + width, middle + line_mm / 2});
    const bool is_far = std::hypot(found->across, found->down) > 1;
    if (is_far) leaders.push_back({x, y, near, middle});
    labels.push_back({near, middle, found->is_right ? "start" : "end", is_far});
  }
  return labels;
}

}  // namespace psim::analysis
