#include "cache/kernel_store.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <exception>
#include <utility>

#include "cache/cache_path.hpp"
#include "cache/kernel_rows.hpp"
#include "cache/session.hpp"
#include "cache/space.hpp"
#include "cache/store_access.hpp"
#include "runtime/base/error.hpp"

namespace qrow {

struct KernelStore::State {
  explicit State(const StoreOptions& given)
      : options(given),
        path(resolve_cache_path(given.path)),
        session(std::make_unique<Session>(options, path, errors).release()) {}
  ~State();

  Session& current();
  std::vector<KernelRow> sound_rows(std::vector<StoredKernel>&& stored);
  void drop_damaged(const std::vector<std::int64_t>& rowids);
  void write_uses();

  const StoreOptions options;
  const std::string path;
  std::atomic<std::int64_t> corrupt{0}, errors{0};
  // Owned. Replaced only in a forked child, where the old one's lock may belong to a thread that is
  // not there.
  std::atomic<Session*> session;
};

namespace {

// Runs what must not fail its caller: no memory, a log that throws, anything.
template <typename Operation>
bool harmless(const Operation& operation, std::string* why) {
  try {
    return operation();
  } catch (const std::exception& error) {
    if (why != nullptr) *why = error.what();
    return false;
  }
}

}  // namespace

KernelStore::State::~State() {
  std::unique_ptr<Session> owner(session.load());
  // Of a parent: its connection must not even be closed here.
  if (!owner->of_this_process()) static_cast<void>(owner.release());
}

Session& KernelStore::State::current() {
  Session* used = session.load();
  if (used->of_this_process()) return *used;
  auto fresh = std::make_unique<Session>(options, path, errors);
  if (!session.compare_exchange_strong(used, fresh.get()))
    return *used;  // another thread was first
  used->leave_to(*fresh);
  return *fresh.release();
}

// Takes the sound rows out; the others are counted, reported and deleted.
std::vector<KernelRow> KernelStore::State::sound_rows(std::vector<StoredKernel>&& stored) {
  std::vector<KernelRow> rows;
  std::vector<std::int64_t> damaged;
  for (StoredKernel& kernel : stored) {
    if (kernel.damage.empty()) {
      rows.push_back(std::move(kernel.row));
      continue;
    }
    options.log(LogLevel::warning, "cache '{}': {}; it is made again", path, kernel.damage);
    damaged.push_back(kernel.rowid);
  }
  corrupt += static_cast<std::int64_t>(damaged.size());
  if (!damaged.empty() && !options.read_only) drop_damaged(damaged);
  return rows;
}

void KernelStore::State::drop_damaged(const std::vector<std::int64_t>& rowids) {
  const auto drop = [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    for (const std::int64_t rowid : rowids) {
      // Another process may have put a sound row in its place.
      const auto stored = kernel_of_rowid(database, rowid);
      if (stored && !stored->damage.empty()) delete_kernel(database, rowid);
    }
    transaction.commit();
  };
  current().write(drop, nullptr);
}

void KernelStore::State::write_uses() {
  const std::vector<Digest> uses = current().take_uses();
  if (uses.empty()) return;
  const auto note = [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    note_uses(database, uses);
    transaction.commit();
  };
  current().write(note, nullptr);
}

KernelStore::KernelStore() = default;

KernelStore::~KernelStore() {
  // In a child there is nothing of its own to write unless it has a session of its own.
  if (!state_->session.load()->of_this_process()) return;
  harmless([&] { return state_->write_uses(), true; }, nullptr);
}

std::unique_ptr<KernelStore> KernelStore::open(const StoreOptions& options, bool must_work) {
  std::unique_ptr<KernelStore> store(new KernelStore());
  store->state_ = std::make_unique<State>(options);
  const Session::Condition condition = store->state_->current().condition();
  if (must_work && !condition.usable) fail(Status::cache, "{}", condition.trouble);
  return store;
}

bool KernelStore::available() const { return state_->current().condition().usable; }

std::string KernelStore::unavailable_reason() const {
  const Session::Condition condition = state_->current().condition();
  return condition.usable ? std::string() : condition.trouble;
}

std::string KernelStore::path() const { return state_->current().condition().file; }

std::string KernelStore::lock_folder() const {
  const Session::Condition condition = state_->current().condition();
  return condition.writable ? lock_folder_of(condition.file) : std::string();
}

std::vector<KernelRow> KernelStore::find(const Digest& key, const std::string& text) {
  std::vector<KernelRow> rows;
  const auto search = [&] {
    std::vector<StoredKernel> stored;
    state_->current().read(
        [&](sqlite::Database& database) { stored = kernels_of_key(database, key); }, nullptr);
    rows = state_->sound_rows(std::move(stored));
    // Another text with the same digest is another kernel.
    std::erase_if(rows, [&](const KernelRow& row) { return row.key_text != text; });
    return true;
  };
  if (!harmless(search, nullptr)) rows.clear();
  return rows;
}

bool KernelStore::put(const KernelRow& given, std::string* reason) {
  const auto store = [&] {
    KernelRow row = given;
    if (row.created_unix == 0) row.created_unix = std::time(nullptr);
    std::vector<Digest> uses = state_->current().take_uses();
    uses.push_back(row.key);
    Room room;
    const auto write = [&](sqlite::Database& database) {
      sqlite::Transaction transaction(database);
      row.pinned = given.pinned || is_pinned(database, row.key, row.nvrtc_build);
      delete_kernel(database, row.key, row.nvrtc_build);
      room = make_room(database, row, state_->options.size_limit_bytes);
      if (!room.made) return;
      write_kernel(database, row);
      note_uses(database, uses);
      if (room.evicted > 0) release_free_pages(database);
      transaction.commit();
      if (room.evicted > 0) shrink_file(database);
    };
    if (!state_->current().write(write, reason)) return false;
    if (!room.made && reason != nullptr) *reason = room.why_not;
    if (room.evicted > 0) {
      state_->options.log(LogLevel::info, "cache '{}': {} kernels evicted, the least recently used",
                          state_->path, room.evicted);
    }
    return room.made;
  };
  return harmless(store, reason);
}

void KernelStore::touch(const Digest& key) {
  const auto note = [&] {
    if (state_->current().add_use(key)) state_->write_uses();
    return true;
  };
  harmless(note, nullptr);
}

void KernelStore::remove(const Digest& key, const std::string& nvrtc_build) {
  const auto erase = [&](sqlite::Database& database) {
    sqlite::Transaction transaction(database);
    delete_kernel(database, key, nvrtc_build);
    transaction.commit();
  };
  harmless([&] { return state_->current().write(erase, nullptr); }, nullptr);
}

std::vector<KernelRow> KernelStore::list(const std::string& arch, const std::string& family) {
  std::vector<KernelRow> rows;
  const auto search = [&](sqlite::Database& database) {
    rows = list_kernels(database, arch, family);
  };
  harmless([&] { return state_->current().read(search, nullptr); }, nullptr);
  return rows;
}

std::vector<KernelRow> KernelStore::find_prefix(const std::string& prefix) {
  std::vector<KernelRow> rows;
  const auto search = [&] {
    std::vector<StoredKernel> stored;
    const auto read = [&](sqlite::Database& database) {
      stored = kernels_with_prefix(database, prefix);
    };
    state_->current().read(read, nullptr);
    rows = state_->sound_rows(std::move(stored));
    return true;
  };
  harmless(search, nullptr);
  return rows;
}

StoreCounts KernelStore::counts() {
  StoreCounts counts;
  const auto count = [&](sqlite::Database& database) { count_rows(database, counts); };
  harmless([&] { return state_->current().read(count, nullptr); }, nullptr);
  counts.corrupt = state_->corrupt;
  counts.errors = state_->errors;
  return counts;
}

std::int64_t KernelStore::corrupt_seen() const { return state_->corrupt; }

void StoreAccess::read(KernelStore& store, const std::function<void(sqlite::Database&)>& body) {
  std::string why;
  if (!store.state_->current().read(body, &why)) fail(Status::cache, "{}", why);
}

void StoreAccess::write(KernelStore& store, const std::function<void(sqlite::Database&)>& body) {
  std::string why;
  if (!store.state_->current().write(body, &why)) fail(Status::cache, "{}", why);
}

const StoreOptions& StoreAccess::options(const KernelStore& store) { return store.state_->options; }

}  // namespace qrow
