#include "runtime/base/dynlib.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace qrow {

TEST_CASE("A library is loaded by name, knows its path and gives its symbols") {
  std::string error;
  DynLib library = DynLib::open("libm.so.6", &error);
  REQUIRE_MESSAGE(library, error);
  CHECK(library.symbol("cos") != nullptr);
  CHECK(library.symbol("qrow_no_such_function") == nullptr);
  CHECK(library.path().starts_with("/"));
  CHECK(library.path().find("libm.so.6") != std::string::npos);
}

TEST_CASE("A library that cannot be loaded gives nothing and a reason") {
  std::string error;
  DynLib library = DynLib::open("libqrow_no_such_library.so", &error);
  CHECK_FALSE(library);
  CHECK(error.find("libqrow_no_such_library.so") != std::string::npos);
  CHECK(library.symbol("anything") == nullptr);
  CHECK(library.path().empty());
  CHECK_FALSE(DynLib::open("libqrow_no_such_library.so", nullptr));
}

TEST_CASE("A library has one owner, which can be moved") {
  DynLib first = DynLib::open("libm.so.6", nullptr);
  DynLib second = std::move(first);
  CHECK(second);
  DynLib third;
  third = std::move(second);
  CHECK(third.symbol("sin") != nullptr);
}

}  // namespace qrow
