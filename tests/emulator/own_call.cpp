#include "tests/emulator/own_call.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr unsigned char kUntouched = 0xff;  // NaN in every type
constexpr std::size_t kMostSearched = 1 << 20;

int bytes_of(int dtype) { return size_of(static_cast<DType>(dtype)); }

std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;  // splitmix64
  std::uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void fill_row(char* row, int count, int dtype, std::uint64_t& state) {
  for (int i = 0; i < count; ++i) {
    const unsigned bits = OwnCall::random_bits(dtype, state);
    std::memcpy(row + i * bytes_of(dtype), &bits, static_cast<std::size_t>(bytes_of(dtype)));
  }
}

}  // namespace

unsigned OwnCall::random_bits(int dtype, std::uint64_t& state) {
  const auto random = static_cast<unsigned>(next_random(state) >> 32);
  const unsigned sign = random & 1, mantissa = random >> 8, step = random >> 1 & 3;
  const unsigned below = step == 3 ? 0 : step;  // binades below [1, 2)
  switch (static_cast<DType>(dtype)) {
    case DType::bf16:
      return sign << 15 | (127 - below) << 7 | (mantissa & 0x7f);
    case DType::f16:
      return sign << 15 | (15 - below) << 10 | (mantissa & 0x3ff);
    case DType::e4m3:
      return sign << 7 | (7 - below) << 3 | (mantissa & 7);
    default:
      fail(Status::internal, "no random element of dtype {}", dtype);
  }
}

OwnCall::OwnCall(Emulated& device, const std::string& line)
    : lens(expand_lens(parse_case(line))), gpu_(device.gpu()), case_(parse_case(line)) {
  device.build({case_});
  const Spec& spec = case_.spec;
  const std::int64_t row = spec.head_dim * bytes_of(spec.kv_dtype);
  args.struct_size = sizeof args;
  args.batch = case_.batch;
  args.rows = spec.max_rows;
  args.max_kv_len = std::max(1, *std::max_element(lens.begin(), lens.end()));
  args.k_head_stride = row;
  args.k_token_stride = spec.num_kv_heads * args.k_head_stride + 16;
  args.k_page_stride = spec.page_size * args.k_token_stride + 32;
  args.v_head_stride = row + 16;
  args.v_token_stride = spec.num_kv_heads * args.v_head_stride;
  args.v_page_stride = spec.page_size * args.v_token_stride + 48;
  args.q_head_stride = spec.head_dim * bytes_of(spec.q_dtype) + 16;
  args.q_row_stride = spec.num_q_heads * args.q_head_stride + 32;
  args.out_head_stride = spec.head_dim * bytes_of(spec.out_dtype) + 32;
  args.out_row_stride = spec.num_q_heads * args.out_head_stride + 16;
  args.lse_head_stride = 8;
  args.lse_row_stride = spec.num_q_heads * args.lse_head_stride + 4;
  for (int i = 0; i < case_.batch; ++i) widest_ = std::max(widest_, pages_of(i));
  args.page_table_stride = widest_;
  // Requests take their pages from the pool's end.
  table.assign(static_cast<std::size_t>(case_.batch * widest_), -1);
  for (int i = 0; i < case_.batch; ++i) args.num_pages += pages_of(i);
  int next = static_cast<int>(args.num_pages);
  for (int i = 0; i < case_.batch; ++i)
    for (int page = 0; page < pages_of(i); ++page)
      table[static_cast<std::size_t>(i * widest_ + page)] = --next;
}

int OwnCall::pages_of(int request) const {
  return (lens[static_cast<std::size_t>(request)] + case_.spec.page_size - 1) /
         case_.spec.page_size;
}

void OwnCall::give_v_its_own_table() {
  v_table = table;
  for (int& page : v_table)
    if (page >= 0) page = static_cast<int>((page * 5LL + 1) % args.num_pages);
}

DeviceBuffer OwnCall::upload(const void* data, std::size_t bytes, std::size_t size) {
  DeviceBuffer buffer(gpu_.device.driver(), size);
  if (bytes > 0) buffer.write(data, bytes);
  return buffer;
}

