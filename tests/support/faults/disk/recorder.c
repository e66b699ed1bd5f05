/* Preloaded into a process, this library writes down everything that the process does to files below one folder, in
 * the order in which it does it: what a disk would be told. See trace.py for the format and simulate.py for its use.
 *
 * RECORD_BELOW names the folder (an absolute path), RECORD_INTO the file to write to. What goes through a memory map
 * is not seen; the only file of a store that is written so is LMDB's lock file, which means nothing after a crash.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FILES 4096
#define REAL(name) ((__typeof__(&name))real(#name))

enum { CREATE = 1, WRITE, WRITE_THROUGH, LENGTH, SYNC, SYNC_FOLDER, RENAME, LINK, UNLINK, MKDIR, RMDIR };

struct record {
    uint32_t kind, path_bytes, other_bytes, data_bytes;
    uint64_t file, offset;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static char *paths[MAX_FILES]; /* of the open files that are below the folder, by number */
static char through[MAX_FILES];
static int into = -1;

static void *real(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static void put(const void *bytes, size_t count) {
    const char *at = bytes;
    while (count) {
        ssize_t done = REAL(write)(into, at, count);
        if (done < 0) {
            if (errno == EINTR) continue;
            abort(); /* A trace that is not whole must not be taken for one. */
        }
        at += done;
        count -= (size_t)done;
    }
}

static void record(uint32_t kind, const char *path, const char *other, uint64_t file, uint64_t offset,
                   const struct iovec *data, int parts, size_t data_bytes) {
    struct record head = {kind, (uint32_t)strlen(path), (uint32_t)strlen(other), (uint32_t)data_bytes, file, offset};
    if (into < 0) into = REAL(open)(getenv("RECORD_INTO"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    put(&head, sizeof head);
    put(path, head.path_bytes);
    put(other, head.other_bytes);
    for (int part = 0; part < parts && data_bytes; part++) {
        size_t count = data[part].iov_len < data_bytes ? data[part].iov_len : data_bytes;
        put(data[part].iov_base, count);
        data_bytes -= count;
    }
}

/* The absolute path of a name, if that is below the folder. Links below the folder are not followed. */
static int below(int at, const char *name, char *path) {
    const char *folder = getenv("RECORD_BELOW");
    char base[PATH_MAX] = "", link[64];
    if (!folder || !name) return 0;
    if (name[0] != '/') {
        if (at == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) return 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            ssize_t count = readlink(link, base, sizeof base - 1);
            if (count < 0) return 0;
            base[count] = 0;
        }
        strncat(base, "/", sizeof base - strlen(base) - 1);
    }
    strncat(base, name, sizeof base - strlen(base) - 1);
    size_t count = strlen(folder);
    if (strncmp(base, folder, count) || (base[count] != '/' && base[count])) return 0;
    strcpy(path, base);
    return 1;
}

static uint64_t number_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : (uint64_t)found.st_ino;
}

static const char *recorded(int fd) {
    return fd >= 0 && fd < MAX_FILES ? paths[fd] : NULL;
}

static int opened(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat before;
    pthread_mutex_lock(&order);
    int inside = below(at, name, path);
    int existed = inside && !fstatat(at, name, &before, 0);
    int fd = REAL(openat)(at, name, flags, mode);
    int error = errno;
    if (inside && fd >= 0 && fd < MAX_FILES) {
        free(paths[fd]);
        paths[fd] = strdup(path);
        through[fd] = (flags & (O_DSYNC | O_SYNC)) != 0;
        if (!existed && (flags & O_CREAT)) record(CREATE, path, "", number_of(fd), 0, NULL, 0, 0);
        else if (flags & O_TRUNC) record(LENGTH, path, "", number_of(fd), 0, NULL, 0, 0);
    }
    pthread_mutex_unlock(&order);
    errno = error;
    return fd;
}

#define OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                    \
        va_list rest;                                               \
        va_start(rest, flags);                                      \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;   \
        va_end(rest);                                               \
        return opened(AT_FDCWD, path, flags, mode);                 \
    }
#define OPENAT(name)                                                \
    int name(int at, const char *path, int flags, ...) {            \
        va_list rest;                                               \
        va_start(rest, flags);                                      \
        mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;   \
        va_end(rest);                                               \
        return opened(at, path, flags, mode);                       \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    pthread_mutex_lock(&order);
    if (recorded(fd)) {
        free(paths[fd]);
        paths[fd] = NULL;
    }
    int done = REAL(close)(fd);
    pthread_mutex_unlock(&order);
    return done;
}

static ssize_t wrote(int fd, ssize_t done, off_t offset, const struct iovec *data, int parts) {
    int error = errno;
    if (done > 0 && recorded(fd))
        record(through[fd] ? WRITE_THROUGH : WRITE, paths[fd], "", number_of(fd), (uint64_t)offset, data, parts,
               (size_t)done);
    errno = error;
    return done;
}

