// Threads, their schedule, and memory. What warps do together: warp.cpp, fragments.cpp.
#include "runtime/emulator/block.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace qrow::emulator {

namespace {

StackPool& stacks_of(BlockStorage& storage, unsigned threads) {
  if (storage.stacks == nullptr || storage.stacks->count() < static_cast<int>(threads))
    storage.stacks = std::make_unique<StackPool>(static_cast<int>(threads));
  return *storage.stacks;
}

}  // namespace

Block::Block(BlockStorage& storage, Memory& memory, const Launch& launch,
             std::uint32_t launch_number, Thread** running, Report* report)
    : memory_(memory),
      launch_(launch),
      launch_number_(launch_number),
      running_(running),
      report_(report),
      stacks_(stacks_of(storage, launch.threads)),
      shared_(storage.shared),
      warps_(launch.threads / 32),
      random_(launch.seed) {
  for (unsigned i = 0; i < launch.threads; ++i)
    lanes_.push_back(std::make_unique<Lane>(static_cast<int>(i)));
}

Block::~Block() = default;

bool Block::run(Index index) {
  start(index);
  run_threads();
  for (Warp& warp : warps_) report_->bank_conflicts += warp.conflicts.finish();
  *running_ = nullptr;
  return !stopped_;
}

void Block::start(Index index) {
  index_ = index;
  block_number_ = index.x + launch_.grid.x * (index.y + launch_.grid.y * index.z);
  stopped_ = false;
  current_ = next_ = 0;
  shared_.reset(launch_.smem_bytes, launch_.entry->plain_accesses_seen, report_, block_name());
  for (Barrier& barrier : barriers_) barrier = {};
  for (Warp& warp : warps_) warp.alive = warp.ready = ~0u;
  num_alive_ = launch_.threads;
  for (unsigned i = 0; i < launch_.threads; ++i) {
    Lane& lane = *lanes_[i];
    lane.thread = {this, {i, 0, 0}, index, {launch_.threads, 1, 1}, launch_.grid};
    lane.clock = Clock(static_cast<int>(i));
    lane.previous_done = false;
    lane.groups.assign(1, {});
    lane.fiber.start(stacks_.stack(static_cast<int>(i)), StackPool::stack_bytes(), [this] {
      try {
        launch_.entry->run(launch_.params);
      } catch (const Stopped&) {
        stopped_ = true;
      }
    });
  }
}

void Block::run_threads() {
  for (int thread = next_ready(); thread >= 0 && !stopped_; thread = next_ready()) resume(thread);
  if (stopped_) return;
  if (num_alive_ == 0) return;
  stopped_ = true;
  report_deadlock();
}

// In turn, or drawn from the seed: the first that is ready from there on. -1: none.
int Block::next_ready() {
  const std::size_t first =
      launch_.seed == 0 ? static_cast<std::size_t>(next_) : random_() % launch_.threads;
  const std::size_t count = warps_.size();
  for (std::size_t i = 0; i <= count; ++i) {
    const std::size_t warp = (first / 32 + i) % count;
    unsigned ready = warps_[warp].ready;
    if (i == 0) ready &= ~0u << first % 32;
    if (ready != 0) return static_cast<int>(32 * warp) + std::countr_zero(ready);
  }
  return -1;
}

void Block::resume(int thread) {
  current_ = thread;
  next_ = thread;
  *running_ = &self().thread;
  self().fiber.resume();
  if (self().fiber.ended()) end_thread();
  if (launch_.landing == Landing::random) land_some();
}

