// What the parts of the engine share: the launch, the threads of the block that runs, and how a fault is reported.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

struct Triple { unsigned x, y, z; };
extern "C" {
extern Triple threadIdx, blockIdx, blockDim, gridDim;
extern const int warpSize;  // of the text (host.hpp)
}

// Thread-local memory that belongs to nobody: before and after the shared arrays, which are thread-local as well.
#define EIGENFORGE_GUARD(where) \
    asm(".pushsection .tbss,\"awT\",@nobits\n.balign 4096\n.type eigenforge_guard_" #where ",@object\n.size eigenforge_guard_" #where \
        ",4096\neigenforge_guard_" #where ":\n.zero 4096\n.popsection");

namespace engine {

constexpr unsigned MOST_LANES = 32;  // masks have as many bits

// A line of the kernel text: the return address of a call that the compiler put there, and, where the text itself
// says it, file and line.
struct Site {
    uintptr_t pc = 0;
    int line = 0;
    const char* file = "";
};

enum class State { Ready, Barrier, Warp, Done };

struct Fiber {
    void* stack_pointer = nullptr;
    char* stack = nullptr;
    State state = State::Ready;
    Triple index{};
    unsigned number = 0;  // in the block
    // What it waits for.
    int kind = 0;
    unsigned mask = 0;
    int source = 0;
    unsigned long long bits = 0;
    Site site;
};

struct Launch {
    Triple grid{}, block{};
    size_t shared_bytes = 0;
    unsigned schedule = 0;  // 0 forward, 1 reverse, 2 random by warp
    uint64_t seed = 0;
    void (*entry)(void**) = nullptr;
    void** arguments = nullptr;
};

constexpr size_t STACK = 128 << 10;

extern Launch launch;
extern std::vector<Fiber> fibers;
extern Fiber* current;      // the thread that runs; null in the scheduler
extern uint32_t block_number;  // counts blocks from 1, in the order of running
extern std::string report_path;
extern char* stacks;

// Writes the report and ends the process.
[[noreturn]] void fault(const char* kind, const std::string& message, const Fiber* thread, const std::vector<Site>& sites);
std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));

void run_all_blocks();

// Memory (watch.cpp).
enum class Access { In, Out, InOut };
bool has_address_sanitizer();
char* place_argument(int number, size_t bytes, Access access);
void find_shared_arrays();  // once in a program
void find_shared_memory(size_t dynamic_bytes);
void forget_memory();  // after a launch
void begin_block();                   // poisons shared memory
void barrier_passed();
void lanes_synchronised(unsigned first_thread, unsigned mask);

}  // namespace engine
