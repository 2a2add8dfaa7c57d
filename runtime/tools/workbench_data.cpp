#include "runtime/tools/workbench_data.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

constexpr unsigned char kNanByte = 0xff;  // NaN in every floating format of ours when repeated
constexpr float kKeyScale = 0.25f;
constexpr float kValueScale = 0.5f;

int element_bytes(int dtype) { return size_of(static_cast<DType>(dtype)); }

long long pages_of(long long tokens, int page_size) { return (tokens + page_size - 1) / page_size; }

void check_buildable(const Case& c) {
  if (c.layout != "nhd" && c.layout != "hnd") {
    fail(Status::unsupported, "layout={}: the workbench builds nhd and hnd", c.layout);
  }
  if (c.csr) fail(Status::unsupported, "table=csr: the workbench builds dense tables");
  if (!c.ragged.empty())
    fail(Status::unsupported, "ragged=: the workbench builds the same rows for every request");
  if (c.scale_inline)
    fail(Status::unsupported, "scale_at=inline: the workbench builds separate scales");
  if (c.spec.scale == Scale::token_head)
    fail(Status::unsupported, "scale=token_head: the workbench builds none, tensor and head");
  if (element_bytes(c.spec.q_dtype) != 2)
    fail(Status::unsupported, "q={}: the workbench builds bf16 and f16",
         dtype_word(c.spec.q_dtype));
  if (c.spec.mask == Mask::tree || c.spec.mask == Mask::limits) {
    fail(Status::unsupported, "mask: the workbench builds causal and none");
  }
  if (c.spec.sinks) fail(Status::unsupported, "sinks=on: the workbench has no sinks yet");
}

DeviceBuffer upload(const Driver& driver, const void* data, std::size_t bytes) {
  DeviceBuffer buffer(driver, bytes);
  if (bytes > 0) buffer.write(data, bytes);
  return buffer;
}

}  // namespace

std::vector<int> expand_lens(const Case& c) {
  std::vector<int> lens;
  for (const long long len : c.lens) lens.push_back(static_cast<int>(len));
  if (lens.size() == 1) lens.resize(static_cast<std::size_t>(c.batch), lens.front());
  return lens;
}

long long CaseData::pool_bytes(const Case& c) {
  long long pages = 1;
  for (const int len : expand_lens(c)) pages += pages_of(len, c.spec.page_size);
  return pages * c.spec.page_size * c.spec.num_kv_heads * (c.spec.head_dim + c.spec.head_dim_v) *
         element_bytes(c.spec.kv_dtype);
}

CaseData::CaseData(WorkbenchDevice& device, const Case& c, int num_sets)
    : device_(device), case_(c) {
  check_buildable(c);
  lens_ = expand_lens(c);
  const Spec& spec = c.spec;
  const long long out_elements = num_rows() * spec.num_q_heads * spec.head_dim_v;
  const long long needed =
      pool_bytes(c) * num_sets + out_elements * (element_bytes(spec.out_dtype) + 16);
  if (static_cast<std::size_t>(needed) > device.free_bytes()) {
    fail(Status::out_of_memory, "'{}' needs {} MB of device memory for {} KV sets, {} MB are free",
         format_case(c), needed >> 20, num_sets, device.free_bytes() >> 20);
  }
  make_table();
  make_scales();

  const Driver& driver = device.driver();
  const long long q_elements = num_rows() * spec.num_q_heads * spec.head_dim;
  q_ = DeviceBuffer(driver, static_cast<std::size_t>(q_elements * element_bytes(spec.q_dtype)));
  device.fill_normal(spec.q_dtype, q_.as(), static_cast<unsigned long long>(q_elements),
                     c.seed * 1000 + 1, 1.0f);
  out_ =
      DeviceBuffer(driver, static_cast<std::size_t>(out_elements * element_bytes(spec.out_dtype)));
  if (spec.lse != Lse::off) {
    lse_ = DeviceBuffer(driver,
                        static_cast<std::size_t>(num_rows() * spec.num_q_heads) * sizeof(float));
  }
  lens_buffer_ = upload(driver, lens_.data(), lens_.size() * sizeof(int));
  status_ = DeviceBuffer(driver, sizeof(int));
  status_.fill(0);
  for (int set = 0; set < num_sets; ++set) {
    sets_.emplace_back();
    fill_pools(sets_.back(), c.seed * 1000 + 10 + static_cast<unsigned long long>(set) * 2);
  }
  poison_output();
}

