// The tuning table: its SQL and the checksum of a row, as far as whole files are copied and
// checked. Private to cache/. Functions without state; they throw sqlite::Failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/sqlite.hpp"
#include "runtime/base/hash.hpp"

namespace qrow {

// The columns of schema.sql, where each is explained.
struct TuningRow {
  std::string spec;
  std::int64_t bucket_batch = 0, bucket_kv_len = 0, bucket_rows = 0;
  std::int64_t device_cc = 0, device_sms = 0, device_sm_khz = 0, device_memory_khz = 0,
               device_bus_bits = 0, device_l2_bytes = 0, device_mig = 0;
  std::string device_name;
  std::string family;
  std::int64_t tuning_version = 0;
  std::string tuning;
  double time_us = 0;
  std::int64_t samples = 0;
  std::string nvrtc_build;
  Digest template_digest;
  std::int64_t created_unix = 0;
};

struct StoredTuning {
  std::int64_t rowid = 0;
  TuningRow row;
  Digest checksum;
  std::string damage;  // "" for a sound row, else what is wrong with it
};

// Persisted. Over every column.
Digest tuning_checksum(const TuningRow& row);

// Checked, in the order of the primary key.
std::vector<StoredTuning> all_tunings(sqlite::Database& database);
// In an open transaction. Of two records of one pick the one with more samples stays, then the
// newer, then the one with the greater checksum: the order in which files are merged does not
// matter.
void merge_tuning(sqlite::Database& database, const TuningRow& row);
void delete_tuning(sqlite::Database& database, std::int64_t rowid);

}  // namespace qrow
