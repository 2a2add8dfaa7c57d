#include "runtime/tools/host_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr int kF32 = static_cast<int>(DType::f32);

// Two requests of up to 4 tokens in pages of 2, one head of one element, everything f32: small
// enough to do by hand. Page 0 is nobody's and holds NaN.
struct TinyProblem {
  Spec spec;
  qrow_args args{};
  std::vector<float> q{1, 1, 1, 1};  // [2 requests * 2 rows]
  std::vector<float> k{NAN, NAN, 0, 0, 0, 0, 0, NAN};
  std::vector<float> v{NAN, NAN, 1, 3, 5, 7, 9, NAN};
  std::vector<std::int32_t> lens{4, 1};
  std::vector<std::int32_t> table{1, 2, -1, 3, -1, -1};
  float k_scale = 1, v_scale = 1;

  TinyProblem() {
    spec.num_q_heads = spec.num_kv_heads = 1;
    spec.head_dim = spec.head_dim_v = 1;
    spec.max_rows = 2;
    spec.page_size = 2;
    spec.q_dtype = spec.kv_dtype = kF32;
    spec.lse = Lse::base_e;
    args.batch = 2;
    args.rows = 2;
    args.max_kv_len = 4;
    args.q = q.data();
    args.q_row_stride = args.q_head_stride = 4;
    args.k = k.data();
    args.v = v.data();
    args.k_page_stride = args.v_page_stride = 8;
    args.k_token_stride = args.v_token_stride = 4;
    args.kv_lens = lens.data();
    args.page_table = table.data();
    args.page_table_stride = 3;
  }
};

}  // namespace

TEST_CASE("with equal scores the host reference is the mean of the values that a row sees") {
  const TinyProblem problem;
  const ReferenceResult result = host_reference(problem.spec, problem.args);
  REQUIRE(result.out.size() == 4);
  CHECK(result.out[0] ==
        doctest::Approx((1 + 3 + 5) / 3.0));  // the first of two rows does not see the last token
  CHECK(result.out[1] == doctest::Approx((1 + 3 + 5 + 7) / 4.0));
  CHECK(result.lse[0] == doctest::Approx(std::log(3.0)));
  CHECK(result.lse[1] == doctest::Approx(std::log(4.0)));
}

TEST_CASE("a row before position 0 gives 0 and minus infinity in the host reference") {
  const TinyProblem problem;
  const ReferenceResult result = host_reference(problem.spec, problem.args);
  CHECK(result.out[2] == 0.0);
  CHECK(result.lse[2] == -std::numeric_limits<float>::infinity());
  CHECK(result.out[3] == 9.0);
  CHECK(result.lse[3] == 0.0f);
}

TEST_CASE("without a mask every row sees every key in the host reference") {
  TinyProblem problem;
  problem.spec.mask = Mask::none;
  const ReferenceResult result = host_reference(problem.spec, problem.args);
  CHECK(result.out[0] == doctest::Approx(4.0));
  CHECK(result.out[2] == 9.0);
}

TEST_CASE("scales and the softmax scale enter the host reference where they belong") {
  TinyProblem problem;
  problem.k = {NAN, NAN, 2, 4, 0, 0, 0, NAN};
  problem.args.k = problem.k.data();
  problem.lens = {2, 1};
  problem.k_scale = 0.5f;
  problem.v_scale = 10.0f;
  problem.args.k_scale = &problem.k_scale;
  problem.args.v_scale = &problem.v_scale;
  problem.args.softmax_scale = 3.0f;
  problem.spec.scale = Scale::tensor;
  problem.spec.lse = Lse::base_2;
  const ReferenceResult result = host_reference(problem.spec, problem.args);
  const double a = std::exp(2 * 0.5 * 3), b = std::exp(4 * 0.5 * 3);
  CHECK(result.out[1] == doctest::Approx(10 * (1 * a + 3 * b) / (a + b)));
  CHECK(result.lse[1] == doctest::Approx(std::log2(a + b)));
}

TEST_CASE("a request above max_kv_len is NaN in the host reference") {
  TinyProblem problem;
  problem.args.max_kv_len = 3;
  const ReferenceResult result = host_reference(problem.spec, problem.args);
  CHECK(std::isnan(result.out[0]));
  CHECK(std::isnan(result.lse[1]));
  CHECK(result.out[3] == 9.0);
}

TEST_CASE("stored numbers of every format decode by its definition") {
  const auto decode = [](DType type, std::uint32_t bits) {
    return stored_number(&bits, static_cast<int>(type));
  };
  CHECK(decode(DType::bf16, 0x3f80) == 1.0);
  CHECK(decode(DType::bf16, 0xc040) == -3.0);
  CHECK(decode(DType::bf16, 0x0001) == std::ldexp(1.0, -133));
  CHECK(decode(DType::bf16, 0x7f80) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(decode(DType::bf16, 0xffff)));
  CHECK(decode(DType::f16, 0x3c00) == 1.0);
  CHECK(decode(DType::f16, 0x7bff) == 65504.0);
  CHECK(decode(DType::f16, 0x0001) == std::ldexp(1.0, -24));
  CHECK(std::isnan(decode(DType::f16, 0xffff)));
  CHECK(decode(DType::e4m3, 0x38) == 1.0);
  CHECK(decode(DType::e4m3, 0x7e) == 448.0);
  CHECK(decode(DType::e4m3, 0x01) == std::ldexp(1.0, -9));
  CHECK(decode(DType::e4m3, 0xf8) == -256.0);
  CHECK(std::isnan(decode(DType::e4m3, 0x7f)));
  CHECK(std::isnan(decode(DType::e4m3, 0xff)));
  CHECK(decode(DType::e5m2, 0x3c) == 1.0);
  CHECK(decode(DType::e5m2, 0x7b) == 57344.0);
  CHECK(decode(DType::e5m2, 0x7c) == std::numeric_limits<double>::infinity());
  CHECK(decode(DType::int8, 0x80) == -128.0);
  CHECK(decode(DType::f32, 0x40490fdb) == doctest::Approx(3.14159265));
}

}  // namespace qrow
