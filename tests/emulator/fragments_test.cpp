// Matrix fragments against plain loops, with a different value at every place.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/emulator/device/arithmetic.hpp"
#include "tests/emulator/little_kernels.hpp"

namespace qrow {
namespace {

using emulator::Grid;

constexpr std::size_t kOut = 2048;  // where kernels write; they read from word 0 on

const LittleKernels& kernels() {
  static const LittleKernels all("fragments", R"(
// Rows of 16 bytes; word 1024 + lane says where in shared memory the lane's row begins.
template <bool kTransposed>
__device__ void load(const Params& p) {
  const unsigned lane = threadIdx.x;
  unsigned* const shared = reinterpret_cast<unsigned*>(ptx::dynamic_shared());
  for (unsigned i = lane; i < 256; i += 32) shared[i] = p.words[i];
  __syncwarp();
  unsigned r[4];
  const unsigned row = ptx::smem_address(shared) + p.words[1024 + lane];
  if constexpr (kTransposed) {
    ptx::ldmatrix_x4_trans(r, row);
  } else {
    ptx::ldmatrix_x4(r, row);
  }
  for (unsigned i = 0; i < 4; ++i) p.words[2048 + 4 * lane + i] = r[i];
}
__device__ void straight(const Params& p) { load<false>(p); }
__device__ void transposed(const Params& p) { load<true>(p); }
ONE(straight)
ONE(transposed)

__device__ void movmatrix(const Params& p) {
  p.words[2048 + threadIdx.x] = ptx::movmatrix_trans(p.words[threadIdx.x]);
}
ONE(movmatrix)

// Each lane's a, b and c one after the other.
template <qrow::DType kType>
__device__ void multiply(const Params& p) {
  const unsigned* const mine = p.words + 16 * threadIdx.x;
  const unsigned a[4] = {mine[0], mine[1], mine[2], mine[3]};
  float c[4];
  for (unsigned i = 0; i < 4; ++i) c[i] = __uint_as_float(mine[6 + i]);
  ptx::mma_16x8x16<kType>(c, a, mine[4], mine[5]);
  for (unsigned i = 0; i < 4; ++i) p.words[2048 + 4 * threadIdx.x + i] = __float_as_uint(c[i]);
}
__device__ void multiply_bf16(const Params& p) { multiply<qrow::DType::bf16>(p); }
__device__ void multiply_f16(const Params& p) { multiply<qrow::DType::f16>(p); }
ONE(multiply_bf16)
ONE(multiply_f16)
)");
  return all;
}

void run(const std::string& kernel, LittleMemory& memory) {
  LittleLaunch launch;
  launch.threads = 32;
  Grid grid(memory.memory());
  CHECK(kernels().run(kernel, launch, memory, grid).text() == "");
}

unsigned pair(unsigned low, unsigned high) { return high << 16 | low; }

// Of 32 rows at shuffled places; element [row][column] is 8 row + column.
void check_ldmatrix(bool is_transposed) {
  LittleMemory memory;
  std::vector<unsigned> rows(32);
  for (unsigned i = 0; i < 32; ++i) rows[i] = 11 * i % 32;
  for (unsigned row = 0; row < 32; ++row) {
    memory[1024 + row] = 16 * rows[row];
    for (unsigned word = 0; word < 4; ++word)
      memory[4 * rows[row] + word] = pair(8 * row + 2 * word, 8 * row + 2 * word + 1);
  }
  run(is_transposed ? "transposed" : "straight", memory);
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const auto element = [&](unsigned row, unsigned column) {
        return 8 * (8 * matrix + row) + column;
      };
      const unsigned g = lane / 4, t = lane % 4;
      const unsigned expected = is_transposed ? pair(element(2 * t, g), element(2 * t + 1, g))
                                              : pair(element(g, 2 * t), element(g, 2 * t + 1));
      CHECK(memory[kOut + 4 * lane + matrix] == expected);
    }
  }
}

// a [16][16], b [16][8] as [k][column], c [16][8].
struct Problem {
  bool is_bf16;
  float a[16][16] = {}, b[16][8] = {}, c[16][8] = {};

