// Matrix fragments. In them lane = 4 g + t: of an 8x8 matrix of 16-bit elements a lane holds the
// elements 2 t and 2 t + 1 of row g.
#include "runtime/emulator/device/arithmetic.hpp"
#include "runtime/emulator/meeting.hpp"

namespace qrow::emulator {
namespace {

using Tile = std::array<std::array<std::uint16_t, 8>, 8>;  // [row][column]

unsigned fragment(const Tile& tile, std::size_t lane, bool transposed) {
  const std::size_t g = lane / 4, t = lane % 4;
  const unsigned low = transposed ? tile[2 * t][g] : tile[g][2 * t];
  const unsigned high = transposed ? tile[2 * t + 1][g] : tile[g][2 * t + 1];
  return high << 16 | low;
}

float half_of(Element type, unsigned pair, bool high) {
  const unsigned bits = high ? pair >> 16 : pair & 0xffffu;
  return type == Element::bf16 ? bf16_to_float(bits) : f16_to_float(bits);
}

struct Mma {
  const unsigned* a;
  unsigned b[2];
  float* c;
};

}  // namespace

void Block::ldmatrix_x4(unsigned (&r)[4], unsigned smem, bool transposed, Site site) {
  // The read is this lane's: the row that its address names.
  const char* row = shared_.read(smem, 16, 16, self().clock, site);
  warp().conflicts.add(lane_index(), smem, 16, shared_.place_of(site));
  struct Operand {
    const char* row;
    unsigned* r;
  } mine{row, r};
  meet(transposed ? "ldmatrix.trans" : "ldmatrix", ~0u, true, mine, site,
       [transposed](const auto& lanes, unsigned) {
         for (std::size_t matrix = 0; matrix < 4; ++matrix) {
           Tile tile;
           for (std::size_t i = 0; i < 8; ++i)
             std::memcpy(tile[i].data(), lanes[8 * matrix + i]->row, 16);
           for (std::size_t lane = 0; lane < 32; ++lane)
             lanes[lane]->r[matrix] = fragment(tile, lane, transposed);
         }
       });
}

void Block::stmatrix_x4(unsigned smem, const unsigned (&r)[4], bool transposed, Site site) {
  // The write is this lane's: the row that its address names.
  struct Operand {
    char* row;
    const unsigned* r;
  } mine{shared_.write(smem, 16, 16, self().clock, site), r};
  warp().conflicts.add(lane_index(), smem, 16, shared_.place_of(site));
  meet(transposed ? "stmatrix.trans" : "stmatrix", ~0u, true, mine, site,
       [transposed](const auto& lanes, unsigned) {
         for (std::size_t matrix = 0; matrix < 4; ++matrix) {
           Tile tile;
           for (std::size_t lane = 0; lane < 32; ++lane)
             std::memcpy(&tile[lane / 4][2 * (lane % 4)], &lanes[lane]->r[matrix], 4);
           for (std::size_t i = 0; i < 8; ++i) {
             std::array<std::uint16_t, 8> row = tile[i];
             for (std::size_t j = 0; j < 8 && transposed; ++j) row[j] = tile[j][i];
             std::memcpy(lanes[8 * matrix + i]->row, row.data(), 16);
           }
         }
       });
}

unsigned Block::movmatrix_trans(unsigned r, Site site) {
  unsigned mine = r;
  meet("movmatrix", ~0u, true, mine, site, [](const auto& lanes, unsigned) {
    Tile tile;
    for (std::size_t lane = 0; lane < 32; ++lane)
      std::memcpy(&tile[lane / 4][2 * (lane % 4)], lanes[lane], 4);
    for (std::size_t lane = 0; lane < 32; ++lane) *lanes[lane] = fragment(tile, lane, true);
  });
  return mine;
}

// Products (exact) and their sum in double, rounded once. The hardware keeps fewer bits while it
// adds: see the folder's README for the bound.
void Block::mma_16x8x16(Element type, float (&c)[4], const unsigned (&a)[4], unsigned b0,
                        unsigned b1, Site site) {
  Mma mine{a, {b0, b1}, c};
  meet("mma", ~0u, true, mine, site, [type](const auto& lanes, unsigned) {
    float a_tile[16][16], b_tile[8][16];  // [row][k], [column][k]
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t g = lane / 4, t = lane % 4;
      for (std::size_t half = 0; half < 2; ++half) {
        for (std::size_t k8 = 0; k8 < 2; ++k8) {
          a_tile[g][8 * k8 + 2 * t + half] = half_of(type, lanes[lane]->a[2 * k8], half);
          a_tile[g + 8][8 * k8 + 2 * t + half] = half_of(type, lanes[lane]->a[2 * k8 + 1], half);
          b_tile[g][8 * k8 + 2 * t + half] = half_of(type, lanes[lane]->b[k8], half);
        }
      }
    }
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t g = lane / 4, t = lane % 4;
      for (std::size_t i = 0; i < 4; ++i) {
        const float(&row)[16] = a_tile[g + 8 * (i / 2)];
        const float(&column)[16] = b_tile[2 * t + i % 2];
        double sum = static_cast<double>(lanes[lane]->c[i]);
        for (std::size_t k = 0; k < 16; ++k)
          sum += static_cast<double>(row[k]) * static_cast<double>(column[k]);
        // The hardware has one NaN.
        lanes[lane]->c[i] = std::isnan(sum) ? float_of_bits(0x7fffffffu) : static_cast<float>(sum);
      }
    }
  });
}

}  // namespace qrow::emulator
