// Runs one block after the other; the threads of a block are fibers that take turns at barriers and warp operations.
// In: the launch. Out: the kernel's effects, or a report of a divergent barrier, a deadlock or a wrong mask.
#include "engine.hpp"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

extern "C" {
Triple threadIdx, blockIdx, blockDim, gridDim;
}

namespace engine {
Launch launch;
std::vector<Fiber> fibers;
Fiber* current = nullptr;
uint32_t block_number = 0;
char* stacks = nullptr;
}  // namespace engine
using namespace engine;

EIGENFORGE_GUARD(first)

namespace {

unsigned done = 0;
uint64_t random_state = 0;

uint64_t random_below(uint64_t n)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) % n;
}
template <class T> void shuffle(std::vector<T>& list)
{
    for (size_t k = list.size(); k > 1; --k) std::swap(list[k - 1], list[random_below(k)]);
}

void body()
{
    launch.entry(launch.arguments);
    current->state = State::Done;
    ++done;
}

#if defined(__x86_64__)
void* scheduler_stack = nullptr;
extern "C" void eigenforge_switch(void** save, void* load);
asm(R"(
.text
.globl eigenforge_switch
.type eigenforge_switch, @function
eigenforge_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size eigenforge_switch, . - eigenforge_switch
)");
void to_scheduler() { eigenforge_switch(&current->stack_pointer, scheduler_stack); }
void start()
{
    body();
    to_scheduler();
    __builtin_trap();
}
void prepare(Fiber& fiber)
{
    void** top = (void**)(fiber.stack + STACK);
    top[-1] = nullptr;
    top[-2] = (void*)start;  // where the first switch returns to
    for (int k = 3; k <= 8; ++k) top[-k] = nullptr;
    fiber.stack_pointer = top - 8;
}
void to_fiber(Fiber& fiber) { eigenforge_switch(&scheduler_stack, fiber.stack_pointer); }
#else
ucontext_t scheduler_context;
std::vector<ucontext_t> contexts;
void to_scheduler() { swapcontext(&contexts[current->number], &scheduler_context); }
void start()
{
    body();
    to_scheduler();
}
void prepare(Fiber& fiber)
{
    contexts.resize(fibers.size());
    ucontext_t& context = contexts[fiber.number];
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
}
void to_fiber(Fiber& fiber) { swapcontext(&scheduler_context, &contexts[fiber.number]); }
#endif

bool run(Fiber& fiber)
{
    if (fiber.state != State::Ready) return false;
    current = &fiber;
    threadIdx = fiber.index;
    to_fiber(fiber);
    current = nullptr;
    return true;
}

void wait(State state, const Site& site)
{
    current->state = state;
    current->site = site;
    to_scheduler();
}

const char* operation(const Fiber& fiber)
{
    const char* names[] = {"__syncwarp", "ballot", "shuffle"};
    return fiber.state == State::Barrier ? "__syncthreads" : names[fiber.kind];
}
unsigned first_of_warp(unsigned thread) { return thread / warpSize * warpSize; }
unsigned lanes_of_warp() { return (unsigned)warpSize; }
std::string mask_text(unsigned mask) { return text("mask %#010x", mask); }

