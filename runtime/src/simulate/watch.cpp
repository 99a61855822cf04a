// Memory under watch. The compiler calls `__tsan_…` before every access of the kernel text (-fsanitize=thread, without
// its library: the functions here stand in). Each byte of arguments and shared memory remembers who wrote and read it,
// so an access out of bounds, a read of memory never written, a misaligned access, a write to a `const` argument and
// two accesses without a barrier between them are reported at once, with the lines of both. It also calls `__ubsan_…`
// where an operation is not defined (-fsanitize=bounds,shift,…), and `__stack_chk_fail` where a local array was written
// past its end (-fstack-protector-all).
//
// Order between two threads: a __syncthreads between them, or (within a warp) a __syncwarp that both took part in, by
// vector clocks. A shuffle orders no memory. Blocks of one launch are never ordered. Of many readers of a byte the last
// two are remembered. Four bytes that are only accessed together are remembered as one.
#include "engine.hpp"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

extern "C" {
void __asan_poison_memory_region(const volatile void*, size_t) __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void*, size_t) __attribute__((weak));
extern const char* const eigenforge_dynamic[];  // names of `extern __shared__` arrays, ended by null
}
using namespace engine;

namespace {

struct Stamp {
    uint32_t block = 0, epoch = 0, clock = 0, pc = 0;
    uint16_t thread = 0;
    bool atomic = false;
};
struct Cell {
    Stamp written, read[2];
};
constexpr size_t WORD = 4;  // bytes that one cell may stand for

// Zeros, of which only those that are written take memory.
template <class T> T* zeros(size_t count)
{
    void* const memory = calloc(count ? count : 1, sizeof(T));
    if (!memory) fault("memory", "no room to remember who wrote and read the arguments", nullptr, {});
    return (T*)memory;
}

struct Region {
    char* begin;
    size_t bytes;
    std::string name;
    bool shared, writable, initialised;
    Cell* words = nullptr;    // a cell for each word
    bool* apart = nullptr;    // words of which some bytes were accessed alone
    Cell* single = nullptr;   // a cell for each byte, valid where its word is apart

    void remember()
    {
        const size_t count = (bytes + WORD - 1) / WORD;
        words = zeros<Cell>(count);
        apart = zeros<bool>(count);
        single = zeros<Cell>(count * WORD);
    }

