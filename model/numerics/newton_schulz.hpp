// The orthogonal matrix near a matrix, without its singular vectors.
#pragma once

#include <cstddef>

namespace psim::numerics {

// Replaces the matrix, stored row by row, by U S' V^T, where U S V^T is its singular value decomposition and
// S' has values between about 0.7 and 1.2: five steps of the quintic Newton-Schulz iteration with the
// coefficients of Muon (Jordan et al. 2024, github.com/KellerJordan/Muon), in the precision of the matrix.
void newton_schulz(float* matrix, std::size_t rows, std::size_t columns);
void newton_schulz(double* matrix, std::size_t rows, std::size_t columns);

}  // namespace psim::numerics
