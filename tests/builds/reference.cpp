// The reference file of minutes.sh: a product of matrices, a JSON document and a formatted text.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <nlohmann/json.hpp>

int main(int argc, char**) {
  const Eigen::MatrixXf a = Eigen::MatrixXf::Constant(8, 8, static_cast<float>(argc)), b = a * a.transpose();
  const nlohmann::ordered_json document{{"trace", b.trace()}, {"text", fmt::format("{:.3f}", b.norm())}};
  fmt::print("{}\n", document.dump(2));
}
