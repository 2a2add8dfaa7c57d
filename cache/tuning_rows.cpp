#include "cache/tuning_rows.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/checksum.hpp"
#include "cache/digest_bytes.hpp"

namespace qrow {
namespace {

// In the order that read_tuning() reads and merge_tuning() binds; the checksum follows.
#define QROW_TUNING_COLUMNS                                                                \
  "spec, bucket_batch, bucket_kv_len, bucket_rows, device_cc, device_sms, device_sm_khz, " \
  "device_memory_khz, device_bus_bits, device_l2_bytes, device_mig, device_name, family, " \
  "tuning_version, tuning, time_us, samples, nvrtc_build, template_digest, created_unix, "

constexpr auto kSelectAll =
    "SELECT rowid, " QROW_TUNING_COLUMNS
    "checksum FROM tuning ORDER BY spec, bucket_batch, bucket_kv_len, bucket_rows, device_cc, "
    "device_sms, device_sm_khz, device_memory_khz, device_bus_bits, device_l2_bytes, device_mig";
constexpr auto kMerge =
    "INSERT INTO tuning (" QROW_TUNING_COLUMNS
    "checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, "
    "?18, ?19, ?20, ?21) "
    "ON CONFLICT DO UPDATE SET device_name = excluded.device_name, family = excluded.family, "
    "tuning_version = excluded.tuning_version, tuning = excluded.tuning, time_us = "
    "excluded.time_us, "
    "samples = excluded.samples, nvrtc_build = excluded.nvrtc_build, template_digest = "
    "excluded.template_digest, "
    "created_unix = excluded.created_unix, checksum = excluded.checksum "
    "WHERE (excluded.samples, excluded.created_unix, excluded.checksum) > (samples, created_unix, "
    "checksum)";
constexpr auto kDelete = "DELETE FROM tuning WHERE rowid = ?1";
#undef QROW_TUNING_COLUMNS

StoredTuning read_tuning(const sqlite::Cursor& cursor) {
  StoredTuning stored;
  TuningRow& row = stored.row;
  int column = 0;
  stored.rowid = cursor.integer(column++);
  row.spec = cursor.text(column++);
  for (std::int64_t* number :
       {&row.bucket_batch, &row.bucket_kv_len, &row.bucket_rows, &row.device_cc, &row.device_sms,
        &row.device_sm_khz, &row.device_memory_khz, &row.device_bus_bits, &row.device_l2_bytes,
        &row.device_mig}) {
    *number = cursor.integer(column++);
  }
  row.device_name = cursor.text(column++);
  row.family = cursor.text(column++);
  row.tuning_version = cursor.integer(column++);
  row.tuning = cursor.text(column++);
  row.time_us = cursor.real(column++);
  row.samples = cursor.integer(column++);
  row.nvrtc_build = cursor.text(column++);
  row.template_digest = digest_from_bytes(cursor.blob(column++)).value_or(Digest{});
  row.created_unix = cursor.integer(column++);
  stored.checksum = digest_from_bytes(cursor.blob(column++)).value_or(Digest{});
  return stored;
}

}  // namespace

Digest tuning_checksum(const TuningRow& row) {
  Checksum sum;
  sum.add(row.spec);
  for (const std::int64_t number :
       {row.bucket_batch, row.bucket_kv_len, row.bucket_rows, row.device_cc, row.device_sms,
        row.device_sm_khz, row.device_memory_khz, row.device_bus_bits, row.device_l2_bytes,
        row.device_mig, row.tuning_version, row.samples, row.created_unix}) {
    sum.add(number);
  }
  return sum.add(row.device_name)
      .add(row.family)
      .add(row.tuning)
      .add(row.time_us)
      .add(row.nvrtc_build)
      .add(row.template_digest)
      .digest();
}

std::vector<StoredTuning> all_tunings(sqlite::Database& database) {
  std::vector<StoredTuning> found;
  sqlite::Cursor cursor = database.query(kSelectAll);
  while (cursor.step()) {
    StoredTuning stored = read_tuning(cursor);
    if (stored.checksum != tuning_checksum(stored.row)) {
      stored.damage = fmt::format("tuning of '{}': its checksum does not match", stored.row.spec);
    }
    found.push_back(std::move(stored));
  }
  return found;
}

void merge_tuning(sqlite::Database& database, const TuningRow& row) {
  database.query(kMerge)
      .bind(row.spec, row.bucket_batch, row.bucket_kv_len, row.bucket_rows, row.device_cc,
            row.device_sms, row.device_sm_khz, row.device_memory_khz, row.device_bus_bits,
            row.device_l2_bytes, row.device_mig, row.device_name, row.family, row.tuning_version,
            row.tuning, row.time_us, row.samples, row.nvrtc_build, row.template_digest,
            row.created_unix, tuning_checksum(row))
      .run();
}

void delete_tuning(sqlite::Database& database, std::int64_t rowid) {
  database.query(kDelete).bind(rowid).run();
}

}  // namespace qrow
