// PROGRAM REPORT SECONDS: serves launches until its input ends. They are read from standard input and run, one after the other, by a process
// forked from this one; the answer, a wait status and the bytes of the written buffers, goes to standard output. A fault goes to REPORT and
// ends that process with status 3, which this one answers; the next launch has a new process. What a launch knows of its memory is
// forgotten after it, and the stacks of its threads stay: making them anew took a third of the time. All numbers are in the machine's byte order; request.rs and server.rs write and read them.
#include "engine.hpp"
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <cerrno>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace eigenforge {
struct Entry {
    const char* name;
    void (*run)(void**);
    const char* kinds;
};
extern const Entry entries[];  // ended by a null name
}  // namespace eigenforge
using namespace engine;

EIGENFORGE_GUARD(last)

std::string engine::report_path;

std::string engine::text(const char* format, ...)
{
    char buffer[512];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    return buffer;
}

namespace {
void write_place(FILE* file, const Fiber* thread)
{
    if (!thread) return;
    fprintf(file, "block %u %u %u\nthread %u %u %u\n", blockIdx.x, blockIdx.y, blockIdx.z, thread->index.x, thread->index.y,
            thread->index.z);
}

std::vector<char> request;
size_t position = 0;
template <class T> T take()
{
    T value{};
    if (request.size() - position < sizeof value) fault("request", "the request is cut short", nullptr, {});
    memcpy(&value, request.data() + position, sizeof value);
    position += sizeof value;
    return value;
}
const char* take_bytes(size_t size)
{
    if (request.size() - position < size) fault("request", "the request is cut short", nullptr, {});
    position += size;
    return request.data() + position - size;
}

// A fault that the processor or the clock found.
void on_signal(int number, siginfo_t* info, void* context)
{
    uintptr_t pc = 0;
#if defined(__x86_64__)
    pc = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] + 1;
#elif defined(__aarch64__)
    pc = (uintptr_t)((ucontext_t*)context)->uc_mcontext.pc + 1;
#endif
    if (number == SIGALRM) fault("endless", "the launch did not end in its time", current, {Site{pc}});
    if (number == SIGFPE) fault("division by zero", "an integer division by zero, or one that overflows", current, {Site{pc}});
    fault("wild pointer", text("signal %d at address %p", number, info->si_addr), current, {Site{pc}});
}
}  // namespace

void engine::fault(const char* kind, const std::string& message, const Fiber* thread, const std::vector<Site>& sites)
{
    FILE* file = fopen(report_path.c_str(), "w");
    if (!file) file = stderr;
    fprintf(file, "kind %s\nmessage %s\n", kind, message.c_str());
    write_place(file, thread);
    for (const Site& site : sites) fprintf(file, "site %zx %d %s\n", (size_t)site.pc, site.line, site.file);
    fflush(file);
    _exit(3);
}

// The sanitizers call these before they print their reports.
extern "C" void __asan_on_error();
extern "C" void __ubsan_on_report() { __asan_on_error(); }
extern "C" void __asan_on_error()
{
    FILE* file = fopen(report_path.c_str(), "w");
    if (!file) return;
    write_place(file, current);
    fclose(file);
}

// False at the end of the input, or where the other side is gone.
static bool read_all(void* to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = read(0, (char*)to + done, bytes - done);
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got > 0) done += got;
    }
    return true;
}
static bool write_all(const void* from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t put = write(1, (const char*)from + done, bytes - done);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) done += put;
    }
    return true;
}

// Runs the launch of `request` and writes the answer. False where the other side is gone.
static bool run_launch(unsigned seconds)
{
    position = 0;
    const uint32_t length = take<uint32_t>();
    const std::string name(take_bytes(length), length);
    launch.grid = take<Triple>();
    launch.block = take<Triple>();
    launch.shared_bytes = take<uint32_t>();
    launch.schedule = take<uint32_t>();
    launch.seed = take<uint64_t>();
    const uint32_t arguments = take<uint32_t>();
    const eigenforge::Entry* entry = eigenforge::entries;
    while (entry->name && name != entry->name) ++entry;
    if (!entry->name) fault("arguments", "there is no kernel '" + name + "' in this file", nullptr, {});
    const std::string kinds = entry->kinds;
    if (kinds.size() != arguments) {
        fault("arguments", text("%s takes %zu arguments and got %u", name.c_str(), kinds.size(), arguments), nullptr, {});
    }
    struct Value {
        uint64_t scalar;
        char* memory;
        size_t bytes;
        bool written;
    };
    std::vector<Value> values(arguments);
    std::vector<void*> pointers(arguments);
    for (uint32_t k = 0; k < arguments; ++k) {
        const char kind = take<char>(), access = take<char>();
        if (kind != kinds[k]) {
            fault("arguments", text("%s takes a '%c' as argument %u and got a '%c' (p pointer, l i64, L u64, i int, I u32, d double, f float)",
                                    name.c_str(), kinds[k], k, kind), nullptr, {});
        }
        if (kind != 'p') {
            values[k] = {take<uint64_t>(), nullptr, 0, false};
            pointers[k] = &values[k].scalar;
            continue;
        }
        const uint64_t bytes = take<uint64_t>();
        const Access how = access == 'r' ? Access::In : access == 'w' ? Access::Out : Access::InOut;
        char* const memory = place_argument((int)k, bytes, how);
        if (how != Access::Out) memcpy(memory, take_bytes(bytes), bytes);
        values[k] = {0, memory, (size_t)bytes, how != Access::In};
        pointers[k] = &values[k].memory;
    }
    launch.entry = entry->run;
    launch.arguments = pointers.data();
    find_shared_memory(launch.shared_bytes);

    static char signal_stack[1 << 16];
    stack_t stack{};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof signal_stack;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGALRM, &action, nullptr);
    sigaction(SIGFPE, &action, nullptr);
    if (!has_address_sanitizer()) {
        sigaction(SIGSEGV, &action, nullptr);
        sigaction(SIGBUS, &action, nullptr);
    }
    alarm(seconds);
    run_all_blocks();
    alarm(0);
    const int64_t done = 0;
    bool told = write_all(&done, sizeof done);
    for (const Value& value : values) {
        if (value.written) told = told && write_all(value.memory, value.bytes);
    }
    forget_memory();
    return told;
}

// Launches until the input ends.
static void serve(unsigned seconds)
{
    for (uint64_t sizes[2]; read_all(sizes, sizeof sizes);) {  // of the request, and of the result
        request.resize(sizes[0]);
        if (!read_all(request.data(), sizes[0])) _exit(2);
        unlink(report_path.c_str());
        if (!run_launch(seconds)) _exit(2);
    }
    _exit(0);
}

int main(int count, char** words)
{
    if (count != 3) {
        fprintf(stderr, "usage: %s REPORT SECONDS, launches on standard input\n", words[0]);
        return 2;
    }
    report_path = words[1];
    find_shared_arrays();
    for (;;) {
        const pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) serve((unsigned)atoi(words[2]));
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
        // The end of the input, or of the other side.
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2)) return WEXITSTATUS(status);
        const int64_t answer = status;
        if (!write_all(&answer, sizeof answer)) return 2;
    }
}