void OwnCall::fill_pool(DeviceBuffer& buffer, const Pool& strides, const std::vector<int>& pages) {
  const Spec& spec = case_.spec;
  const int row = spec.head_dim * bytes_of(spec.kv_dtype);
  buffer = DeviceBuffer(gpu_.device.driver(),
                        static_cast<std::size_t>((args.num_pages - 1) * strides.page +
                                                 (spec.page_size - 1) * strides.token +
                                                 (spec.num_kv_heads - 1) * strides.head + row));
  std::uint64_t state = buffer.size();
  for (int request = 0; request < args.batch; ++request) {
    const int len = lens[static_cast<std::size_t>(request)];
    for (int token = 0; token < pages_of(request) * spec.page_size; ++token) {
      const long long page =
          pages[static_cast<std::size_t>(request * widest_ + token / spec.page_size)];
      for (int head = 0; head < spec.num_kv_heads; ++head) {
        char* at = buffer.as<char>() + page * strides.page +
                   token % spec.page_size * strides.token + head * strides.head;
        if (token < len) {
          fill_row(at, spec.head_dim, spec.kv_dtype, state);
        } else {
          std::memset(at, kUntouched, static_cast<std::size_t>(row));
        }
      }
    }
  }
}

void OwnCall::allocate() {
  const Spec& spec = case_.spec;
  const Driver& driver = gpu_.device.driver();
  const auto whole = [&](std::int64_t row_stride, std::int64_t head_stride, int last) {
    return static_cast<std::size_t>((rows() - 1) * row_stride +
                                    (spec.num_q_heads - 1) * head_stride + last);
  };
  q_ = DeviceBuffer(
      driver, whole(args.q_row_stride, args.q_head_stride, spec.head_dim * bytes_of(spec.q_dtype)));
  args.q = q_.as();
  std::uint64_t state = 1;
  for (long long row = 0; row < rows(); ++row)
    for (int head = 0; head < spec.num_q_heads; ++head)
      fill_row(q(row, head), spec.head_dim, spec.q_dtype, state);
  fill_pool(k_, {args.k_page_stride, args.k_token_stride, args.k_head_stride}, table);
  fill_pool(v_, {args.v_page_stride, args.v_token_stride, args.v_head_stride},
            v_table.empty() ? table : v_table);
  args.k = k_.as();
  args.v = v_.as();
  out_ = DeviceBuffer(driver, whole(args.out_row_stride, args.out_head_stride,
                                    spec.head_dim * bytes_of(spec.out_dtype)));
  args.out = out_.as();
  if (spec.lse != Lse::off) {
    lse_ = DeviceBuffer(driver, whole(args.lse_row_stride, args.lse_head_stride, 4));
    args.lse = lse_.as<float>();
  } else {
    args.lse_row_stride = args.lse_head_stride = 0;
  }
  lens_ = upload(lens.data(), lens.size() * 4, lens.size() * 4);
  args.kv_lens = lens_.as<const int>();
  const auto upload_table = [&](const std::vector<int>& entries) {
    const auto stride = static_cast<std::size_t>(args.page_table_stride);
    const auto width = static_cast<std::size_t>(widest_), count = lens.size();
    DeviceBuffer buffer(driver, ((count - 1) * stride + width) * 4);
    for (std::size_t i = 0; i < count; ++i)
      if (width > 0) buffer.write(&entries[i * width], width * 4, i * stride * 4);
    return buffer;
  };
  table_ = upload_table(table);
  args.page_table = table_.as<const int>();
  if (!v_table.empty()) v_table_ = upload_table(v_table);
  args.v_page_table = v_table_.as<const int>();
  status_ = DeviceBuffer(driver, 4);
  status_.fill(0);
  args.device_status = status_.as<int>();
  if (spec.scale == Scale::none) return;
  std::vector<float> k_scale, v_scale;
  for (int head = 0; head < spec.num_kv_heads; ++head) {
    k_scale.push_back(0.25f * static_cast<float>(1 + head));
    v_scale.push_back(3.0f / static_cast<float>(2 + head));
  }
  k_scale_ = upload(k_scale.data(), k_scale.size() * 4, k_scale.size() * 4);
  v_scale_ = upload(v_scale.data(), v_scale.size() * 4, v_scale.size() * 4);
  args.k_scale = k_scale_.as<const float>();
  args.v_scale = v_scale_.as<const float>();
  args.k_scale_head_stride = args.v_scale_head_stride = spec.scale == Scale::head ? 4 : 0;
}

