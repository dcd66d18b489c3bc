/* Preloaded into programs that take the time for a seed, so that two versions get the same random numbers. */
long time(long *result) {
  if (result) *result = 7;
  return 7;
}
