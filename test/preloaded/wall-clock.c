/* Loaded with LD_PRELOAD: the wall clock of a process is off by the nanoseconds in the file COFFER_TEST_WALL_CLOCK_FILE. Elapsed time is right.
   Unlike libfaketime it shares no semaphore between processes, which one that is killed would never release. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#define SECOND_NS 1000000000LL

static volatile long long *offset_ns;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_file(void) {
  real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  const char *name = getenv("COFFER_TEST_WALL_CLOCK_FILE");
  int file = name == NULL ? -1 : open(name, O_RDONLY);
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) offset_ns = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (real_gettime == NULL) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real_gettime(clock, time);
  if (result != 0 || offset_ns == NULL || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  long long ns = time->tv_sec * SECOND_NS + time->tv_nsec + *offset_ns;
  time->tv_sec = ns / SECOND_NS;
  time->tv_nsec = ns % SECOND_NS;
  return result;
}

int gettimeofday(struct timeval *time, void *zone) {
  (void)zone;
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  if (time != NULL) {
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
  }
  return result;
}

time_t time(time_t *where) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) *where = now.tv_sec;
  return now.tv_sec;
}
