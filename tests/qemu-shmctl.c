// Preloaded into programs for s390x in qemu's user mode. Up to version 11 at least, qemu fills the mode in struct shmid_ds as
// 16 bits where s390x has 32: on a big-endian machine the mode arrives shifted, and ours refuses a segment of a strange mode.
// This shifts it back, in either direction.

#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

int shmctl(int id, int command, struct shmid_ds *ds) {
    if (command == IPC_SET) {
        struct shmid_ds shifted = *ds;
        shifted.shm_perm.mode <<= 16;
        return (int)syscall(SYS_shmctl, id, command, &shifted);
    }
    int result = (int)syscall(SYS_shmctl, id, command, ds);
    // SHM_STAT and SHM_STAT_ANY (13, 15) fill what IPC_STAT fills.
    if (result >= 0 && (command == IPC_STAT || command == 13 || command == 15) && ds->shm_perm.mode >> 16)
        ds->shm_perm.mode >>= 16;
    return result;
}