    void forget()
    {
        free(words);
        free(apart);
        free(single);
    }
};

std::vector<Region> regions;
char *arena = nullptr, *arena_end = nullptr, *tls = nullptr, *tls_end = nullptr;
char *image = nullptr, *image_end = nullptr;
size_t arena_used = 0;
uint32_t epoch = 1;
std::vector<uint32_t> clocks;  // one a thread
std::vector<std::array<uint32_t, MOST_LANES>> known;  // known[thread][lane]: the clock of that lane of its warp that it knows of
constexpr size_t GAP = 1 << 20;
constexpr size_t KEPT = 64 * GAP;  // of the arena, from launch to launch
std::vector<char*> arguments;      // those on the heap

// How much of another block is known: all before this epoch of it, and of one thread all up to this clock.
struct Seen {
    uint32_t block = 0, epoch = 0, thread = 0, clock = 0;
};
using View = std::vector<Seen>;
std::vector<View> fenced;                                  // a thread: what its last fence covers
std::vector<View> taken;                                   // a thread: what it found at atomics, before its next fence
std::vector<View> seen;                                    // a thread: what it knows of other blocks
View seen_by_block;                                        // what every thread of the block knows
std::unordered_map<const char*, View> published;           // an address of atomics

void add(View& to, const View& from)
{
    for (const Seen& one : from) {
        bool known_already = false;
        for (const Seen& other : to) {
            known_already |= other.block == one.block && other.thread == one.thread && other.epoch >= one.epoch && other.clock >= one.clock;
        }
        if (!known_already) to.push_back(one);
    }
}
bool covers(const View& view, const Stamp& stamp)
{
    for (const Seen& one : view) {
        if (one.block != stamp.block) continue;
        if (stamp.epoch < one.epoch || (stamp.thread == one.thread && stamp.clock < one.clock)) return true;
    }
    return false;
}

bool ordered(const Stamp& stamp, uint32_t me)
{
    if (stamp.block == 0 || (stamp.block == block_number && stamp.thread == me)) return true;
    if (stamp.block != block_number) return covers(seen_by_block, stamp) || covers(seen[me], stamp);
    if (stamp.epoch != epoch) return true;
    return stamp.thread / warpSize == me / warpSize && known[me][stamp.thread % warpSize] >= stamp.clock;
}

std::string who(const Stamp& stamp)
{
    return stamp.block == block_number ? text("thread %u", stamp.thread) : text("thread %u of another block", stamp.thread);
}

[[noreturn]] void race(const Region& region, size_t byte, const char* now, const char* before, const Stamp& stamp, uintptr_t pc)
{
    const char* remedy = stamp.block == block_number ? "no barrier between" : "blocks of one launch are not ordered, but by __threadfence and atomics";
    fault("race", text("thread %u %s byte %zu of %s that %s %s: %s", current->number, now, byte, region.name.c_str(),
                       who(stamp).c_str(), before, remedy), current, {Site{pc}, Site{stamp.pc}});
}

[[noreturn]] void out_of_bounds(const char* at, size_t size, bool write, uintptr_t pc)
{
    const Region* nearest = nullptr;
    const bool in_shared = at >= tls && at < tls_end;
    for (const Region& region : regions) {
        if (region.shared != in_shared) continue;
        if (region.begin <= at && (!nearest || region.begin > nearest->begin)) nearest = &region;
    }
    for (const Region& region : regions) {
        if (!nearest && region.shared == in_shared) nearest = &region;
    }
    const char* kind = write ? "out of bounds write" : "out of bounds read";
    if (!nearest) fault(kind, text("%zu bytes at an address in no argument", size), current, {Site{pc}});
    fault(kind, text("%zu bytes at byte %td of %s, which has %zu bytes", size, at - nearest->begin, nearest->name.c_str(),
                     nearest->bytes), current, {Site{pc}});
}

// An access to the bytes of a cell, the first of which is `byte`.
void access_cell(Cell& cell, const Region& region, size_t byte, const Stamp& now, bool write, uintptr_t pc)
{
    const uint32_t me = now.thread;
    const bool atomic = now.atomic;
    const char* const doing = write ? "writes" : "reads";
    if (region.shared && cell.written.block != block_number) cell = Cell();
    if ((!write || atomic) && !region.initialised && cell.written.block == 0) {
        const char* kind = region.shared ? "uninitialised shared memory" : "uninitialised output";
        fault(kind, text("thread %u reads byte %zu of %s, which no thread has written", me, byte, region.name.c_str()),
              current, {Site{pc}});
    }
    if (!(atomic && cell.written.atomic) && !ordered(cell.written, me)) {
        race(region, byte, doing, "wrote", cell.written, pc);
    }
    if (write) {
        for (const Stamp& reader : cell.read) {
            if (!(atomic && reader.atomic) && !ordered(reader, me)) race(region, byte, doing, "read", reader, pc);
        }
        cell.written = now;
    } else {
        const bool mine = cell.read[0].block == block_number && cell.read[0].thread == me;
        if (!mine) cell.read[1] = cell.read[0];
        cell.read[0] = now;
    }
}

// The argument or shared array that an address is in, most often that of the last access; null if there is none.
Region* region_of(const char* at)
{
    static size_t last = 0;
    const auto holds = [at](const Region& region) { return at >= region.begin && at < region.begin + region.bytes; };
    if (last < regions.size() && holds(regions[last])) return &regions[last];
    for (size_t k = 0; k < regions.size(); ++k) {
        if (holds(regions[k])) return &regions[last = k];
    }
    return nullptr;
}

void access(char* at, size_t size, bool write, bool atomic, bool aligned, uintptr_t pc)
{
    if (!current || (at >= image && at < image_end)) return;
    if (at >= stacks && at < stacks + fibers.size() * STACK) return;
    Region* const region = region_of(at);
    if (!region || at + size > region->begin + region->bytes) out_of_bounds(at, size, write, pc);
    const size_t first = at - region->begin, end = first + size;
    if (aligned && (size == 2 || size == 4 || size == 8 || size == 16) && first % size != 0) {
        fault("misaligned access", text("%s %zu bytes at byte %zu of %s: not a multiple of %zu", write ? "writes" : "reads", size,
                                        first, region->name.c_str(), size), current, {Site{pc}});
    }
    if (write && !region->writable) {
        fault("write to a constant argument", text("%zu bytes at byte %zu of %s, which was passed for reading", size, first,
                                                   region->name.c_str()), current, {Site{pc}});
    }
    Stamp now;
    now.block = block_number;
    now.epoch = epoch;
    now.clock = clocks[current->number];
    now.pc = (uint32_t)pc;
    now.thread = (uint16_t)current->number;
    now.atomic = atomic;
    for (size_t byte = first; byte < end;) {
        const size_t word = byte / WORD, next = std::min(end, (word + 1) * WORD);
        if (!region->apart[word] && next - byte == WORD) {
            access_cell(region->words[word], *region, byte, now, write, pc);
            byte = next;
            continue;
        }
        if (!region->apart[word]) {
            std::fill_n(region->single + word * WORD, WORD, region->words[word]);
            region->apart[word] = true;
        }
        for (; byte < next; ++byte) access_cell(region->single[byte], *region, byte, now, write, pc);
    }
}

// A thread-local array of the program.
struct Symbol { std::string name; size_t offset, bytes; };
std::vector<Symbol> shared_arrays;

extern char begin_of_image __asm__("__executable_start");
extern char end_of_image __asm__("_end");

}  // namespace

