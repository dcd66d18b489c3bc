#pragma once
int launch(const float* x, float* y, int n);
int devices();