// Block 0 is nobody's: engines keep it as the null block, and it may hold NaN.
void CaseData::make_table() {
  const int page_size = case_.spec.page_size;
  num_pages_ = 1;
  long long widest = 0;
  for (const int len : lens_) {
    num_pages_ += pages_of(len, page_size);
    widest = std::max(widest, pages_of(len, page_size));
  }
  std::vector<int> pages(static_cast<std::size_t>(num_pages_ - 1));
  std::iota(pages.begin(), pages.end(), 1);
  std::mt19937_64 random(case_.seed);
  for (std::size_t i = pages.size(); i > 1; --i) std::swap(pages[i - 1], pages[random() % i]);

  table_width_ = widest + 3;  // a tail that every request leaves unused
  table_.assign(static_cast<std::size_t>(case_.batch * table_width_), -1);
  std::size_t next = 0;
  for (std::size_t request = 0; request < lens_.size(); ++request) {
    for (long long i = 0; i < pages_of(lens_[request], page_size); ++i) {
      table_[request * static_cast<std::size_t>(table_width_) + static_cast<std::size_t>(i)] =
          pages[next++];
    }
  }
  table_buffer_ = upload(device_.driver(), table_.data(), table_.size() * sizeof(int));
}

// Per head the scales differ by a quarter from head to head.
void CaseData::make_scales() {
  if (case_.spec.scale == Scale::none) return;
  const std::size_t count =
      case_.spec.scale == Scale::head ? static_cast<std::size_t>(case_.spec.num_kv_heads) : 1;
  std::vector<float> k_scale(count), v_scale(count);
  for (std::size_t head = 0; head < count; ++head) {
    k_scale[head] = kKeyScale * (1.0f - 0.125f * static_cast<float>(head % 3));
    v_scale[head] = kValueScale * (1.0f - 0.125f * static_cast<float>((head + 1) % 3));
  }
  k_scale_ = upload(device_.driver(), k_scale.data(), count * sizeof(float));
  v_scale_ = upload(device_.driver(), v_scale.data(), count * sizeof(float));
}

PoolStrides CaseData::strides_of(int head_dim) const {
  const long long row = static_cast<long long>(head_dim) * element_bytes(case_.spec.kv_dtype);
  const long long page_size = case_.spec.page_size;
  const long long heads = case_.spec.num_kv_heads;
  if (case_.layout == "hnd") return {heads * page_size * row, row, page_size * row};
  return {page_size * heads * row, heads * row, row};
}

// Block 0 and the slots after each request's last token.
std::vector<SyntheticRange> CaseData::dead_ranges(const PoolStrides& strides, int head_dim) const {
  const int page_size = case_.spec.page_size;
  std::vector<SyntheticRange> ranges{{0, static_cast<unsigned long long>(strides.page)}};
  for (std::size_t request = 0; request < lens_.size(); ++request) {
    const int used = lens_[request] % page_size;
    if (used == 0) continue;
    const long long last = lens_[request] / page_size;
    const long long page =
        table_[request * static_cast<std::size_t>(table_width_) + static_cast<std::size_t>(last)];
    const long long begin = page * strides.page + used * strides.token;
    if (case_.layout == "nhd") {
      ranges.push_back({static_cast<unsigned long long>(begin),
                        static_cast<unsigned long long>((page_size - used) * strides.token)});
      continue;
    }
    const long long row = static_cast<long long>(head_dim) * element_bytes(case_.spec.kv_dtype);
    for (int head = 0; head < case_.spec.num_kv_heads; ++head) {
      ranges.push_back({static_cast<unsigned long long>(begin + head * strides.head),
                        static_cast<unsigned long long>((page_size - used) * row)});
    }
  }
  return ranges;
}

void CaseData::fill_pools(Pools& pools, unsigned long long seed) {
  const Spec& spec = case_.spec;
  const bool scaled = spec.scale != Scale::none;
  struct Part {
    DeviceBuffer& buffer;
    int head_dim;
    float scale;
  };
  const Part parts[] = {{pools.k, spec.head_dim, scaled ? kKeyScale : 1.0f},
                        {pools.v, spec.head_dim_v, scaled ? kValueScale : 1.0f}};
  for (const Part& part : parts) {
    const PoolStrides strides = strides_of(part.head_dim);
    const long long bytes = num_pages_ * strides.page;
    part.buffer = DeviceBuffer(device_.driver(), static_cast<std::size_t>(bytes));
    device_.fill_normal(spec.kv_dtype, part.buffer.as(),
                        static_cast<unsigned long long>(bytes / element_bytes(spec.kv_dtype)),
                        seed++, 1.0f / part.scale);
    // int8 has no NaN: its largest value stands in.
    const bool has_nan = static_cast<DType>(spec.kv_dtype) != DType::int8;
    device_.fill_ranges(part.buffer.as(), dead_ranges(strides, part.head_dim),
                        has_nan ? kNanByte : 0x7f);
  }
}

