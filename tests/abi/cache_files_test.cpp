// The operations on whole cache files: a path that is wrong stays as it is and is named.
#include <doctest/doctest.h>
#include <qrow/qrow.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/temporary_folder.hpp"

namespace {

bool said(const std::string& part) {
  const bool found = std::string(qrow_last_error()).find(part) != std::string::npos;
  if (!found) MESSAGE(std::string(qrow_last_error()));
  return found;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// An empty cache and its export.
void make_files(const qrow::TemporaryFolder& folder) {
  std::ofstream(folder.file("empty"));
  REQUIRE(qrow_cache_clear(folder.file("empty").c_str(), nullptr) == QROW_STATUS_OK);
  REQUIRE(qrow_cache_export(folder.file("empty").c_str(), folder.file("seed").c_str(), nullptr,
                            nullptr) == QROW_STATUS_OK);
}

}  // namespace

TEST_CASE("a cache that is not there is an error of verify, clear and export, and is not made") {
  const qrow::TemporaryFolder folder;
  const std::string missing = folder.file("missing"), out = folder.file("out");
  CHECK(qrow_cache_verify(missing.c_str(), 0, nullptr) == QROW_STATUS_CACHE);
  CHECK(said("there is no cache file '" + missing + "'"));
  CHECK(qrow_cache_verify(missing.c_str(), 1, nullptr) == QROW_STATUS_CACHE);
  CHECK(qrow_cache_clear(missing.c_str(), nullptr) == QROW_STATUS_CACHE);
  CHECK(qrow_cache_export(missing.c_str(), out.c_str(), nullptr, nullptr) == QROW_STATUS_CACHE);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a file that never was a cache is neither used nor set aside as a damaged one") {
  const qrow::TemporaryFolder folder;
  make_files(folder);
  const std::string text = folder.file("text"), seed = folder.file("seed");
  std::ofstream(text) << "notes of a person, longer than the header of a database would be, "
                         "which is a hundred bytes";
  const std::string before = content_of(text);
  CHECK(qrow_cache_verify(text.c_str(), 0, nullptr) == QROW_STATUS_CACHE);
  CHECK(said("'" + text + "' is no qrow cache"));
  CHECK(qrow_cache_clear(text.c_str(), nullptr) == QROW_STATUS_CACHE);
  CHECK(qrow_cache_import(text.c_str(), seed.c_str(), nullptr) == QROW_STATUS_CACHE);
  CHECK(qrow_cache_export(text.c_str(), seed.c_str(), nullptr, nullptr) == QROW_STATUS_CACHE);
  CHECK(content_of(text) == before);
  CHECK_FALSE(std::filesystem::exists(text + ".locks"));
}

TEST_CASE("an export or merge replaces a qrow file and refuses any other") {
  const qrow::TemporaryFolder folder;
  make_files(folder);
  const std::string cache = folder.file("empty"), seed = folder.file("seed"),
                    text = folder.file("text");
  std::ofstream(text) << "notes";
  const char* files[] = {seed.c_str()};
  CHECK(qrow_cache_export(cache.c_str(), seed.c_str(), nullptr, nullptr) == QROW_STATUS_OK);
  CHECK(qrow_cache_export(cache.c_str(), text.c_str(), nullptr, nullptr) == QROW_STATUS_CACHE);
  CHECK(said("cannot write '" + text + "'"));
  CHECK(qrow_cache_merge(text.c_str(), files, 1, nullptr) == QROW_STATUS_CACHE);
  CHECK(content_of(text) == "notes");
  CHECK(qrow_cache_merge(folder.file("out").c_str(), files, 0, nullptr) ==
        QROW_STATUS_INVALID_ARGUMENT);
  CHECK(said("at least one file"));
}
