/* Which functions of a module the forked children of a program enter: a breakpoint at each, taken out when it is met.
 * touched MODULE SYMBOLS PROGRAM ARGUMENTS...
 * SYMBOLS is a file of lines "ADDRESS SIZE NAME" (hexadecimal, as nm -S prints). The first child of PROGRAM is left alone. Prints the lines of
 * functions entered, in the order in which they were. */
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

int main(int argc, char **argv) {
	if (argc < 4) { fprintf(stderr, "use: touched MODULE SYMBOLS PROGRAM ARGUMENTS...\n"); return 2; }
	read_symbols(argv[2]);
	pid_t first = fork(), other = 0, child = 0;
	if (!first) { ptrace(PTRACE_TRACEME, 0, 0, 0); execvp(argv[3], argv + 3); _exit(127); }
	int status, memory = -1;
	unsigned long start = 0;
	waitpid(first, &status, 0);
	ptrace(PTRACE_SETOPTIONS, first, 0, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, first, 0, 0);
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0) break;
		if (!WIFSTOPPED(status)) { if (pid == first) break; continue; }
		int number = WSTOPSIG(status);
		if (pid != first && !other) { other = pid; ptrace(PTRACE_DETACH, pid, 0, 0); continue; }
		if (pid != first && pid != child) {
			char path[64];
			child = pid; start = base(pid, argv[1]);
			snprintf(path, sizeof path, "/proc/%d/mem", pid);
			if (memory >= 0) close(memory);
			memory = open(path, O_RDWR);
			for (size_t i = 0; start && i < count; i++) {
				struct symbol *s = symbols + i;
				if (i && s->address == s[-1].address) continue;
				if (pread(memory, &s->byte, 1, start + s->address) != 1) continue;
				s->armed = pwrite(memory, "\xcc", 1, start + s->address) == 1;
			}
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
				if (!s->seen) for (struct symbol *t = s; t < symbols + count && t->address == s->address; t++) { t->seen = 1; fputs(t->line, stdout); }
				r.rip--;
				ptrace(PTRACE_SETREGS, pid, 0, &r);
			}
			ptrace(PTRACE_CONT, pid, 0, 0);
			continue;
		}
		ptrace(PTRACE_CONT, pid, 0, (status >> 16) || number == SIGTRAP || number == SIGSTOP ? 0 : number);
	}
	return 0;
}
