-- The tables of a cache file, format 1. Persisted: a change of any column raises kCacheFormat (cache/store_file.hpp) and
-- user_version below, and the golden files of the older formats must then still open or be refused by name.
-- application_id is "qrow" in ASCII.
PRAGMA application_id = 1903325047;
PRAGMA user_version = 1;

-- One compiled kernel. Small columns come first: the cubin lies on overflow pages that a listing never reads.
CREATE TABLE kernel (
  key BLOB NOT NULL,             -- XXH3-128 of key_text, 16 bytes, most significant first
  nvrtc_build TEXT NOT NULL,     -- the compiler that made it; provenance
  pinned INTEGER NOT NULL,       -- 1: prewarmed or imported, never evicted
  cubin_bytes INTEGER NOT NULL,
  created_unix INTEGER NOT NULL, -- seconds; kept by export, import and merge
  checksum BLOB NOT NULL,        -- kernel_checksum() in cache/kernel_rows.cpp
  family TEXT NOT NULL,
  arch TEXT NOT NULL,
  entry_name TEXT NOT NULL,      -- of the kernel in the cubin
  registers INTEGER NOT NULL,
  spill_bytes INTEGER NOT NULL,
  stack_bytes INTEGER NOT NULL,
  smem_bytes INTEGER NOT NULL,
  compile_ms REAL NOT NULL,
  key_text TEXT NOT NULL,        -- compared on every hit
  options TEXT NOT NULL,
  case_line TEXT NOT NULL,       -- the request that made it; for people
  cubin BLOB NOT NULL,
  PRIMARY KEY (key, nvrtc_build)
) STRICT;

-- The order in which rows that may be evicted were used. A table of its own, because an update of a kernel row rewrites
-- its cubin; a counter instead of a clock, because clocks jump.
CREATE TABLE last_use (
  key BLOB PRIMARY KEY,
  tick INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX last_use_by_tick ON last_use (tick);

-- One tuning pick: for this spec and bucket on this kind of device, that tuning.
CREATE TABLE tuning (
  spec TEXT NOT NULL,            -- canonical case line of the public spec, heads included
  bucket_batch INTEGER NOT NULL, -- all three 0: the bucket `any` of the invariant modes
  bucket_kv_len INTEGER NOT NULL,
  bucket_rows INTEGER NOT NULL,
  device_cc INTEGER NOT NULL,    -- 10 * major + minor
  device_sms INTEGER NOT NULL,
  device_sm_khz INTEGER NOT NULL,
  device_memory_khz INTEGER NOT NULL,
  device_bus_bits INTEGER NOT NULL,
  device_l2_bytes INTEGER NOT NULL,
  device_mig INTEGER NOT NULL,
  device_name TEXT NOT NULL,     -- information only, not part of the identity
  family TEXT NOT NULL,
  tuning_version INTEGER NOT NULL, -- of the family; another one is a miss
  tuning TEXT NOT NULL,
  time_us REAL NOT NULL,
  samples INTEGER NOT NULL,
  nvrtc_build TEXT NOT NULL,     -- provenance from here on
  template_digest BLOB NOT NULL,
  created_unix INTEGER NOT NULL,
  checksum BLOB NOT NULL,        -- tuning_checksum() in cache/tuning_rows.cpp
  PRIMARY KEY (spec, bucket_batch, bucket_kv_len, bucket_rows, device_cc, device_sms, device_sm_khz, device_memory_khz,
               device_bus_bits, device_l2_bytes, device_mig)
) STRICT;
