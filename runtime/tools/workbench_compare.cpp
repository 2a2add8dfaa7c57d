#include "runtime/tools/workbench_compare.hpp"

#include <cmath>
#include <limits>

#include "templates/common/dtype.cuh"
#include "templates/families.hpp"
#include "templates/reference/params.cuh"

namespace qrow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ReferenceParams reference_params(const Spec& spec, const qrow_args& args) {
  ReferenceParams p{};
  DecodeParams& call = p.call;
  call.q = args.q;
  call.q_row_stride = args.q_row_stride;
  call.q_head_stride = args.q_head_stride;
  call.k = args.k;
  call.k_page_stride = args.k_page_stride;
  call.k_token_stride = args.k_token_stride;
  call.k_head_stride = args.k_head_stride;
  call.v = args.v;
  call.v_page_stride = args.v_page_stride;
  call.v_token_stride = args.v_token_stride;
  call.v_head_stride = args.v_head_stride;
  call.kv_lens = args.kv_lens;
  call.page_table = args.page_table;
  call.v_page_table = args.v_page_table ? args.v_page_table : args.page_table;
  call.page_table_stride = args.page_table_stride;
  call.k_scale = args.k_scale;
  call.v_scale = args.v_scale;
  call.k_scale_head_stride = spec.scale == Scale::head ? args.k_scale_head_stride : 0;
  call.v_scale_head_stride = spec.scale == Scale::head ? args.v_scale_head_stride : 0;
  call.softmax_scale = args.softmax_scale != 0 ? args.softmax_scale
                                               : static_cast<float>(1.0 / std::sqrt(spec.head_dim));
  call.batch = args.batch;
  call.rows = args.rows != 0 ? args.rows : spec.max_rows;
  call.num_kv_heads = spec.num_kv_heads;
  call.max_kv_len = static_cast<int>(args.max_kv_len);
  call.out_head_stride =
      static_cast<long long>(spec.head_dim_v) * static_cast<long long>(sizeof(double));
  call.out_row_stride = call.out_head_stride * spec.num_q_heads;
  call.lse_head_stride = sizeof(float);
  call.lse_row_stride = call.lse_head_stride * spec.num_q_heads;
  p.group_size = spec.group();
  p.page_size = spec.page_size;
  p.causal = spec.mask == Mask::causal;
  p.lse_base_2 = spec.lse == Lse::base_2;
  return p;
}

// Squared difference and squared size of one row; infinite difference where the kind of a value is
// wrong: a row that is NaN or zero by definition must be so exactly.
struct RowSums {
  double difference = 0;
  double size = 0;
};
RowSums compare_row(const double* found, const double* wanted, int count) {
  RowSums sums;
  for (int i = 0; i < count; ++i) {
    if (std::isnan(wanted[i])) {
      if (!std::isnan(found[i])) sums.difference = kInfinity;
    } else if (!std::isfinite(found[i])) {
      sums.difference = kInfinity;
    } else {
      sums.difference += (found[i] - wanted[i]) * (found[i] - wanted[i]);
      sums.size += wanted[i] * wanted[i];
    }
  }
  if (sums.size == 0 && sums.difference > 0) sums.difference = kInfinity;
  return sums;
}

std::vector<double> download_output(const CaseData& data) {
  std::vector<unsigned char> bytes(data.out().size());
  data.out().read(bytes.data(), bytes.size());
  const int dtype = data.description().spec.out_dtype;
  const std::size_t width = static_cast<std::size_t>(size_of(static_cast<DType>(dtype)));
  std::vector<double> values(bytes.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = stored_number(bytes.data() + i * width, dtype);
  return values;
}

double lse_difference(double found, double wanted) {
  if (std::isnan(wanted)) return std::isnan(found) ? 0 : kInfinity;
  if (std::isinf(wanted)) return found == wanted ? 0 : kInfinity;
  return std::isnan(found) ? kInfinity : std::abs(found - wanted);
}

double compare_lse(const CaseData& data, const std::vector<float>& wanted) {
  std::vector<float> found(wanted.size());
  data.lse().read(found.data(), found.size() * sizeof(float));
  const double to_natural = data.description().spec.lse == Lse::base_2 ? std::log(2.0) : 1.0;
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, lse_difference(found[i], wanted[i]) * to_natural);
  }
  return worst;
}

}  // namespace