// Reads the symbols of the program's own file.
void engine::find_shared_arrays()
{
    const int file = open("/proc/self/exe", O_RDONLY);
    struct stat about{};
    if (file < 0 || fstat(file, &about) != 0) fault("engine", "cannot read /proc/self/exe", nullptr, {});
    void* const mapped = mmap(nullptr, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) fault("engine", "cannot read /proc/self/exe", nullptr, {});
    close(file);
    const char* const bytes = (const char*)mapped;
    const auto* head = (const ElfW(Ehdr)*)bytes;
    const auto* sections = (const ElfW(Shdr)*)(bytes + head->e_shoff);
    for (int s = 0; s < head->e_shnum; ++s) {
        if (sections[s].sh_type != SHT_SYMTAB) continue;
        const auto* symbols = (const ElfW(Sym)*)(bytes + sections[s].sh_offset);
        const char* names = bytes + sections[sections[s].sh_link].sh_offset;
        for (size_t k = 0; k < sections[s].sh_size / sizeof(ElfW(Sym)); ++k) {
            if ((symbols[k].st_info & 15) != STT_TLS || symbols[k].st_size == 0) continue;
            const char* mangled = names + symbols[k].st_name;
            if (strncmp(mangled, "eigenforge_guard_", 17) == 0) continue;
            char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
            shared_arrays.push_back({plain ? plain : mangled, (size_t)symbols[k].st_value, (size_t)symbols[k].st_size});
            free(plain);
        }
    }
    munmap(mapped, about.st_size);
}

bool engine::has_address_sanitizer() { return &__asan_poison_memory_region != nullptr; }

char* engine::place_argument(int number, size_t bytes, Access access)
{
    char* at = nullptr;
    if (has_address_sanitizer()) {
        // The heap: exactly as long as the argument, with the sanitizer's red zones around it.
        void* memory = nullptr;
        if (posix_memalign(&memory, 256, bytes) != 0) fault("memory", "an argument does not fit in memory", nullptr, {});
        at = (char*)memory;
        arguments.push_back(at);
        if (access == Access::Out) memset(at, 0xff, bytes);
        return at;
    }
    if (!arena) {
        const size_t size = (size_t)1 << 36;
        void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) fault("memory", "no address space for the arguments", nullptr, {});
        arena = (char*)memory;
        arena_end = arena + size;
    }
    arena_used += GAP;
    at = arena + arena_used;
    arena_used += (bytes + GAP - 1) / GAP * GAP;
    if (arena + arena_used + GAP > arena_end) fault("memory", "the arguments do not fit in 64 GiB", nullptr, {});
    if (access == Access::Out) memset(at, 0xff, bytes);
    Region region{at, bytes, text("argument %d", number), false, access != Access::In, access != Access::Out};
    region.remember();
    regions.push_back(std::move(region));
    return at;
}

