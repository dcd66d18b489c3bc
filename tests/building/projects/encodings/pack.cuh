/* é */
#define cudaUnused 1