ErrorLimits error_limits(const Spec& spec) {
  const bool bf16_weights = static_cast<DType>(spec.kv_dtype) == DType::bf16;
  const DType out = static_cast<DType>(spec.out_dtype);
  ErrorLimits limits;
  limits.err = bf16_weights ? 2e-3 : 5e-4;
  limits.err += out == DType::bf16 ? 2e-3 : out == DType::f16 ? 3e-4 : 0;
  limits.err_row = 4 * limits.err;
  limits.err_lse = 2e-3;
  return limits;
}

std::string judge(const Comparison& c, const ErrorLimits& limits) {
  // Negated, so that a NaN fails.
  if (!(c.err <= limits.err))
    return fmt::format("err {:.2e} is above the limit {:.1e}", c.err, limits.err);
  if (!(c.err_row <= limits.err_row)) {
    return fmt::format("err_row {:.2e} (row {}, head {}) is above the limit {:.1e}", c.err_row,
                       c.worst_row, c.worst_head, limits.err_row);
  }
  if (!(c.err_lse <= limits.err_lse))
    return fmt::format("LSE is off by {:.2e}, the limit is {:.1e}", c.err_lse, limits.err_lse);
  return "";
}

ReferenceResult compute_reference(WorkbenchDevice& device, const Spec& spec,
                                  const qrow_args& args) {
  const Family& family = *family_by_name("reference");
  const Support support = family.supports(spec, device.arch());
  if (!support)
    fail(Status::unsupported, "the reference kernel cannot check this case: {}", support.reason);

  ReferenceParams params = reference_params(spec, args);
  const std::size_t num_rows = static_cast<std::size_t>(params.call.batch) *
                               static_cast<std::size_t>(params.call.rows) *
                               static_cast<std::size_t>(spec.num_q_heads);
  ReferenceResult result;
  result.out.resize(num_rows * static_cast<std::size_t>(spec.head_dim_v));
  if (spec.lse != Lse::off) result.lse.resize(num_rows);
  DeviceBuffer out(device.driver(), result.out.size() * sizeof(double));
  DeviceBuffer lse(device.driver(), result.lse.size() * sizeof(float));
  params.call.out = out.as();
  params.call.lse = lse.as<float>();
  const Bucket bucket{};
  device.launch(
      family.variant(spec, family.default_tuning(spec, device.arch(), bucket), device.arch()),
      static_cast<unsigned>(num_rows), &params);
  device.synchronize();
  out.read(result.out.data(), out.size());
  if (!result.lse.empty()) lse.read(result.lse.data(), lse.size());
  return result;
}

Comparison compare(WorkbenchDevice& device, const CaseData& data,
                   const ReferenceResult& reference) {
  device.synchronize();
  const Spec& spec = data.description().spec;
  const std::vector<double> found = download_output(data);

  Comparison result;
  RowSums total;
  const std::size_t dim = static_cast<std::size_t>(spec.head_dim_v);
  for (std::size_t row = 0; row < reference.out.size() / dim; ++row) {
    const RowSums sums =
        compare_row(found.data() + row * dim, reference.out.data() + row * dim, spec.head_dim_v);
    total.difference += sums.difference;
    total.size += sums.size;
    const double err_row = sums.difference == 0 ? 0 : std::sqrt(sums.difference / sums.size);
    if (!(err_row <= result.err_row)) {
      result.err_row = err_row;
      result.worst_row = static_cast<long long>(row) / spec.num_q_heads;
      result.worst_head = static_cast<int>(row % static_cast<std::size_t>(spec.num_q_heads));
    }
  }
  result.err = total.difference == 0 ? 0 : std::sqrt(total.difference / total.size);
  if (!reference.lse.empty()) result.err_lse = compare_lse(data, reference.lse);
  return result;
}

}  // namespace qrow
