/* In place of bpnn_free: prints the weights that Rodinia's backprop has trained, and otherwise would throw away. */
#include <stdio.h>

#include "backprop.h"

void print_network(BPNN *net) {
  for (int i = 0; i <= net->input_n; i += 97)
    for (int j = 0; j <= net->hidden_n; ++j) printf("weight %f\n", net->input_weights[i][j]);
  for (int j = 0; j <= net->hidden_n; ++j)
    for (int k = 0; k <= net->output_n; ++k) printf("weight %f\n", net->hidden_weights[j][k]);
}