  unsigned bits(float f) const {
    return is_bf16 ? emulator::float_to_bf16(f) : emulator::float_to_f16(f);
  }
  // As the instruction's documentation lays them out.
  void solve(float (&result)[16][8]) const {
    LittleMemory memory;
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      for (unsigned r = 0; r < 4; ++r) {
        const unsigned row = g + 8 * (r % 2), k = 2 * t + 8 * (r / 2);
        memory[16 * lane + r] = pair(bits(a[row][k]), bits(a[row][k + 1]));
        memory[16 * lane + 6 + r] = emulator::bits_of_float(c[g + 8 * (r / 2)][2 * t + r % 2]);
      }
      for (unsigned r = 0; r < 2; ++r)
        memory[16 * lane + 4 + r] = pair(bits(b[2 * t + 8 * r][g]), bits(b[2 * t + 1 + 8 * r][g]));
    }
    run(is_bf16 ? "multiply_bf16" : "multiply_f16", memory);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned r = 0; r < 4; ++r) {
        result[lane / 4 + 8 * (r / 2)][lane % 4 * 2 + r % 2] =
            emulator::float_of_bits(memory[kOut + 4 * lane + r]);
      }
    }
  }
};

}  // namespace

TEST_CASE("ldmatrix gives each lane its two elements of a row, or of a column") {
  check_ldmatrix(false);
  check_ldmatrix(true);
}

TEST_CASE("movmatrix transposes") {
  LittleMemory memory;
  for (unsigned lane = 0; lane < 32; ++lane) memory[lane] = pair(2 * lane, 2 * lane + 1);
  run("movmatrix", memory);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned g = lane / 4, t = lane % 4;
    CHECK(memory[kOut + lane] == pair(8 * (2 * t) + g, 8 * (2 * t + 1) + g));
  }
}

TEST_CASE("mma adds the product of whole numbers exactly") {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> numbers(-100, 100);
  for (const bool is_bf16 : {false, true}) {
    Problem problem{is_bf16};
    for (auto& row : problem.a)
      for (float& f : row) f = static_cast<float>(numbers(random));
    for (auto& row : problem.b)
      for (float& f : row) f = static_cast<float>(numbers(random));
    for (auto& row : problem.c)
      for (float& f : row) f = static_cast<float>(1000 * numbers(random));
    float result[16][8];
    problem.solve(result);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        float sum = problem.c[row][column];
        for (int k = 0; k < 16; ++k) sum += problem.a[row][k] * problem.b[k][column];
        CHECK(result[row][column] == sum);
      }
    }
  }
}

TEST_CASE("each element of a and b meets those that it must, and no other") {
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; k += 5) {
      Problem problem{row % 2 == 0};
      problem.a[row][k] = 2;
      for (int i = 0; i < 16; ++i)
        for (int column = 0; column < 8; ++column)
          problem.b[i][column] = static_cast<float>(8 * i + column + 1);
      float result[16][8];
      problem.solve(result);
      int wrong = 0;
      for (int r = 0; r < 16; ++r)
        for (int column = 0; column < 8; ++column)
          wrong += result[r][column] != (r == row ? 2 * problem.b[k][column] : 0);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("mma passes infinities, NaNs and subnormal numbers on") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const bool is_bf16 : {false, true}) {
    CAPTURE(is_bf16);
    Problem problem{is_bf16};
    const float tiny = std::ldexp(1.0f, is_bf16 ? -133 : -24);  // the least number
    problem.a[0][0] = infinity;
    problem.a[1][0] = infinity;
    problem.a[1][1] = -infinity;
    problem.a[2][3] = std::numeric_limits<float>::quiet_NaN();
    problem.a[3][0] = tiny;
    problem.a[4][0] = 1;
    problem.a[5][9] = infinity;
    for (int column = 0; column < 8; ++column) {
      problem.b[0][column] = problem.b[1][column] = problem.b[3][column] = 1;
      problem.c[4][column] = std::numeric_limits<float>::denorm_min();
    }
    problem.b[0][7] = 0;
    float result[16][8];
    problem.solve(result);
    CHECK(result[0][0] == infinity);
    CHECK(std::isnan(result[0][7]));  // infinity times zero
    CHECK(std::isnan(result[1][0]));  // infinity less infinity
    CHECK(emulator::bits_of_float(result[2][0]) == 0x7fffffff);
    CHECK(result[3][0] == tiny);
    CHECK(result[4][0] == 1);
    CHECK(result[4][7] == std::numeric_limits<float>::denorm_min());
    CHECK(std::isnan(result[5][0]));
    CHECK(result[6][0] == 0);
  }
}

}  // namespace qrow