// The compiler may copy a call, so that one line has several addresses.
bool same_line(const Site& a, const Site& b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

bool same_operation(const Fiber& a, const Fiber& b)
{
    return b.state == State::Warp && a.kind == b.kind && a.mask == b.mask && (a.kind == 0 || same_line(a.site, b.site));
}

// The caller's warp operation, when all lanes of its mask have come.
void complete_warp(Fiber& last)
{
    const unsigned first = first_of_warp(last.number), lanes = lanes_of_warp();
    // From the next lane on: most often it has not come yet.
    for (unsigned lane = last.number - first + 1, left = lanes; left > 0; ++lane, --left) {
        if (lane >= lanes) lane = 0;
        if ((last.mask >> lane & 1) && !same_operation(last, fibers[first + lane])) return;
    }
    unsigned ballot = 0;
    unsigned long long values[MOST_LANES] = {};
    for (unsigned lane = 0; lane < lanes_of_warp(); ++lane) {
        if (!(last.mask >> lane & 1)) continue;
        values[lane] = fibers[first + lane].bits;
        ballot |= (unsigned)(values[lane] & 1) << lane;
    }
    for (unsigned lane = 0; lane < lanes_of_warp(); ++lane) {
        if (!(last.mask >> lane & 1)) continue;
        Fiber& fiber = fibers[first + lane];
        if (fiber.kind == 1) fiber.bits = ballot;
        if (fiber.kind == 2) {
            if (!(last.mask >> fiber.source & 1)) {
                fault("wrong mask", text("lane %u takes a shuffle's value from lane %d, which is not in its %s", lane,
                                         fiber.source, mask_text(last.mask).c_str()), &fiber, {fiber.site});
            }
            fiber.bits = values[fiber.source];
        }
        fiber.state = State::Ready;
    }
    if (last.kind == 0) lanes_synchronised(first, last.mask);
}

// Nobody can go on: all at one barrier, or a fault.
void release_barrier()
{
    const Fiber* waiting = nullptr;
    for (const Fiber& fiber : fibers) {
        if (fiber.state != State::Warp) continue;
        for (unsigned lane = 0; lane < lanes_of_warp(); ++lane) {
            const Fiber& other = fibers[first_of_warp(fiber.number) + lane];
            if (!(fiber.mask >> lane & 1) || same_operation(fiber, other)) continue;
            std::string message = text("thread %u waits at a %s whose %s names lane %u; ", fiber.number, operation(fiber),
                                       mask_text(fiber.mask).c_str(), lane);
            if (other.state == State::Done) {
                fault("warp deadlock", message + "that lane has left the kernel", &fiber, {fiber.site});
            }
            message += text("that lane waits at another %s", operation(other));
            if (other.state == State::Warp) message += " with " + mask_text(other.mask);
            fault("warp deadlock", message, &fiber, {fiber.site, other.site});
        }
    }
    for (const Fiber& fiber : fibers) {
        if (fiber.state == State::Barrier && !waiting) waiting = &fiber;
    }
    for (const Fiber& fiber : fibers) {
        if (fiber.state == State::Done) {
            fault("divergent barrier", text("thread %u waits at __syncthreads and thread %u has left the kernel",
                                            waiting->number, fiber.number), waiting, {waiting->site});
        }
        if (!same_line(fiber.site, waiting->site)) {
            fault("divergent barrier", text("thread %u waits at one __syncthreads and thread %u at another", waiting->number,
                                            fiber.number), waiting, {waiting->site, fiber.site});
        }
    }
    for (Fiber& fiber : fibers) fiber.state = State::Ready;
    barrier_passed();
}

bool one_pass()
{
    bool progress = false;
    const size_t n = fibers.size();
    if (launch.schedule == 0) {
        for (size_t t = 0; t < n; ++t) progress |= run(fibers[t]);
    } else if (launch.schedule == 1) {
        for (size_t t = n; t-- > 0;) progress |= run(fibers[t]);
    } else {
        // One warp after the other, in random order, each as far as it comes.
        std::vector<unsigned> warps((n + lanes_of_warp() - 1) / lanes_of_warp());
        for (size_t w = 0; w < warps.size(); ++w) warps[w] = (unsigned)w;
        shuffle(warps);
        for (unsigned warp : warps) {
            std::vector<unsigned> lanes;
            for (unsigned t = warp * lanes_of_warp(); t < n && t < (warp + 1) * lanes_of_warp(); ++t) lanes.push_back(t);
            for (bool more = true; more;) {
                more = false;
                shuffle(lanes);
                for (unsigned t : lanes) more |= run(fibers[t]);
                progress |= more;
            }
        }
    }
    return progress;
}

void run_block()
{
    ++block_number;
    done = 0;
    for (Fiber& fiber : fibers) {
        fiber.state = State::Ready;
        prepare(fiber);
    }
    begin_block();
    while (done < fibers.size()) {
        if (!one_pass()) release_barrier();
    }
}

}  // namespace

extern "C" void eigenforge_barrier(int line, const char* file)
{
    wait(State::Barrier, Site{(uintptr_t)__builtin_return_address(0), line, file});
}

extern "C" unsigned long long eigenforge_warp(int kind, unsigned mask, unsigned long long bits, int source, int line, const char* file)
{
    Fiber& self = *current;
    const Site site{(uintptr_t)__builtin_return_address(0), line, file};
    const unsigned first = first_of_warp(self.number), lane = self.number - first;
    self.kind = kind;
    self.mask = mask;
    self.bits = bits;
    self.source = source;
    if (!(mask >> lane & 1)) {
        fault("wrong mask", text("lane %u calls a %s with %s, which leaves out the lane itself", lane, operation(self),
                                 mask_text(mask).c_str()), &self, {site});
    }
    const size_t lanes = std::min<size_t>(lanes_of_warp(), fibers.size() - first);
    if (lanes < MOST_LANES && mask >> lanes) {
        fault("wrong mask", text("%s names lanes that the warp, of %zu threads, does not have",
                                 mask_text(mask).c_str(), lanes), &self, {site});
    }
    self.state = State::Warp;
    self.site = site;
    complete_warp(self);
    if (self.state == State::Warp) to_scheduler();
    return self.bits;
}

void engine::run_all_blocks()
{
    const Triple grid = launch.grid, block = launch.block;
    const size_t threads = (size_t)block.x * block.y * block.z;
    // Of all launches; a launch of more threads makes them anew.
    static size_t stacks_there = 0;
    if (stacks_there < threads) {
        if (stacks) munmap(stacks, stacks_there * STACK);
        void* const memory = mmap(nullptr, threads * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) fault("memory", "no room for the stacks of the threads of a block", nullptr, {});
        stacks = (char*)memory;
        stacks_there = threads;
    }
    block_number = 0;
    fibers.clear();
    fibers.resize(threads);
    for (unsigned t = 0; t < threads; ++t) {
        fibers[t].number = t;
        fibers[t].stack = stacks + t * STACK;
        fibers[t].index = {t % block.x, t / block.x % block.y, t / block.x / block.y};
    }
    gridDim = grid;
    blockDim = block;
    random_state = launch.seed;
    std::vector<uint64_t> order((uint64_t)grid.x * grid.y * grid.z);
    for (uint64_t b = 0; b < order.size(); ++b) order[b] = launch.schedule == 1 ? order.size() - 1 - b : b;
    if (launch.schedule == 2) shuffle(order);
    for (uint64_t b : order) {
        blockIdx = {(unsigned)(b % grid.x), (unsigned)(b / grid.x % grid.y), (unsigned)(b / grid.x / grid.y)};
        run_block();
    }
}