void engine::find_shared_memory(size_t dynamic_bytes)
{
    image = &begin_of_image;
    image_end = &end_of_image;
    auto main_program = [](dl_phdr_info* info, size_t, void*) {
        for (int k = 0; k < info->dlpi_phnum; ++k) {
            if (info->dlpi_phdr[k].p_type != PT_TLS || !info->dlpi_tls_data) continue;
            tls = (char*)info->dlpi_tls_data;
            tls_end = tls + info->dlpi_phdr[k].p_memsz;
        }
        return 1;  // the first is the program itself
    };
    dl_iterate_phdr(main_program, nullptr);
    for (const Symbol& symbol : shared_arrays) {
        bool dynamic = false;
        for (const char* const* name = eigenforge_dynamic; *name; ++name) dynamic |= symbol.name == *name;
        const size_t bytes = dynamic ? dynamic_bytes : symbol.bytes;
        Region region{tls + symbol.offset, bytes, text("shared memory '%s'", symbol.name.c_str()), true, true, false};
        if (!has_address_sanitizer()) region.remember();
        regions.push_back(std::move(region));
    }
    if (has_address_sanitizer() && tls) {
        __asan_poison_memory_region(tls, tls_end - tls);
        for (const Region& region : regions) __asan_unpoison_memory_region(region.begin, region.bytes);
    }
}

void engine::forget_memory()
{
    for (Region& region : regions) {
        if (!has_address_sanitizer()) region.forget();
    }
    regions.clear();
    for (char* argument : arguments) free(argument);
    arguments.clear();
    // What large arguments took is given back.
    if (arena_used > KEPT) madvise(arena, arena_used, MADV_DONTNEED);
    arena_used = 0;
    epoch = 1;
    clocks.clear();
    known.clear();
    published.clear();
}

void engine::begin_block()
{
    for (const Region& region : regions) {
        if (region.shared) memset(region.begin, 0xff, region.bytes);  // NaN, as double and as float
    }
    if (has_address_sanitizer()) return;
    if (clocks.size() != fibers.size()) {
        clocks.assign(fibers.size(), 1);
        known.assign(fibers.size(), {});
    }
    for (std::vector<View>* views : {&fenced, &taken, &seen}) views->assign(fibers.size(), View());
    seen_by_block.clear();
    barrier_passed();
}

void engine::barrier_passed()
{
    ++epoch;
    for (View& view : seen) {
        add(seen_by_block, view);
        view.clear();
    }
}

void engine::lanes_synchronised(unsigned first, unsigned mask)
{
    if (has_address_sanitizer()) return;
    std::array<uint32_t, MOST_LANES> joined{};
    for (unsigned lane = 0; lane < (unsigned)warpSize; ++lane) {
        if (!(mask >> lane & 1)) continue;
        known[first + lane][lane] = clocks[first + lane];
        for (unsigned other = 0; other < (unsigned)warpSize; ++other) joined[other] = std::max(joined[other], known[first + lane][other]);
    }
    for (unsigned lane = 0; lane < (unsigned)warpSize; ++lane) {
        if (!(mask >> lane & 1)) continue;
        known[first + lane] = joined;
        ++clocks[first + lane];
    }
}

// What the compiler says of an operation that is not defined, as the sanitizer's library reads it.
struct Place { const char* file; uint32_t line, column; };
struct Type { uint16_t kind, about; char name[1]; };
struct OfIndex { Place place; const Type *array, *index; };
struct OfOperation { Place place; const Type* type; };
struct OfAccess { Place place; const Type* type; unsigned char log_alignment, kind; };

[[noreturn]] void undefined(const char* kind, const Place& place, const std::string& message)
{
    fault(kind, message, current, {Site{0, (int)place.line, place.file}});
}
// A number of at most 64 bits; wider ones are passed by address.
std::string number(const Type& type, uintptr_t value)
{
    const unsigned bits = 1u << (type.about >> 1);
    if (type.kind != 0 || bits > 64) return "a number";
    if (!(type.about & 1)) return text("%zu", (size_t)value);
    return text("%td", (ptrdiff_t)((intptr_t)(value << (64 - bits)) >> (64 - bits)));
}
[[noreturn]] void overflow(const OfOperation& of)
{
    undefined("undefined arithmetic", of.place, text("the result is no number of the type %s", of.type->name));
}

