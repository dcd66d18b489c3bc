#define SCALE 2.0f
int launch(const float *x, float *y, int n);