qrow_args CaseData::args(int set) const {
  const Spec& spec = case_.spec;
  const Pools& pools = sets_.at(static_cast<std::size_t>(set));
  const PoolStrides k = strides_of(spec.head_dim);
  const PoolStrides v = strides_of(spec.head_dim_v);
  qrow_args a{};
  a.struct_size = sizeof a;
  a.batch = case_.batch;
  a.rows = spec.max_rows;
  a.max_kv_len = std::max(1, *std::max_element(lens_.begin(), lens_.end()));
  a.q = q_.as();
  a.q_head_stride = static_cast<std::int64_t>(spec.head_dim) * element_bytes(spec.q_dtype);
  a.q_row_stride = a.q_head_stride * spec.num_q_heads;
  a.k = pools.k.as();
  a.k_page_stride = k.page;
  a.k_token_stride = k.token;
  a.k_head_stride = k.head;
  a.v = pools.v.as();
  a.v_page_stride = v.page;
  a.v_token_stride = v.token;
  a.v_head_stride = v.head;
  a.num_pages = num_pages_;
  a.out = out_.as();
  a.out_head_stride = static_cast<std::int64_t>(spec.head_dim_v) * element_bytes(spec.out_dtype);
  a.out_row_stride = a.out_head_stride * spec.num_q_heads;
  a.kv_lens = lens_buffer_.as<const std::int32_t>();
  a.page_table = table_buffer_.as<const std::int32_t>();
  a.page_table_stride = table_width_;
  a.window = case_.window;
  a.softcap = static_cast<float>(case_.softcap);
  if (spec.scale != Scale::none) {
    a.k_scale = k_scale_.as<const float>();
    a.v_scale = v_scale_.as<const float>();
    a.k_scale_head_stride = a.v_scale_head_stride =
        spec.scale == Scale::head ? static_cast<std::int64_t>(sizeof(float)) : 0;
  }
  if (spec.lse != Lse::off) {
    a.lse = lse_.as<float>();
    a.lse_head_stride = sizeof(float);
    a.lse_row_stride = a.lse_head_stride * spec.num_q_heads;
  }
  a.device_status = status_.as<std::int32_t>();
  return a;
}

void CaseData::write_lens(const std::vector<int>& lens) {
  lens_buffer_.write(lens.data(), lens.size() * sizeof(int));
}

void CaseData::poison_output() {
  out_.fill(kNanByte);
  if (lse_.size() > 0) lse_.fill(kNanByte);
  device_.synchronize();
}

CaseData::HostCopy CaseData::download(int set) const {
  device_.synchronize();
  HostCopy copy;
  copy.args = args(set);
  copy.args.out = nullptr;
  copy.args.lse = nullptr;
  copy.args.device_status = nullptr;
  const auto fetch = [&](const auto*& pointer, const DeviceBuffer& buffer) {
    if (pointer == nullptr) return;
    std::vector<unsigned char>& bytes = copy.storage.emplace_back(buffer.size());
    buffer.read(bytes.data(), bytes.size());
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(bytes.data());
  };
  const Pools& pools = sets_.at(static_cast<std::size_t>(set));
  fetch(copy.args.q, q_);
  fetch(copy.args.k, pools.k);
  fetch(copy.args.v, pools.v);
  fetch(copy.args.kv_lens, lens_buffer_);
  fetch(copy.args.page_table, table_buffer_);
  fetch(copy.args.k_scale, k_scale_);
  fetch(copy.args.v_scale, v_scale_);
  return copy;
}

int CaseData::read_device_status() const {
  int status = 0;
  status_.read(&status, sizeof status);
  return status;
}

long long CaseData::bytes_per_call() const {
  const Spec& spec = case_.spec;
  const long long tokens = std::accumulate(lens_.begin(), lens_.end(), 0ll);
  const long long kv =
      tokens * spec.num_kv_heads * (spec.head_dim + spec.head_dim_v) * element_bytes(spec.kv_dtype);
  const long long rows = num_rows() * spec.num_q_heads;
  return kv + rows * (spec.head_dim * element_bytes(spec.q_dtype) +
                      spec.head_dim_v * element_bytes(spec.out_dtype));
}

}  // namespace qrow