/* Where a write without an offset goes. */
static off_t place(int fd) {
    struct stat found;
    if ((fcntl(fd, F_GETFL) & O_APPEND) && !fstat(fd, &found)) return found.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

#define WRITING(declaration, call, from, vector, parts)                  \
    ssize_t declaration {                                                \
        if (!recorded(fd)) return call;                                  \
        pthread_mutex_lock(&order);                                      \
        off_t offset = from;                                             \
        ssize_t done = wrote(fd, call, offset, vector, parts);           \
        pthread_mutex_unlock(&order);                                    \
        return done;                                                     \
    }
#define ONE (&(struct iovec){(void *)data, count})
WRITING(write(int fd, const void *data, size_t count), REAL(write)(fd, data, count), place(fd), ONE, 1)
WRITING(writev(int fd, const struct iovec *data, int parts), REAL(writev)(fd, data, parts), place(fd), data, parts)
WRITING(pwrite(int fd, const void *data, size_t count, off_t at), REAL(pwrite)(fd, data, count, at), at, ONE, 1)
WRITING(pwrite64(int fd, const void *data, size_t count, off64_t at), REAL(pwrite64)(fd, data, count, at), at, ONE, 1)
WRITING(pwritev(int fd, const struct iovec *data, int parts, off_t at), REAL(pwritev)(fd, data, parts, at), at, data,
        parts)
WRITING(pwritev64(int fd, const struct iovec *data, int parts, off64_t at), REAL(pwritev64)(fd, data, parts, at), at,
        data, parts)

#define CHANGING(declaration, call, fd, kind, offset)                                                          \
    int declaration {                                                                                         \
        pthread_mutex_lock(&order);                                                                           \
        int done = call, error = errno;                                                                       \
        if (!done && recorded(fd)) record(kind, paths[fd], "", number_of(fd), (uint64_t)(offset), NULL, 0, 0); \
        pthread_mutex_unlock(&order);                                                                         \
        errno = error;                                                                                        \
        return done;                                                                                          \
    }
static int is_folder(int fd) {
    struct stat found;
    return !fstat(fd, &found) && S_ISDIR(found.st_mode);
}
CHANGING(ftruncate(int fd, off_t count), REAL(ftruncate)(fd, count), fd, LENGTH, count)
CHANGING(ftruncate64(int fd, off64_t count), REAL(ftruncate64)(fd, count), fd, LENGTH, count)
CHANGING(fsync(int fd), REAL(fsync)(fd), fd, is_folder(fd) ? SYNC_FOLDER : SYNC, 0)
CHANGING(fdatasync(int fd), REAL(fdatasync)(fd), fd, is_folder(fd) ? SYNC_FOLDER : SYNC, 0)

/* A change of names: the paths are found before it, as it may be of a folder on the way. */
static int renamed(uint32_t kind, int from, const char *old, int to, const char *fresh, int failed) {
    int error = errno;
    char path[PATH_MAX], other[PATH_MAX] = "";
    if (!failed && below(from, old, path) && (!fresh || below(to, fresh, other)))
        record(kind, path, other, 0, 0, NULL, 0, 0);
    errno = error;
    return failed;
}

#define NAMING(declaration, kind, from, old, to, fresh, call)            \
    int declaration {                                                    \
        pthread_mutex_lock(&order);                                      \
        int done = renamed(kind, from, old, to, fresh, call);            \
        pthread_mutex_unlock(&order);                                    \
        return done;                                                     \
    }
#define HERE AT_FDCWD
NAMING(rename(const char *a, const char *b), RENAME, HERE, a, HERE, b, REAL(rename)(a, b))
NAMING(renameat(int x, const char *a, int y, const char *b), RENAME, x, a, y, b, REAL(renameat)(x, a, y, b))
NAMING(link(const char *a, const char *b), LINK, HERE, a, HERE, b, REAL(link)(a, b))
NAMING(linkat(int x, const char *a, int y, const char *b, int f), LINK, x, a, y, b, REAL(linkat)(x, a, y, b, f))
NAMING(unlink(const char *a), UNLINK, HERE, a, HERE, NULL, REAL(unlink)(a))
NAMING(unlinkat(int x, const char *a, int f), f & AT_REMOVEDIR ? RMDIR : UNLINK, x, a, x, NULL, REAL(unlinkat)(x, a, f))
NAMING(mkdir(const char *a, mode_t m), MKDIR, HERE, a, HERE, NULL, REAL(mkdir)(a, m))
NAMING(mkdirat(int x, const char *a, mode_t m), MKDIR, x, a, x, NULL, REAL(mkdirat)(x, a, m))
NAMING(rmdir(const char *a), RMDIR, HERE, a, HERE, NULL, REAL(rmdir)(a))
