#include "model/numerics/newton_schulz.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "model/numerics/product.hpp"

namespace psim::numerics {
namespace {

// Row by row.
template <class Scalar>
struct Matrix {
  std::size_t rows, columns;
  std::vector<Scalar> values = std::vector<Scalar>(rows * columns);

  std::vector<const Scalar*> row_pointers() const {
    std::vector<const Scalar*> pointers;
    for (std::size_t r = 0; r < rows; ++r) pointers.push_back(values.data() + r * columns);
    return pointers;
  }
};

template <class Scalar>
Matrix<Scalar> transposed(const Scalar* matrix, std::size_t rows, std::size_t columns) {
  Matrix<Scalar> result{columns, rows};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result.values[c * rows + r] = matrix[r * columns + c];
  }
  return result;
}

template <class Scalar>
Matrix<Scalar> product(const Matrix<Scalar>& a, const Matrix<Scalar>& b) {
  Matrix<Scalar> c{a.rows, b.columns};
  const std::vector<const Scalar*> rows = b.row_pointers();
  multiply(Product<Scalar>{.rows = a.rows,
                           .steps = a.columns,
                           .lanes = b.columns,
                           .a = a.values.data(),
                           .a_row = static_cast<std::ptrdiff_t>(a.columns),
                           .a_step = 1,
                           .b = rows.data(),
                           .c = c.values.data(),
                           .c_row = static_cast<std::ptrdiff_t>(b.columns)});
  return c;
}

// y = factor * y + other * x
template <class Scalar>
void combine(Matrix<Scalar>& y, double factor, double other, const Matrix<Scalar>& x) {
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] = static_cast<Scalar>(factor) * y.values[i] + static_cast<Scalar>(other) * x.values[i];
}

// The products have the size of the shorter side.
template <class Scalar>
void iterate(Scalar* matrix, std::size_t rows, std::size_t columns) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  constexpr int steps = 5;
  const bool is_tall = rows > columns;
  Matrix<Scalar> x{rows, columns, {matrix, matrix + rows * columns}};
  if (is_tall) x = transposed(matrix, rows, columns);
  double squares = 0;
  for (const Scalar value : x.values) squares += static_cast<double>(value) * static_cast<double>(value);
  const auto norm = static_cast<Scalar>(std::sqrt(squares) + 1e-7);
  for (Scalar& value : x.values) value /= norm;
  for (int step = 0; step < steps; ++step) {
    const Matrix<Scalar> gram = product(x, transposed(x.values.data(), x.rows, x.columns));
    Matrix<Scalar> quintic = product(gram, gram);
    combine(quintic, c, b, gram);
    Matrix<Scalar> next = product(quintic, x);
    combine(next, 1, a, x);
    x = std::move(next);
  }
  if (is_tall) x = transposed(x.values.data(), x.rows, x.columns);
  std::ranges::copy(x.values, matrix);
}

}  // namespace

void newton_schulz(float* matrix, std::size_t rows, std::size_t columns) { iterate(matrix, rows, columns); }
void newton_schulz(double* matrix, std::size_t rows, std::size_t columns) { iterate(matrix, rows, columns); }

}  // namespace psim::numerics
