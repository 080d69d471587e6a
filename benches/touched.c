/* Which functions of a module a program enters: a breakpoint at each, taken out when it is met.
 * touched forked MODULE SYMBOLS PROGRAM ARGUMENTS...    in its forked children, but the first
 * touched loaded MODULE SYMBOLS PROGRAM ARGUMENTS...    in the program itself, from when it maps the module
 * SYMBOLS is a file of lines "ADDRESS SIZE NAME" (hexadecimal, as nm -S prints). Writes the lines of functions entered, in the order in which
 * they were, to descriptor 3. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct symbol { unsigned long address; char *line; unsigned char byte; int armed, seen; };
static struct symbol *symbols;
static size_t count;

static int by_address(const void *a, const void *b) {
	unsigned long x = ((const struct symbol *)a)->address, y = ((const struct symbol *)b)->address;
	return x < y ? -1 : x > y;
}

static void read_symbols(const char *path) {
	FILE *f = fopen(path, "r");
	char line[8192];
	if (!f) { perror(path); exit(1); }
	while (fgets(line, sizeof line, f)) {
		symbols = realloc(symbols, (count + 1) * sizeof *symbols);
		symbols[count++] = (struct symbol){ .address = strtoul(line, NULL, 16), .line = strdup(line) };
	}
	fclose(f);
	qsort(symbols, count, sizeof *symbols, by_address);
}

/* Where the module lies in a process. */
static unsigned long base(pid_t pid, const char *module) {
	char path[64], line[8192];
	unsigned long start = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (f && !start && fgets(line, sizeof line, f))
		if (strstr(line, module)) start = strtoul(line, NULL, 16);
	if (f) fclose(f);
	return start;
}

/* Whether a process has the module's code. */
static int has_code(pid_t pid, const char *module) {
	char path[64], line[8192];
	int found = 0;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof line, f)) found = strstr(line, module) && strstr(line, " r-xp ");
	if (f) fclose(f);
	return found;
}

static int memory = -1;

/* Sets a breakpoint at each function in a process that stands still, where the module begins at `start`. */
static void arm(pid_t pid, unsigned long start) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	if (memory >= 0) close(memory);
	memory = open(path, O_RDWR | O_CLOEXEC);
	for (size_t i = 0; start && i < count; i++) {
		struct symbol *s = symbols + i;
		if (i && s->address == s[-1].address) continue;
		if (pread(memory, &s->byte, 1, start + s->address) != 1) continue;
		s->armed = pwrite(memory, "\xcc", 1, start + s->address) == 1;
	}
}

int main(int argc, char **argv) {
	int loaded = argc > 1 && !strcmp(argv[1], "loaded");
	if (argc < 5 || (!loaded && strcmp(argv[1], "forked"))) { fprintf(stderr, "use: touched forked|loaded MODULE SYMBOLS PROGRAM ARGUMENTS...\n"); return 2; }
	const char *module = argv[2];
	read_symbols(argv[3]);
	FILE *out = fdopen(3, "w");
	if (!out) { perror("descriptor 3"); return 2; }
	fcntl(3, F_SETFD, FD_CLOEXEC);
	pid_t first = fork(), other = 0, child = 0;
	if (!first) { ptrace(PTRACE_TRACEME, 0, 0, 0); execvp(argv[4], argv + 4); _exit(127); }
	int status;
	unsigned long start = 0;
	waitpid(first, &status, 0);
	/* Children of a program that is traced itself exec, and are left alone. */
	ptrace(PTRACE_SETOPTIONS, first, 0, PTRACE_O_EXITKILL | (loaded ? PTRACE_O_TRACESYSGOOD : PTRACE_O_TRACEFORK));
	ptrace(loaded ? PTRACE_SYSCALL : PTRACE_CONT, first, 0, 0);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0) break;
		if (!WIFSTOPPED(status)) { if (pid == first) break; continue; }
		int number = WSTOPSIG(status);
		if (loaded && !child) {
			if (number == (SIGTRAP | 0x80) && has_code(pid, module)) {
				child = pid; start = base(pid, module);
				arm(pid, start);
			}
			ptrace(child ? PTRACE_CONT : PTRACE_SYSCALL, pid, 0, number & 0x80 || number == SIGTRAP ? 0 : number);
			continue;
		}
		if (!loaded && pid != first && !other) { other = pid; ptrace(PTRACE_DETACH, pid, 0, 0); continue; }
		if (!loaded && pid != first && pid != child) {
			child = pid; start = base(pid, module);
			arm(pid, start);
			ptrace(PTRACE_CONT, pid, 0, 0);
			continue;
		}
		if (pid == child && number == SIGTRAP && !(status >> 16)) {
			struct user_regs_struct r;
			ptrace(PTRACE_GETREGS, pid, 0, &r);
			struct symbol sought = { .address = r.rip - 1 - start }, *s = bsearch(&sought, symbols, count, sizeof sought, by_address);
			while (s && s > symbols && s[-1].address == s->address) s--;
			if (s && s->armed) {
				pwrite(memory, &s->byte, 1, start + s->address);
				if (!s->seen) for (struct symbol *t = s; t < symbols + count && t->address == s->address; t++) { t->seen = 1; fputs(t->line, out); }
				r.rip--;
				ptrace(PTRACE_SETREGS, pid, 0, &r);
			}
			ptrace(PTRACE_CONT, pid, 0, 0);
			continue;
		}
		ptrace(PTRACE_CONT, pid, 0, (status >> 16) || number == SIGTRAP || number == SIGSTOP ? 0 : number);
	}
	return fclose(out) != 0;
}
