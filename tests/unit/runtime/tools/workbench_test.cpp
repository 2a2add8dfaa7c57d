#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <limits>

#include "runtime/base/file.hpp"
#include "runtime/tools/workbench_cases.hpp"
#include "runtime/tools/workbench_compare.hpp"
#include "runtime/tools/workbench_peers.hpp"
#include "runtime/tools/workbench_timing.hpp"

namespace qrow {

TEST_CASE("case words need no quotes: each word with heads= begins a case") {
  const std::vector<Case> cases =
      cases_from({"heads=64/8", "rows=4", "heads=8/1 batch=2", "len=7"}, {});
  REQUIRE(cases.size() == 2);
  CHECK(format_case(cases[0]) == "heads=64/8 rows=4");
  CHECK(format_case(cases[1]) == "heads=8/1 batch=2 len=7");
}

TEST_CASE("a command line without a case says how to write one") {
  CHECK_THROWS_WITH_AS(cases_from({}, {}), doctest::Contains("no case was given"), Error);
  CHECK_THROWS_AS(cases_from({"rows=4"}, {}), Error);
}

TEST_CASE("a case that is to run needs a batch and lengths") {
  CHECK_THROWS_WITH_AS(require_workloads(cases_from({"heads=8/1"}, {})),
                       doctest::Contains("add batch="), Error);
  CHECK_NOTHROW(require_workloads(cases_from({"heads=8/1 batch=1 len=0"}, {})));
}

TEST_CASE("a single length counts for every request") {
  CHECK(expand_lens(parse_case("heads=8/1 batch=3 len=7")) == std::vector<int>{7, 7, 7});
  CHECK(expand_lens(parse_case("heads=8/1 batch=3 len=7,2x1")) == std::vector<int>{7, 1, 1});
}

TEST_CASE("rotating sets together exceed twice L2, whatever one set weighs") {
  constexpr long long kL2 = 50 << 20;
  for (const long long bytes : {20ll << 20, 64ll << 20, 500ll << 20}) {
    const int sets = num_rotating_sets(bytes, kL2);
    CHECK(sets >= 2);
    CHECK(sets * bytes > 2 * kL2);
    CHECK(calls_per_graph(sets) >= kCallsPerGraph);
    CHECK(calls_per_graph(sets) % sets == 0);
  }
  CHECK(num_rotating_sets(700ll << 20, kL2) == 1);
  CHECK(num_rotating_sets(0, kL2) == 64);
}

TEST_CASE("the verdict names what is above its limit, and NaN is above every limit") {
  const ErrorLimits f16_maths = error_limits(parse_case("heads=8/1 kv=e4m3 out=f32").spec);
  CHECK(f16_maths.err == 5e-4);
  CHECK(f16_maths.err_row == doctest::Approx(2e-3));
  CHECK(error_limits(parse_case("heads=8/1 out=f32").spec).err == 2e-3);
  CHECK(error_limits(parse_case("heads=8/1").spec).err > 2e-3);

  Comparison good;
  good.err = 1e-4;
  good.err_row = 1e-3;
  CHECK(judge(good, f16_maths) == "");
  Comparison bad = good;
  bad.err = 6e-4;
  CHECK(judge(bad, f16_maths).find("err 6.00e-04") == 0);
  bad = good;
  bad.err_row = 1;
  bad.worst_row = 3;
  CHECK(judge(bad, f16_maths).find("row 3") != std::string::npos);
  bad = good;
  bad.err_lse = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(bad, f16_maths).find("LSE") == 0);
  bad = good;
  bad.err = std::numeric_limits<double>::quiet_NaN();
  CHECK(judge(bad, f16_maths) != "");
}

TEST_CASE("peers' rows are read in canonical form, rows with unknown words are left out") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("qrow-peers-{}.json", ::getpid());
  write_file(
      path.string(),
      R"([{"case": "batch=2 heads=8/1 len=7", "method": "other 1.0", "us": 12.5, "gbps": null},
                                {"case": "heads=8/1 future=1", "method": "other 1.0", "us": 1}])");
  const std::vector<PeerTiming> peers = read_peers(path.string());
  REQUIRE(peers.size() == 1);
  CHECK(peers[0].case_line == "heads=8/1 batch=2 len=7");
  CHECK(peers[0].us == 12.5);
  write_file(path.string(), R"([{"case": "heads=8/1", "us": 1}])");
  CHECK_THROWS_WITH_AS(read_peers(path.string()), doctest::Contains("row 0 lacks"), Error);
  write_file(path.string(), "{}");
  CHECK_THROWS_AS(read_peers(path.string()), Error);
  std::filesystem::remove(path);
}

}  // namespace qrow