void Block::end_thread() {
  Lane& lane = self();
  warp().alive &= ~(1u << lane_index());
  warp().ready &= ~(1u << lane_index());
  --num_alive_;
  for (const std::vector<Copy>& group : lane.groups)
    for (const Copy& copy : group) land(copy);
  for (const Meeting& meeting : warp().meetings) {
    if (stopped_ || (meeting.mask >> lane_index() & 1) == 0) continue;
    stopped_ = true;
    if (report_->seen(FaultKind::missing_lane, meeting.site, nullptr)) return;
    report_->add(
        FaultKind::missing_lane, meeting.site, nullptr,
        fmt::format("{} has ended, but {} at {} names its lane {} (mask {:#x})", who(),
                    meeting.name, describe_site(meeting.site), lane_index(), meeting.mask));
  }
  if (block_barrier_complete()) pass_barrier(barriers_[0]);
}

void Block::report_deadlock() {
  const Lane* first = nullptr;
  std::string text = block_name() + ": no thread can go on:";
  int listed = 0;
  for (const auto& lane : lanes_) {
    const int thread = lane->clock.thread();
    if ((warps_[static_cast<std::size_t>(thread / 32)].alive >> thread % 32 & 1) == 0) continue;
    if (first == nullptr) first = lane.get();
    if (++listed > 4) continue;
    text += fmt::format("{} thread {} waits for {} at {}", listed > 1 ? "," : "", thread,
                        lane->waits_for, describe_site(lane->waits_at));
  }
  if (listed > 4) text += fmt::format(", and {} more", listed - 4);
  if (!report_->seen(FaultKind::deadlock, first->waits_at, nullptr))
    report_->add(FaultKind::deadlock, first->waits_at, nullptr, text);
}

void Block::wait(const char* what, Site site) {
  Lane& lane = self();
  warp().ready &= ~(1u << lane_index());
  lane.waits_for = what;
  lane.waits_at = site;
  lane.fiber.suspend();
}

std::string Block::block_name() const {
  if (launch_.grid.y == 1 && launch_.grid.z == 1) return fmt::format("block {}", index_.x);
  return fmt::format("block ({}, {}, {})", index_.x, index_.y, index_.z);
}

std::string Block::who() const { return fmt::format("{}, thread {}", block_name(), current_); }

void Block::stop(FaultKind kind, Site site, Site other, const std::string& text) {
  if (!report_->seen(kind, site, other)) report_->add(kind, site, other, who() + text);
  throw Stopped{};
}

// ---- Barriers ----

bool Block::block_barrier_complete() const {
  const std::size_t waiting = barriers_[0].waiting.size();
  return waiting > 0 && waiting == num_alive_;
}

void Block::pass_barrier(Barrier& barrier) {
  std::vector<Clock*> clocks;
  for (const int thread : barrier.waiting) {
    clocks.push_back(&lanes_[static_cast<std::size_t>(thread)]->clock);
    warps_[static_cast<std::size_t>(thread / 32)].conflicts.meet();
    wake(thread);
  }
  Clock::join(clocks, static_cast<int>(launch_.threads));
  if (&barrier == &barriers_[0])
    for (Warp& warp : warps_) warp.at_barrier = nullptr;
  barrier = {};
}

// One instruction for the lanes of a warp; warps may come to different ones.
void Block::block_barrier(Site site) {
  Site& other = warp().at_barrier;
  if (other != nullptr && !same_place(site, other)) {
    stop(FaultKind::divergent, site, other,
         fmt::format(" comes to __syncthreads at {}, while other lanes of its warp wait in another "
                     "at {}",
                     describe_site(site), describe_site(other)));
  }
  other = site;
  barriers_[0].waiting.push_back(current_);
  if (block_barrier_complete()) {
    pass_barrier(barriers_[0]);
  } else {
    wait("__syncthreads", site);
  }
}

