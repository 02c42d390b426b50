// Goal: no use of time looks like an arm, on light and on dark paper, also for readers who do not tell red
// from green. Method: distances in CIELAB between the colours of page.css, as all readers see them and as
// protanopes and deuteranopes do (matrices of Machado, Oliveira and Fernandes 2009).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

constexpr Matrix all_cones{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix protanope{
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix deuteranope{
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix to_xyz{// of linear sRGB, as parts of the white point
                        {{0.4339, 0.3763, 0.1899}, {0.2126, 0.7152, 0.0722}, {0.0177, 0.1095, 0.8728}}};

Triple times(const Matrix& m, const Triple& v) {
  Triple out{};
  for (std::size_t i = 0; i < 3; ++i)
    out[i] = std::clamp(m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2], 0.0, 1.0);
  return out;
}

// The `theme`-th value of --name: 0 on light paper, 1 on dark paper.
Triple colour(const std::string& css, const std::string& name, int theme) {
  std::size_t at = 0;
  for (int i = 0; i <= theme; ++i) at = css.find("--" + name + ": #", at + 1);
  const std::string hex = css.substr(css.find('#', at) + 1, 6);
  Triple linear{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = std::stoi(hex.substr(2 * i, 2), nullptr, 16) / 255.0;
    linear[i] = part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return linear;
}

Triple lab(const Triple& linear) {
  Triple f = times(to_xyz, linear);
  for (double& part : f) part = part > 0.008856 ? std::cbrt(part) : 7.787 * part + 16.0 / 116;
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

double distance(const Triple& a, const Triple& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

}  // namespace

TEST_CASE("uses of time have other colours than arms", "[page]") {
  const std::string css = content(source_folder() / "analysis/page/page.css");
  constexpr double easy = 25, enough = 12;  // 2.3 is the least that eyes notice
  for (const int theme : {0, 1}) {
    for (const char* use : {"compute", "network", "wait", "service", "down"}) {
      for (int arm = 0; arm < 8; ++arm) {
        const Triple a = colour(css, use, theme), b = colour(css, "s" + std::to_string(arm), theme);
        INFO(use << " and s" << arm << (theme == 0 ? ", light" : ", dark"));
        CHECK(distance(lab(times(all_cones, a)), lab(times(all_cones, b))) > easy);
        CHECK(distance(lab(times(protanope, a)), lab(times(protanope, b))) > enough);
        CHECK(distance(lab(times(deuteranope, a)), lab(times(deuteranope, b))) > enough);
      }
    }
  }
}
