/* Every function where nearly nothing is left: without descriptors, in an empty root as another user, and allowed only what touches the
 * process's own memory. `confined closed|chroot|seccomp`. */
#include "all.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/resource.h>

static void everything(unsigned int step)
{
	unsigned int i;

	for (i = 0; i < call_count; i += step) {
		int bad = ordinary(&calls[i], 0);

		if (bad)
			wrong(&calls[i], "confined", bad, 0);
	}
	for (i = 0; i < script_count; i++)
		run_script(i);
}

/* The program says by its status that all went well: it may have nowhere to write. */
static int without_descriptors(void)
{
	int i, report = 200;

	CHECK(dup2(1, report) == report);
	for (i = 0; i < report; i++)
		close(i);
	add_all(LINKED);
	everything(7);
	/* What the program opens gets the lowest number: nothing of ours is in the way, before or after. */
	for (i = 0; i < report; i++)
		if (fcntl(i, F_GETFD) >= 0)
			return 2;
	CHECK(open("/dev/null", O_RDWR) == 0);
	everything(11);
	for (i = 1; i < report; i++)
		if (fcntl(i, F_GETFD) >= 0)
			return 3;
	return write(report, "good\n", 5) != 5;
}

/* False where this user cannot. */
static int in_an_empty_root(void)
{
	char folder[] = "/tmp/adjunct-empty-XXXXXX";

	if (geteuid() != 0) {
		puts("SKIPPED: only root can change its root");
		return 0;
	}
	CHECK(mkdtemp(folder) && !chdir(folder) && !rmdir(folder));
	/* The folder is there as long as we are in it, and has no name any more. */
	CHECK(!chroot(".") && open("anything", O_RDWR | O_CREAT, 0600) < 0);
	return 1;
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void forbidden(int signal, siginfo_t *info, void *context)
{
	char text[] = "forbidden system call 000\n";
	int number = info->si_syscall;

	(void)signal;
	(void)context;
	text[22] = '0' + number / 100 % 10;
	text[23] = '0' + number / 10 % 10;
	text[24] = '0' + number % 10;
	_exit(write(2, text, sizeof text - 1) < 0 ? 4 : 5);
}

/* What sshd's children may do, and less: memory, waiting, random bytes, who one is. */
static void only_memory(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(brk), ALLOW(futex),
		ALLOW(getrandom), ALLOW(clock_gettime), ALLOW(getpid), ALLOW(geteuid), ALLOW(rt_sigprocmask), ALLOW(write),
		ALLOW(rt_sigreturn), ALLOW(exit), ALLOW(exit_group),
		/* The program's own. */
		ALLOW(setitimer),
#ifdef SYS_alarm
		ALLOW(alarm),
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	struct sigaction action = {.sa_sigaction = forbidden, .sa_flags = SA_SIGINFO};

	CHECK(!sigaction(SIGSYS, &action, NULL));
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(how, "closed"))
		return without_descriptors();
	if (!strcmp(how, "chroot") && !in_an_empty_root())
		return 0;
	if (!strcmp(how, "chroot"))
		CHECK(!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	if (!strcmp(how, "seccomp")) {
		unsigned char key[57];

		/* The functions are looked up first: that reads nothing more, but is the program's part. And Curve448 is
		 * libcrypto's, which reads its configuration when it is first used. */
		find(LINKED);
		if (curve448())
			ed448_makes(key, key);
		only_memory();
	}
	add_all(LINKED);
	everything(5);
	return write(1, "good\n", 5) != 5;
}