void Block::named_barrier(int id, int threads, Site site) {
  if (id < 1 || id > 15 || threads <= 0 || threads % 32 != 0) {
    stop(FaultKind::wrong_barrier, site, nullptr,
         fmt::format(": barrier {} of {} threads at {}; ids are 1 to 15, counts multiples of 32",
                     id, threads, describe_site(site)));
  }
  Barrier& barrier = barriers_[static_cast<std::size_t>(id)];
  if (!barrier.waiting.empty() && barrier.threads != threads) {
    stop(
        FaultKind::wrong_barrier, site, barrier.site,
        fmt::format(" comes to barrier {} for {} threads at {}; others wait there for {} at {}", id,
                    threads, describe_site(site), barrier.threads, describe_site(barrier.site)));
  }
  barrier.threads = threads;
  barrier.site = site;
  barrier.waiting.push_back(current_);
  if (static_cast<int>(barrier.waiting.size()) == threads) {
    pass_barrier(barrier);
  } else {
    wait("a named barrier", site);
  }
}

// ---- Memory ----

void Block::check_early(const Memory::Words& words, const void* address, Use use, Site site) {
  if (!launch_.overlaps_previous || self().previous_done || launch_number_ == 1) return;
  const std::uint32_t previous = launch_number_ - 1;
  for (std::size_t i = 0; i < words.count; ++i) {
    const Memory::Word& word = words.first[i];
    const bool wrote = word.write.launch == previous && !(use == Use::atomic && word.write.atomic);
    const bool read = word.read.launch == previous && use != Use::read;
    if (!wrote && !read) continue;
    if (report_->seen(FaultKind::early_read, site, nullptr)) return;
    return report_->add(
        FaultKind::early_read, site, nullptr,
        fmt::format("{} {} {} at {} before it has waited for the previous kernel, which {} there",
                    who(), use == Use::read ? "reads" : "writes", address, describe_site(site),
                    wrote ? "wrote" : "reads"));
  }
}

// Blocks have no order, so it does not matter that here one ran after the other.
void Block::check_collision(Memory::Word& word, const void* address, Use use, Site site) {
  const bool is_atomic = use == Use::atomic;
  const bool after_write =
      word.write.by_another(launch_number_, block_number_) && !(is_atomic && word.write.atomic);
  const bool after_read = use != Use::read && word.read.by_another(launch_number_, block_number_);
  if ((after_write || after_read) && !report_->seen(FaultKind::blocks_collide, site, nullptr)) {
    const std::uint32_t other = after_write ? word.write.block : word.read.block;
    report_->add(
        FaultKind::blocks_collide, site, nullptr,
        fmt::format("{} {} {} at {}, which {} of the same launch {}", who(),
                    use == Use::read ? "reads" : "writes", address, describe_site(site),
                    other == Memory::kManyBlocks ? "other blocks" : fmt::format("block {}", other),
                    after_write ? "wrote" : "read"));
  }
  Memory::Use& mine = use == Use::read ? word.read : word.write;
  const bool others = mine.by_another(launch_number_, block_number_);
  const bool all_atomic = is_atomic && (mine.launch != launch_number_ || mine.atomic);
  mine.launch = launch_number_;
  mine.block = (others ? Memory::kManyBlocks : block_number_) & Memory::kManyBlocks;
  mine.atomic = all_atomic;
}

void Block::check_global(const void* address, unsigned bytes, unsigned alignment, Use use,
                         Site site) {
  const char* verb = use == Use::read ? "reads" : "writes";
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const Memory::Words words = memory_.words(address, bytes);
  if (words.first == nullptr) {
    const std::uintptr_t params = reinterpret_cast<std::uintptr_t>(launch_.params);
    const auto inside = [&](std::uintptr_t begin, std::uintptr_t end) {
      return place >= begin && place < end && bytes <= end - place;
    };
    const bool is_params = inside(params, params + launch_.entry->params_bytes);
    const bool is_constant = inside(launch_.code_begin, launch_.code_end);
    if (use == Use::read && (is_params || is_constant)) return;
    stop(FaultKind::out_of_bounds, site, nullptr,
         fmt::format(" {} {} bytes at {}, outside every allocation, at {}", verb, bytes, address,
                     describe_site(site)));
  }
  if (place % alignment != 0) {
    stop(FaultKind::misaligned, site, nullptr,
         fmt::format(" {} {} bytes at {}, no multiple of {}, at {}", verb, bytes, address,
                     alignment, describe_site(site)));
  }
  check_early(words, address, use, site);
  for (std::size_t i = 0; i < words.count; ++i) check_collision(words.first[i], address, use, site);
}

