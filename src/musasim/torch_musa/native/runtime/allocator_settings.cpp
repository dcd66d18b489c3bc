#include "allocator_settings.h"

#include "release.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

namespace musasim {
namespace {

constexpr size_t kSmallestBlock = 512;
constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kLargestFixedSegment = 20; // MiB; blocks up to this size are always split
constexpr size_t kMostRegisterThreads = 128;

constexpr bool is_power_of_two(size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

size_t log2_floor(size_t value) {
  return 63 - static_cast<size_t>(__builtin_clzll(value));
}

// The words of a setting, and each of ",:[]" by itself.
std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  };
  for (const char c : text) {
    if (std::string_view(",:[]").find(c) != std::string_view::npos) {
      finish();
      words.emplace_back(1, c);
    } else if (c != ' ') {
      word += c;
    }
  }
  finish();
  return words;
}

class Reader {
 public:
  explicit Reader(std::vector<std::string> words) : words_(std::move(words)) {}

  bool done() const {
    return next_ >= words_.size();
  }
  const std::string& word() {
    return words_.at(next_++);
  }
  bool follows(std::string_view text) const {
    return !done() && words_[next_] == text;
  }
  void expect(const char* separator) {
    TORCH_CHECK(follows(separator), "Error parsing CachingAllocator settings, expected ", separator);
    ++next_;
  }
  const std::string& value(const char* option) {
    TORCH_CHECK(!done(), "Error, expecting ", option, " value");
    return word();
  }
  bool truth(const char* option) {
    const auto& text = value(option);
    TORCH_CHECK(text == "True" || text == "False", "Expected a single True/False argument for ", option);
    return text == "True";
  }

