/* Loaded with LD_PRELOAD: the monotonic clock of a process has not counted the nanoseconds in the file COFFER_TEST_SUSPENDED_FILE, as after a
   suspension of its machine. Nothing else changes; /proc/uptime goes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define SECOND_NS 1000000000LL

static volatile long long *suspended_ns;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_file(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *name = getenv("COFFER_TEST_SUSPENDED_FILE");
  int file = name == NULL ? -1 : open(name, O_RDONLY);
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) suspended_ns = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (real_gettime == NULL) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_gettime(clock, time);
  int is_monotonic = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE;
  if (result != 0 || suspended_ns == NULL || !is_monotonic) return result;
  long long ns = time->tv_sec * SECOND_NS + time->tv_nsec - *suspended_ns;
  time->tv_sec = ns / SECOND_NS;
  time->tv_nsec = ns % SECOND_NS;
  return result;
}
