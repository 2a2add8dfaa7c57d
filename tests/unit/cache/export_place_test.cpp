// What may lie where an export is written.
#include "cache/export.hpp"

#include <doctest/doctest.h>

#include "runtime/base/error.hpp"
#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

TEST_CASE("an export or merge never destroys what is no qrow file") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  export_cache(*store, folder.file("seed"), {});
  const std::string text = "notes of a person\n", real = folder.file("text");
  write_bytes(real, text);
  write_bytes(folder.file("short"), "x");
  {
    std::string foreign = bytes_of(folder.file("seed"));
    foreign[68] = 'f';  // application_id
    write_bytes(folder.file("foreign"), foreign);
  }
  std::filesystem::create_directory(folder.file("folder.d"));
  std::filesystem::create_symlink(real, folder.file("link"));
  std::filesystem::create_symlink(folder.file("nowhere"), folder.file("dangling"));
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  const std::string foreign = bytes_of(folder.file("foreign"));

  const std::pair<const char*, const char*> expected[] = {{"text", "no cache or export of qrow"},
                                                          {"short", "no cache or export of qrow"},
                                                          {"foreign", "no cache or export of qrow"},
                                                          {"folder.d", "it is a folder"},
                                                          {"link", "no cache or export of qrow"},
                                                          {"dangling", "symbolic link"},
                                                          {"fifo", "not a regular file"}};
  for (const auto& [file, part] : expected) {
    const std::string name = folder.file(file);
    for (const std::string& error : {error_of([&] { export_cache(*store, name, {}); }),
                                     error_of([&] { merge_caches(name, {folder.file("seed")}); }),
                                     error_of([&] { check_export_place(name); })}) {
      CHECK_MESSAGE(contains(error, "cannot write '" + name + "'"), error);
      CHECK_MESSAGE(contains(error, part), error);
    }
  }
  CHECK(bytes_of(real) == text);
  CHECK(bytes_of(folder.file("short")) == "x");
  CHECK(bytes_of(folder.file("foreign")) == foreign);
  CHECK(std::filesystem::is_symlink(folder.file("dangling")));
  CHECK(std::filesystem::is_fifo(folder.file("fifo")));
  CHECK(contains(error_of([&] { export_cache(*store, "/dev/null", {}); }), "not a regular file"));
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("an export or merge replaces an empty file, a qrow file, and a qrow file behind a link") {
  const Folder folder;
  auto store = open_store(folder.file());
  REQUIRE(store->put(sample_row(1), nullptr));
  export_cache(*store, folder.file("seed"), {});
  const std::string whole = bytes_of(folder.file("seed"));
  std::string newer = whole;
  newer[63] = 9;  // user_version
  write_bytes(folder.file("empty"), "");
  write_bytes(folder.file("newer"), newer);
  write_bytes(folder.file("cut"), whole.substr(0, 5000));
  write_bytes(folder.file("real"), whole.substr(0, 5000));
  std::filesystem::create_symlink(folder.file("real"), folder.file("link"));
  for (const char* name : {"empty", "newer", "cut", "link"}) {
    export_cache(*store, folder.file(name), {});
    CHECK_MESSAGE(bytes_of(folder.file(name)) == whole, name);
    merge_caches(folder.file(name), {folder.file("seed")});
    CHECK_MESSAGE(bytes_of(folder.file(name)) == whole, name);
  }
  CHECK(std::filesystem::is_symlink(folder.file("link")));
  CHECK(bytes_of(folder.file("real")) == whole);
}

TEST_CASE("a merge of nothing is refused and writes nothing") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(merge_caches(folder.file("out"), {}), doctest::Contains("at least one file"),
                       Error);
  CHECK_FALSE(std::filesystem::exists(folder.file("out")));
}