 private:
  std::vector<std::string> words_;
  size_t next_ = 0;
};

size_t read_large_size(Reader& reader, const char* option) {
  const auto mebibytes = static_cast<size_t>(std::stoi(reader.value(option)));
  TORCH_CHECK(
      mebibytes > kLargestFixedSegment, "CachingAllocator option ", option, " too small, must be > ", kLargestFixedSegment);
  return std::min(mebibytes, std::numeric_limits<size_t>::max() / kMebibyte) * kMebibyte;
}

double read_threshold(Reader& reader) {
  const auto fraction = std::stod(reader.value("garbage_collection_threshold"));
  TORCH_CHECK(fraction > 0, "garbage_collect_threshold too small, set it 0.0~1.0");
  TORCH_CHECK(fraction < 1.0, "garbage_collect_threshold too big, set it 0.0~1.0");
  return fraction;
}

double read_fraction(Reader& reader) {
  const auto fraction = std::stod(reader.value("per_process_memory_fraction"));
  TORCH_CHECK(fraction >= 0 && fraction <= 1, "per_process_memory_fraction is invalid, set it in [0.0, 1.0]");
  return fraction;
}

size_t read_register_threads(Reader& reader) {
  const auto threads = static_cast<size_t>(std::stoi(reader.value("pinned_num_register_threads")));
  TORCH_CHECK(is_power_of_two(threads), "Number of register threads has to be power of 2 ");
  TORCH_CHECK(
      threads <= kMostRegisterThreads,
      "Number of register threads should be less than or equal to ",
      kMostRegisterThreads);
  return threads;
}

using Divisions = std::array<size_t, 16>;

// The place of a size in MiB; sizes between two powers belong to the smaller one.
size_t interval_of(const std::string& mebibytes) {
  const auto size = std::stoul(mebibytes);
  TORCH_CHECK(is_power_of_two(size), "For roundups, the intervals have to be power of 2 ");
  return std::min(log2_floor(size), Divisions{}.size() - 1);
}

size_t read_divisions(Reader& reader) {
  reader.expect(":");
  TORCH_CHECK(!reader.done(), "Error parsing roundup_power2_divisions value");
  const auto divisions = static_cast<size_t>(std::stoi(reader.word()));
  TORCH_CHECK(
      divisions == 0 || is_power_of_two(divisions),
      "For roundups, the divisons has to be power of 2 or 0 to disable roundup ");
  return divisions;
}

// "[256:1,512:2,>:4]": the first value holds for all smaller sizes too, ">" for all that follow.
Divisions read_list(Reader& reader) {
  Divisions made{};
  bool first = true;
  size_t last = 0;
  while (!reader.done() && !reader.follows("]")) {
    const auto key = reader.word();
    const auto divisions = read_divisions(reader);
    const auto begin = key == ">" ? last : first ? 0 : interval_of(key);
    const auto end = key == ">" ? made.size() : (last = interval_of(key)) + 1;
    std::fill(made.begin() + begin, made.begin() + std::max(begin, end), divisions);
    first = first && key == ">";
    if (!reader.follows("]")) {
      reader.expect(",");
    }
  }
  reader.expect("]");
  return made;
}

Divisions read_roundup(Reader& reader) {
  if (reader.follows("[")) {
    reader.expect("[");
    return read_list(reader);
  }
  const auto divisions = static_cast<size_t>(std::stoi(reader.value("roundup_power2_divisions")));
  TORCH_CHECK(is_power_of_two(divisions), "For roundups, the divisons has to be power of 2 ");
  Divisions made{};
  made.fill(divisions);
  return made;
}

void read_backend(Reader& reader) {
  TORCH_CHECK(!reader.done(), "Error parsing backend value");
  const auto& name = reader.word();
  TORCH_CHECK(
      name == "native" || name == "musaMallocAsync" || name == "unified",
      "Unknown allocator backend, options are native and musaMallocAsync and unified");
  TORCH_CHECK(name != "musaMallocAsync", "backend:musaMallocAsync is ON, but not supported for MUSA yet.");
}

void read_option(const std::string& name, Reader& reader, AllocatorSettings& made) {
  reader.expect(":");
  if (name == "max_split_size_mb") {
    made.max_split_size = read_large_size(reader, "max_split_size_mb");
  } else if (name == "max_non_split_rounding_mb") {
    made.max_non_split_rounding = read_large_size(reader, "max_non_split_rounding_mb");
  } else if (name == "garbage_collection_threshold") {
    made.garbage_collection_threshold = read_threshold(reader);
  } else if (name == "roundup_power2_divisions") {
    made.roundup_divisions = read_roundup(reader);
  } else if (name == "backend") {
    read_backend(reader);
  } else if (name == "expandable_segments") {
    made.expandable_segments = reader.truth("expandable_segments");
  } else if (name == "release_lock_on_musamalloc" || name == "release_lock_on_cudamalloc") {
    made.release_lock_on_malloc = reader.truth("release_lock_on_musamalloc");
  } else if (name == "pinned_use_musa_host_register" || name == "pinned_use_cuda_host_register") {
    made.pinned_host_register = reader.truth("pinned_use_musa_host_register");
  } else if (name == "pinned_num_register_threads") {
    made.pinned_register_threads = read_register_threads(reader);
  } else if (name == "pinned_use_background_threads") {
    made.pinned_background_threads = reader.truth("pinned_use_background_threads");
  } else if (name == "graph_capture_record_stream_reuse") {
    reader.truth("graph_capture_record_stream_reuse");
  } else if (name == "per_process_memory_fraction") {
    made.memory_fraction = read_fraction(reader);
  } else {
    reader.value(name.c_str()); // where host tensors lie, how much pinned memory is reserved, how large segments are
  }
}

template <size_t n>
bool is_among(const std::string& name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_known(const std::string& name) {
  constexpr std::array<std::string_view, 10> always = {
      "max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions", "backend", "cpu",
      "expandable_segments", "release_lock_on_musamalloc", "pinned_use_musa_host_register",
      "pinned_num_register_threads", "pinned_use_background_threads"};
  constexpr std::array<std::string_view, 2> since_2_9_1 = {"graph_capture_record_stream_reuse", "max_non_split_rounding_mb"};
  // The first is one of torch 2.11, which parses them together with torch_musa from here on.
  constexpr std::array<std::string_view, 3> since_2_11_0 = {
      "large_segment_size_mb", "per_process_memory_fraction", "pinned_reserve_segment_size_mb"};
  constexpr std::array<std::string_view, 2> until_2_9_1 = {"release_lock_on_cudamalloc", "pinned_use_cuda_host_register"};
  return is_among(name, always) || (since(Release::v2_9_1) && is_among(name, since_2_9_1)) ||
      (since(Release::v2_11_0) ? is_among(name, since_2_11_0) : is_among(name, until_2_9_1));
}

void check_name(const std::string& name) {
  TORCH_CHECK(
      is_known(name),
      "Unrecognized CachingAllocator option: ",
      name);
}

void read(const std::string& text, AllocatorSettings& made) {
  made.text = text;
  made.max_split_size = std::numeric_limits<size_t>::max();
  made.roundup_divisions.fill(0);
  made.garbage_collection_threshold = 0;
  made.memory_fraction = 1;
  Reader reader(split_words(text));
  while (!reader.done()) {
    const auto name = reader.word();
    check_name(name);
    read_option(name, reader, made);
    if (!reader.done()) {
      reader.expect(",");
    }
  }
}

struct Current {
  std::mutex mutex;
  AllocatorSettings settings;
  // Read at each allocation, so without the lock.
  std::atomic<size_t> max_split_size{std::numeric_limits<size_t>::max()};
  std::atomic<size_t> max_non_split_rounding{AllocatorSettings{}.max_non_split_rounding};
  std::atomic<double> threshold{0};
  std::atomic<bool> expandable_segments{false};
  std::atomic<bool> rounds_up{false};
  std::atomic<double> memory_fraction{1};

  void change(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    try {
      read(text, settings);
    } catch (...) {
      publish();
      throw;
    }
    publish();
  }
  void publish() {
    const auto& divisions = settings.roundup_divisions;
    max_split_size = settings.max_split_size;
    max_non_split_rounding = settings.max_non_split_rounding;
    threshold = settings.garbage_collection_threshold;
    expandable_segments = settings.expandable_segments;
    memory_fraction = settings.memory_fraction;
    rounds_up = std::any_of(divisions.begin(), divisions.end(), [](size_t each) { return each > 1; });
  }
  size_t divisions_for(size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto log = log2_floor(bytes);
    const auto first = log2_floor(kMebibyte);
    return settings.roundup_divisions[log <= first ? 0 : std::min(log - first, settings.roundup_divisions.size() - 1)];
  }
};

Current& current_settings() {
  static auto* made = [] {
    auto* current = new Current();
    const char* text = std::getenv("PYTORCH_MUSA_ALLOC_CONF");
    if (text == nullptr && since(Release::v2_11_0)) {
      text = std::getenv("PYTORCH_ALLOC_CONF");
    }
    if (text != nullptr) {
      current->change(text);
    }
    return current;
  }();
  return *made;
}

// The next of `divisions` equal steps between the powers of two around `bytes`.
size_t round_to_division(size_t bytes, size_t divisions) {
  if (is_power_of_two(bytes)) {
    return bytes;
  }
  const auto floor = size_t{1} << log2_floor(bytes);
  const auto step = floor >> log2_floor(divisions);
  return step == 0 ? floor << 1 : (bytes + step - 1) / step * step;
}

} // namespace

AllocatorSettings allocator_settings() {
  auto& current = current_settings();
  const std::lock_guard<std::mutex> lock(current.mutex);
  return current.settings;
}

void set_allocator_settings(const std::string& text) {
  current_settings().change(text);
}

size_t allocation_size(size_t bytes) {
  bytes = std::max(bytes, kSmallestBlock);
  if (C10_UNLIKELY(current_settings().rounds_up.load(std::memory_order_relaxed))) {
    const auto divisions = current_settings().divisions_for(bytes);
    if (divisions > 1 && bytes > kSmallestBlock * divisions) {
      return round_to_division(bytes, divisions);
    }
  }
  return (bytes + kSmallestBlock - 1) / kSmallestBlock * kSmallestBlock;
}

size_t max_split_size() {
  return current_settings().max_split_size.load(std::memory_order_relaxed);
}

size_t max_non_split_rounding() {
  return current_settings().max_non_split_rounding.load(std::memory_order_relaxed);
}

double garbage_collection_threshold() {
  return current_settings().threshold.load(std::memory_order_relaxed);
}

double memory_fraction_setting() {
  return current_settings().memory_fraction.load(std::memory_order_relaxed);
}

bool expandable_segments() {
  return current_settings().expandable_segments.load(std::memory_order_relaxed);
}

} // namespace musasim