extern "C" {
void __ubsan_handle_out_of_bounds_abort(OfIndex* of, uintptr_t index)
{
    undefined("index out of bounds", of->place, text("index %s out of bounds for type %s", number(*of->index, index).c_str(), of->array->name));
}
void __ubsan_handle_shift_out_of_bounds_abort(OfIndex* of, uintptr_t, uintptr_t by)
{
    undefined("undefined arithmetic", of->place, text("a shift by %s bits", number(*of->index, by).c_str()));
}
void __ubsan_handle_divrem_overflow_abort(OfOperation* of, uintptr_t, uintptr_t by)
{
    if (of->type->kind == 0 && number(*of->type, by) != "0") overflow(*of);
    undefined("division by zero", of->place, "division by zero");
}
void __ubsan_handle_add_overflow_abort(OfOperation* of, uintptr_t, uintptr_t) { overflow(*of); }
void __ubsan_handle_sub_overflow_abort(OfOperation* of, uintptr_t, uintptr_t) { overflow(*of); }
void __ubsan_handle_mul_overflow_abort(OfOperation* of, uintptr_t, uintptr_t) { overflow(*of); }
void __ubsan_handle_negate_overflow_abort(OfOperation* of, uintptr_t) { overflow(*of); }
void __ubsan_handle_type_mismatch_v1_abort(OfAccess* of, uintptr_t at)
{
    undefined("misaligned access", of->place, text("an address that %u does not divide, for type %s", 1u << of->log_alignment, of->type->name));
    (void)at;
}
void __stack_chk_fail()
{
    fault("out of bounds write", "a local array was written past its end", current, {Site{(uintptr_t)__builtin_return_address(0)}});
}
void eigenforge_atomic(void* at, unsigned long bytes, int, const char*)
{
    if (has_address_sanitizer()) return;
    access((char*)at, bytes, true, true, true, (uintptr_t)__builtin_return_address(0));
    const uint32_t me = current->number;
    View& here = published[(const char*)at];
    add(taken[me], here);
    add(here, fenced[me]);
}
void eigenforge_fence()
{
    if (has_address_sanitizer()) return;
    const uint32_t me = current->number;
    add(seen[me], taken[me]);
    taken[me].clear();
    fenced[me] = seen_by_block;
    add(fenced[me], seen[me]);
    fenced[me].push_back({block_number, epoch, me, ++clocks[me]});
}
#define EIGENFORGE_PC (uintptr_t)__builtin_return_address(0)
#define EIGENFORGE_HOOKS(size) \
    void __tsan_read##size(void* at) { access((char*)at, size, false, false, true, EIGENFORGE_PC); } \
    void __tsan_write##size(void* at) { access((char*)at, size, true, false, true, EIGENFORGE_PC); } \
    void __tsan_unaligned_read##size(void* at) { access((char*)at, size, false, false, false, EIGENFORGE_PC); } \
    void __tsan_unaligned_write##size(void* at) { access((char*)at, size, true, false, false, EIGENFORGE_PC); }
EIGENFORGE_HOOKS(1)
EIGENFORGE_HOOKS(2)
EIGENFORGE_HOOKS(4)
EIGENFORGE_HOOKS(8)
EIGENFORGE_HOOKS(16)
void __tsan_read_range(void* at, size_t size) { access((char*)at, size, false, false, false, EIGENFORGE_PC); }
void __tsan_write_range(void* at, size_t size) { access((char*)at, size, true, false, false, EIGENFORGE_PC); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void* __tsan_memcpy(void* to, const void* from, size_t size)
{
    access((char*)from, size, false, false, false, EIGENFORGE_PC);
    access((char*)to, size, true, false, false, EIGENFORGE_PC);
    return memcpy(to, from, size);
}
void* __tsan_memset(void* to, int value, size_t size)
{
    access((char*)to, size, true, false, false, EIGENFORGE_PC);
    return memset(to, value, size);
}
}