char* OwnCall::q(long long row, int head) const {
  return q_.as<char>() + row * args.q_row_stride + head * args.q_head_stride;
}

char* OwnCall::out(long long row, int head) const {
  return out_.as<char>() + row * args.out_row_stride + head * args.out_head_stride;
}

void OwnCall::run() {
  const ApiPlan plan(gpu_.context, case_);
  const DeviceBuffer workspace = make_poisoned_workspace(
      gpu_.device.driver(), plan.workspace_bytes(args.batch, args.max_kv_len));
  if (out_.size() <= kMostSearched) out_.fill(kUntouched);
  if (lse_.size() > 0 && lse_.size() <= kMostSearched) lse_.fill(kUntouched);
  plan.run(args, workspace, gpu_.device.stream());
  gpu_.device.synchronize();
}

// Was a byte of the output written that belongs to no row?
bool OwnCall::has_padding_touched() const {
  if (out_.size() > kMostSearched) return false;
  std::vector<char> bytes(out_.as<char>(), out_.as<char>() + out_.size());
  const int width = case_.spec.head_dim * bytes_of(case_.spec.out_dtype);
  for (long long row = 0; row < rows(); ++row) {
    for (int head = 0; head < case_.spec.num_q_heads; ++head) {
      const auto at = static_cast<std::size_t>(out(row, head) - out_.as<char>());
      std::memset(&bytes[at], kUntouched, static_cast<std::size_t>(width));
    }
  }
  return std::ranges::any_of(bytes,
                             [](char c) { return static_cast<unsigned char>(c) != kUntouched; });
}

std::string OwnCall::compare_with_float64() const {
  const Spec& spec = case_.spec;
  const ReferenceResult wanted = host_reference(spec, args);
  const double unit = spec.lse == Lse::base_2 ? std::log(2.0) : 1.0;
  Comparison result;
  double difference = 0, size = 0;
  for (long long row = 0; row < rows(); ++row) {
    for (int head = 0; head < spec.num_q_heads; ++head) {
      const auto index = static_cast<std::size_t>(row * spec.num_q_heads + head);
      double row_difference = 0, row_size = 0;
      for (int d = 0; d < spec.head_dim; ++d) {
        const double right =
            wanted
                .out[index * static_cast<std::size_t>(spec.head_dim) + static_cast<std::size_t>(d)];
        const double found =
            stored_number(out(row, head) + d * bytes_of(spec.out_dtype), spec.out_dtype);
        if (std::isnan(right) && std::isnan(found)) continue;
        if (std::isnan(right) || !std::isfinite(found))
          row_difference = kInfinity;
        else
          row_difference += (found - right) * (found - right);
        row_size += right * right;
      }
      difference += row_difference;
      size += row_size;
      const double err = row_difference == 0 ? 0 : std::sqrt(row_difference / row_size);
      if (!(err <= result.err_row)) {
        result.err_row = err;
        result.worst_row = row;
        result.worst_head = head;
      }
      if (args.lse == nullptr) continue;
      float lse;
      std::memcpy(&lse, lse_.as<char>() + row * args.lse_row_stride + head * args.lse_head_stride,
                  4);
      const float right = wanted.lse[index];
      const bool same = lse == right || (std::isnan(lse) && std::isnan(right));
      const double off = std::abs(static_cast<double>(lse) - right) * unit;
      if (!same) result.err_lse = std::max(result.err_lse, std::isfinite(off) ? off : kInfinity);
    }
  }
  result.err = difference == 0 ? 0 : std::sqrt(difference / size);
  const std::string wrong = judge(result, error_limits(spec));
  return wrong == "" && has_padding_touched() ? "a byte between the output's rows was written"
                                              : wrong;
}

std::string OwnCall::check() {
  try {
    run();
    return compare_with_float64();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace qrow
