/* Filters of system calls that kill, made of what the same program does with stock OpenSSL: for the programs of tests/sandbox.rs
 * of each module.
 *
 * `record` runs a scenario and prints the numbers of the system calls made after `close_sandbox`, in all threads and children;
 * `confine` runs one with a filter that allows those alone, and kills the process for any other; or, where the list begins with
 * an exclamation mark, kills for those in it alone. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 1024
static const char MARK[] = "closed";

/* The calls allowed; NULL while recording. */
static const char *allowed_calls;

/* From here on the sandbox is closed, for all threads. */
static void close_sandbox(void) {
    static struct sock_filter steps[2 * CALLS + 2];
    size_t count = 0;
    if (allowed_calls == NULL) {
        prctl(PR_SET_NAME, MARK);
        return;
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    int denies = *allowed_calls == '!';
    unsigned found = denies ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
    unsigned other = denies ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
    for (const char *at = allowed_calls + denies; *at != '\0' && count < 2 * CALLS;) {
        char *end;
        unsigned long number = strtoul(at, &end, 10);
        if (end == at)
            break;
        at = end + (*end == ',');
        steps[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, found);
    }
    steps[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
    struct sock_fprog program = {count, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        perror("seccomp");
        _exit(3);
    }
}

static int confine(const char *allowed, void (*scenario)(void)) {
    allowed_calls = allowed;
    scenario();
    return 0;
}

/* Gives the scenario's exit status; 77 where tracing is not allowed. */
static int record(void (*scenario)(void)) {
    static char seen[CALLS];
    int closed = 0, status, result = 1;
    fflush(stdout);
    pid_t first = fork();
    if (first == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(77);
        raise(SIGSTOP);
        scenario();
        fflush(stdout);
        _exit(0);
    }
    if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status))
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, first, 0, options) != 0 || ptrace(PTRACE_SYSCALL, first, 0, 0) != 0)
        return 77;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == ECHILD)
            break;
        if (thread < 0)
            continue;
        if (!WIFSTOPPED(status)) {
            if (thread == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            memset(&info, 0, sizeof info);
            if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                if (closed && info.entry.nr < CALLS)
                    seen[info.entry.nr] = 1;
                if (info.entry.nr == SYS_prctl && info.entry.args[0] == PR_SET_NAME &&
                    (const char *)(size_t)info.entry.args[1] == MARK)
                    closed = 1;
            }
            signal = 0;
        } else if (signal == SIGTRAP || signal == SIGSTOP) {
            /* Of the tracing itself: a new thread, its first stop. */
            signal = 0;
        }
        ptrace(PTRACE_SYSCALL, thread, 0, signal);
    }
    for (int i = 0; i < CALLS; i++)
        if (seen[i])
            printf("%d,", i);
    printf("\n");
    return result;
}
