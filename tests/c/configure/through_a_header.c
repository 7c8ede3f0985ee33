/* source: basic rendezvous any-source; object: basic rendezvous any-source any-tag */
#include "through_a_header.h"

int main(void)
{
    char buffer[64] = {0};
    MPI_Init(NULL, NULL);
    send_items(buffer, 1, 0);
    receive_items(buffer, 1);
    MPI_Finalize();
    return 0;
}