void Block::access(const void* address, unsigned bytes, unsigned alignment, Use use, Site site) {
  if (stacks_.holds(address)) return;
  if (!shared_.holds(address)) return check_global(address, bytes, alignment, use, site);
  const unsigned smem = shared_.address_of(address);
  if (use == Use::read) {
    shared_.read(smem, bytes, alignment, self().clock, site);
  } else {
    shared_.write(smem, bytes, alignment, self().clock, site);
  }
  warp().conflicts.add(lane_index(), smem, bytes, shared_.place_of(site));
}

void Block::read(const void* address, unsigned bytes, unsigned alignment, Site site) {
  access(address, bytes, alignment, Use::read, site);
}

void Block::write(const void* address, unsigned bytes, unsigned alignment, Site site) {
  access(address, bytes, alignment, Use::write, site);
}

int Block::atomic_or(int* address, int bits, Site site) {
  check_global(address, sizeof *address, alignof(int), Use::atomic, site);
  const int old = *address;
  *address |= bits;
  return old;
}

char* Block::dynamic_shared() { return shared_.dynamic(); }

void* Block::static_shared(const void* type, unsigned bytes) {
  return shared_.static_object(type, bytes);
}

unsigned Block::shared_address(const void* pointer, Site site) {
  if (!shared_.holds(pointer)) {
    stop(FaultKind::out_of_bounds, site, nullptr,
         fmt::format(" takes the shared address of {}, which is not in shared memory, at {}",
                     pointer, describe_site(site)));
  }
  return shared_.address_of(pointer);
}

void Block::store_shared(unsigned smem, const void* data, unsigned bytes, Site site) {
  std::memcpy(shared_.write(smem, bytes, bytes, self().clock, site), data, bytes);
  warp().conflicts.add(lane_index(), smem, bytes, shared_.place_of(site));
}

// ---- Asynchronous copies ----

void Block::cp_async(unsigned smem, const void* global, unsigned bytes, unsigned valid, Site site) {
  if (valid > bytes) {
    stop(FaultKind::out_of_bounds, site, nullptr,
         fmt::format(" copies {} valid bytes of {} at {}", valid, bytes, describe_site(site)));
  }
  if (valid > 0) check_global(global, valid, bytes, Use::read, site);
  shared_.begin_copy(smem, bytes, self().clock, site);
  warp().conflicts.add(lane_index(), smem, bytes, shared_.place_of(site));
  self().groups.back().push_back({smem, static_cast<const char*>(global), bytes, valid, site});
}

void Block::cp_async_commit() { self().groups.emplace_back(); }

// The open group does not count.
void Block::cp_async_wait(unsigned pending) {
  std::deque<std::vector<Copy>>& groups = self().groups;
  while (groups.size() > pending + 1) {
    for (const Copy& copy : groups.front()) land(copy);
    groups.pop_front();
  }
}

std::array<char, 16> Block::bytes_of(const Copy& copy) {
  std::array<char, 16> data{};
  std::memcpy(data.data(), copy.global, copy.valid);
  return data;
}

void Block::land(const Copy& copy) {
  shared_.land_copy(copy.smem, bytes_of(copy).data(), copy.bytes, self().clock, copy.site);
}

// Some of the copies in flight of the thread that ran last arrive before they have to.
void Block::land_some() {
  for (const std::vector<Copy>& group : self().groups) {
    for (const Copy& copy : group) {
      if (random_() % 4 == 0) shared_.fill(copy.smem, bytes_of(copy).data(), copy.bytes);
    }
  }
}

void Block::wait_for_previous_kernel() { self().previous_done = true; }

}  // namespace qrow::emulator
