/* Rodinia's OpenMP version of myocyte, with its results printed as the CUDA version prints them. That one has the length of a cycle
   behind the other parameters, and two more, which are constants here. */
#define main unused_main
#include "main.c"
#undef main

int main(int argc, char *argv[]) {
  int xmax = atoi(argv[1]);
  fp **y = malloc((xmax + 1) * sizeof *y), *x = calloc(xmax + 1, sizeof *x), given[18], params[16];
  for (int j = 0; j <= xmax; ++j) y[j] = calloc(91, sizeof **y);
  read("../../data/myocyte/y.txt", y[0], 91, 1, 0);
  read("../../data/myocyte/params.txt", given, 18, 1, 0);
  params[0] = given[15];
  memcpy(params + 1, given, 15 * sizeof *given);
  solver(y, x, xmax, params, 0);
  for (int j = 0; j <= xmax; ++j)
    for (int k = 0; k < 91; ++k) printf("y[0][%d][%d]=%10.7e\n", j, k, y[j][k]);
  return 0;
}
