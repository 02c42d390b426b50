// The kernels of `multiply` for the level that this file is compiled for; product_LEVEL.cpp includes it. No
// inline function of a library may be called: the linker keeps one copy for the whole program, and it could
// be a copy that needs a newer processor.
#pragma once

#include "model/numerics/lanes.hpp"
#include "model/numerics/product.hpp"

namespace psim::numerics {
namespace {

// A block of B for one tile stays in the first-level cache: this many steps of 256 bytes.
constexpr std::size_t steps_of_block = 128;

// The steps [begin, end) of a product. If `goes_on`, C holds the sums of the earlier steps.
template <class Scalar>
struct Part {
  const Product<Scalar>& product;
  std::size_t begin, end;
  bool goes_on;
};

// C[row .. row + Rows) x [lane .. lane + Vectors * width), in registers.
template <int Rows, int Vectors, class Scalar>
void tile(const Part<Scalar>& part, std::size_t row, std::size_t lane) {
  using L = Lanes<Scalar>;
  const Product<Scalar>& p = part.product;
  const Scalar* a[Rows];
  Scalar* c[Rows];
  typename L::Vector sum[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    a[r] = p.a + static_cast<std::ptrdiff_t>(row + r) * p.a_row;
    c[r] = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      if (part.goes_on) sum[r][v] = L::load(c[r] + v * L::width);
      else sum[r][v] = L::broadcast(p.first != nullptr ? p.first[row + r] : Scalar(0));
    }
  }
  for (std::size_t k = part.begin; k < part.end; ++k) {
    const Scalar* b = p.b[k] + lane;
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(k) * p.a_step;
    typename L::Vector values[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) values[v] = L::load(b + v * L::width);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const typename L::Vector factor = L::broadcast(a[r][at]);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sum[r][v] = L::fma(factor, values[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) L::store(c[r] + v * L::width, sum[r][v]);
  }
}

template <int Rows, int Vectors, class Scalar>
void last_rows(const Part<Scalar>& part, std::size_t row, std::size_t lane) {
  if constexpr (Rows > 0) {
    if (part.product.rows - row == Rows) tile<Rows, Vectors>(part, row, lane);
    else last_rows<Rows - 1, Vectors>(part, row, lane);
  }
}

// Computes the lanes from `lane` that fill whole vectors. Returns the first lane after them.
template <int Vectors, class Scalar>
std::size_t columns(const Part<Scalar>& part, std::size_t lane) {
  constexpr int rows = Lanes<Scalar>::rows;
  constexpr std::size_t count = Vectors * Lanes<Scalar>::width;
  for (; lane + count <= part.product.lanes; lane += count) {
    std::size_t row = 0;
    for (; row + rows <= part.product.rows; row += rows) tile<rows, Vectors>(part, row, lane);
    last_rows<rows - 1, Vectors>(part, row, lane);
  }
  if constexpr (Vectors > 1) return columns<Vectors / 2>(part, lane);
  else return lane;
}

// The lanes that fill no vector: the same with copies of B and C that are padded to one vector.
template <class Scalar>
void last_lanes(const Part<Scalar>& part, std::size_t lane) {
  constexpr std::size_t width = Lanes<Scalar>::width, rows = Lanes<Scalar>::rows;
  const Product<Scalar>& p = part.product;
  const std::size_t used = p.lanes - lane, steps = part.end - part.begin;
  Scalar b[steps_of_block * width], c[rows * width];
  const Scalar* rows_of_b[steps_of_block];
  for (std::size_t k = 0; k < steps; ++k) {
    for (std::size_t i = 0; i < width; ++i)
      b[k * width + i] = i < used ? p.b[part.begin + k][lane + i] : Scalar(0);
    rows_of_b[k] = b + k * width;
  }
  for (std::size_t row = 0; row < p.rows; row += rows) {
    const std::size_t count = p.rows - row < rows ? p.rows - row : rows;
    for (std::size_t r = 0; r < count; ++r) {
      const Scalar* from = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
      const Scalar first = p.first != nullptr ? p.first[row + r] : Scalar(0);
      for (std::size_t i = 0; i < width; ++i) c[r * width + i] = i < used && part.goes_on ? from[i] : first;
    }
    const Product<Scalar> padded{.rows = count,
                                 .steps = steps,
                                 .lanes = width,
                                 .a = p.a + static_cast<std::ptrdiff_t>(row) * p.a_row +
                                      static_cast<std::ptrdiff_t>(part.begin) * p.a_step,
                                 .a_row = p.a_row,
                                 .a_step = p.a_step,
                                 .b = rows_of_b,
                                 .c = c,
                                 .c_row = static_cast<std::ptrdiff_t>(width)};
    columns<1>(Part<Scalar>{padded, 0, steps, true}, 0);
    for (std::size_t r = 0; r < count; ++r) {
      Scalar* to = p.c + static_cast<std::ptrdiff_t>(row + r) * p.c_row + lane;
      for (std::size_t i = 0; i < used; ++i) to[i] = c[r * width + i];
    }
  }
}

template <class Scalar>
void multiply_here(const Product<Scalar>& p) {
  std::size_t begin = 0;
  do {
    const std::size_t end = p.steps - begin < steps_of_block ? p.steps : begin + steps_of_block;
    const Part<Scalar> part{p, begin, end, begin > 0};
    const std::size_t lane = columns<Lanes<Scalar>::vectors>(part, 0);
    if (lane < p.lanes) last_lanes(part, lane);
    begin = end;
  } while (begin < p.steps);
}

}  // namespace
}  // namespace psim::numerics
