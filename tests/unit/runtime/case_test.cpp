#include "runtime/case.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "templates/common/dtype.cuh"

namespace qrow {
namespace {

std::string canonical(std::string_view line) { return format_case(parse_case(line)); }

// The text of the error that parsing `line` gives; "" if it parses.
std::string error_of(std::string_view line, Status status = Status::invalid_argument) {
  try {
    parse_case(line);
    return {};
  } catch (const Error& error) {
    CHECK(error.status() == status);
    return error.what();
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("a case needs only its heads and gets the documented defaults") {
  Case c = parse_case("heads=64/8");
  CHECK(c.spec.num_q_heads == 64);
  CHECK(c.spec.num_kv_heads == 8);
  CHECK(c.spec.head_dim == 128);
  CHECK(c.spec.head_dim_v == 128);
  CHECK(c.spec.max_rows == 1);
  CHECK(c.spec.page_size == 64);
  CHECK(c.spec.q_dtype == static_cast<int>(DType::bf16));
  CHECK(c.spec.kv_dtype == static_cast<int>(DType::bf16));
  CHECK(c.spec.out_dtype == static_cast<int>(DType::bf16));
  CHECK(c.spec.scale == Scale::none);
  CHECK_FALSE(c.has_workload());
  CHECK(c.seed == 1);
  CHECK(format_case(c) == "heads=64/8");
}

TEST_CASE("defaults that depend on another word follow it wherever it stands") {
  CHECK(parse_case("heads=8/1 q=f16").spec.kv_dtype == static_cast<int>(DType::f16));
  CHECK(parse_case("heads=8/1 q=e4m3").spec.kv_dtype == static_cast<int>(DType::e4m3));
  CHECK(parse_case("kv=e4m3 heads=8/1").spec.scale == Scale::tensor);
  CHECK(parse_case("kv=int8 heads=8/1 scale=none").spec.scale == Scale::none);
  CHECK(parse_case("heads=8/1 d=192/128").spec.head_dim_v == 128);
  CHECK(parse_case("heads=8/1 d=96").spec.head_dim_v == 96);
}

TEST_CASE("the canonical line has the documented order and leaves defaults out") {
  CHECK(canonical("len=2048 batch=128  kv=e4m3\tpage=64 rows=4 heads=64/8") ==
        "heads=64/8 rows=4 kv=e4m3 batch=128 len=2048");
  CHECK(canonical("q=f16 kv=f16 heads=8/8 d=128/128 scale=none table=dense seed=1 mask=causal "
                  "numerics=fast "
                  "maths=accurate scale_at=separate splits=auto tuning=auto layout=nhd window=off "
                  "softcap=off") == "heads=8/8 q=f16");
  CHECK(canonical("heads=8/8 kv=e4m3 scale=tensor") == "heads=8/8 kv=e4m3");
}

TEST_CASE("every word survives a round trip") {
  const char* lines[] = {
      "heads=64/4 d=192/128 rows=3 page=528 q=e4m3 kv=int8 out=f32 scale=token_head "
      "scale_at=inline mask=tree tree=chain "
      "window=4096 softcap=50 sinks=on lse=2 partial=on numerics=row_invariant batch=4 len=7,2x9,1 "
      "ragged=3,0,1,2 "
      "layout=hnd+interleaved+padded+fused_q table=csr splits=7 tuning=tile_tokens:32,maxnreg:168 "
      "seed=42",
      "heads=8/1 window=on softcap=on",
      "heads=8/1 softcap=0.5",
      "heads=8/1 batch=32 len=65536,31x4096",
  };
  for (const char* line : lines) {
    CHECK(canonical(line) == line);
    CHECK(parse_case(canonical(line)) == parse_case(line));
  }
}

TEST_CASE("lists expand, state the batch and collapse where all are equal") {
  Case c = parse_case("heads=8/1 len=65536,31x4096");
  CHECK(c.batch == 32);
  CHECK(c.lens.size() == 32);
  CHECK(c.max_len() == 65536);
  CHECK(canonical("heads=8/1 len=31x4096") == "heads=8/1 batch=31 len=4096");
  CHECK(canonical("heads=8/1 rows=2 batch=3 ragged=3x2") == "heads=8/1 rows=2 batch=3");
}

TEST_CASE("the layout is a set of words with one order") {
  Case c = parse_case("heads=8/1 layout=fused_q+padded+nhd");
  CHECK(c.layout == "padded+fused_q");
  CHECK(c.has_layout("padded"));
  CHECK_FALSE(c.has_layout("hnd"));
  CHECK(contains(error_of("heads=8/1 layout=nhd+hnd"), "layout=nhd+hnd"));
  CHECK(contains(error_of("heads=8/1 layout=packed+interleaved"), "legal is"));
}

TEST_CASE("a value beyond a limit is refused naming the limit") {
  const std::pair<const char*, const char*> beyond[] = {
      {"heads=5000/1", "from 1 to 4096"},
      {"heads=8/1 d=5000", "from 1 to 4096"},
      {"heads=8/1 rows=1025", "from 1 to 1024"},
      {"heads=8/1 page=16777217", "from 1 to 16777216"},
      {"heads=8/1 window=2147483648", "1 to 2147483647"},
      {"heads=8/1 softcap=2e6", "from 1e-6 to 1e6"},
      {"heads=8/1 softcap=-5", "from 1e-6 to 1e6"},
      {"heads=8/1 batch=1048577", "from 1 to 1048576"},
      {"heads=8/1 len=2147483648", "from 0 to 2147483647"},
      {"heads=8/1 len=1048577x1", "at most 1048576"},
      {"heads=8/1 ragged=1025", "from 0 to 1024"},
      {"heads=8/1 splits=65536", "from 1 to 65535"},
      {"heads=8/1 tuning=num_stages:2000000000", "0 to 1073741824"},
      {"heads=8/1 seed=18446744073709551616", "0 to 18446744073709551615"}};
  for (const auto& [line, limit] : beyond)
    CHECK_MESSAGE(contains(error_of(line), limit), error_of(line));
}

TEST_CASE("a bad word is named together with what is legal") {
  CHECK(contains(error_of(""), "heads="));
  CHECK(contains(error_of("rows=4"), "heads=64/8"));
  CHECK(
      contains(error_of("heads=8/1 colour=red"), "'colour' is unknown: legal are heads, d, rows"));
  CHECK(contains(error_of("heads=8/1 rows"), "'rows' has no value"));
  CHECK(contains(error_of("heads=8/1 rows=2 rows=2"), "given twice"));
  CHECK(contains(error_of("heads=63/8"), "multiple"));
  CHECK(contains(error_of("heads=64"), "heads=64: legal is"));
  CHECK(contains(error_of("heads=64/0"), "heads=64/0"));
  CHECK(contains(error_of("heads=8/1 kv=fp8"), "kv=fp8: legal is bf16, f16, e4m3, e5m2, int8"));
  CHECK(contains(error_of("heads=8/1 rows=0"), "rows=0"));
  CHECK(contains(error_of("heads=8/1 page=-1"), "page=-1"));
  CHECK(contains(error_of("heads=8/1 page=16tokens"), "page=16tokens"));
  CHECK(contains(error_of("heads=8/1 window=0"), "window=0"));
  CHECK(contains(error_of("heads=8/1 softcap=nan"), "softcap=nan"));
  CHECK(contains(error_of("heads=8/1 batch=2 len=3x5"), "the list is for 3 requests, batch=2"));
  CHECK(contains(error_of("heads=8/1 len=99999999999x1"), "len="));
  CHECK(contains(error_of("heads=8/1 tuning=fast"), "axis:number"));
  CHECK(contains(error_of("heads=8/1 tree=chain"), "mask=tree"));
  CHECK(contains(error_of("heads=8/1 scale_at=inline"), "no scale"));
  CHECK(contains(error_of("heads=8/1 family=none_such"), "legal is auto"));
  CHECK(contains(error_of("heads=8/1 maths=fp8", Status::unsupported), "reserved"));
}

TEST_CASE("a spec filled in by hand is checked field by field") {
  Spec spec = parse_case("heads=8/2").spec;
  CHECK_NOTHROW(check_spec(spec));
  auto refuses = [&](int Spec::*field, int value) {
    Spec bad = spec;
    bad.*field = value;
    CHECK_THROWS_AS(check_spec(bad), Error);
  };
  refuses(&Spec::num_q_heads, 0);
  refuses(&Spec::num_q_heads, 7);
  refuses(&Spec::num_kv_heads, -2);
  refuses(&Spec::head_dim, 0);
  refuses(&Spec::head_dim_v, 5000);
  refuses(&Spec::max_rows, 0);
  refuses(&Spec::page_size, 0);
  refuses(&Spec::q_dtype, static_cast<int>(DType::f32));
  refuses(&Spec::kv_dtype, 9);
  refuses(&Spec::out_dtype, 0);
  refuses(&Spec::window, 2);
  refuses(&Spec::partial, -1);
  CHECK(format_spec(spec) == "heads=8/2");
}

TEST_CASE("a case file takes comments and names the line of a mistake") {
  std::string path = "/tmp/qrow_case_test_" + std::to_string(getpid()) + ".case";
  std::ofstream(path) << "# comment\n\nheads=8/1 rows=2  # trailing\r\n  heads=64/8\n";
  std::vector<Case> cases = read_case_file(path);
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].spec.max_rows == 2);
  std::ofstream(path) << "heads=8/1\nheads=8/1 rows=x\n";
  std::string message;
  try {
    read_case_file(path);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(contains(message, path + ":2: rows=x"));
  std::remove(path.c_str());
  CHECK_THROWS_AS(read_case_file(path), Error);
}

}  // namespace
}  // namespace qrow
