/* listen INTERFACE - writes every frame that passes there to its output: four
 * bytes with the length, lowest first, and the frame. Says "listening" on the
 * other output once it hears, and goes on until a signal ends it. */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>

static unsigned char frame[1 << 16];

int main(int argc, char **argv)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int bytes = 64 << 20;
    int heard = socket(AF_PACKET, SOCK_RAW, 0);

    if (argc != 2 || heard < 0) {
        perror("listen INTERFACE");
        return 1;
    }
    at.sll_ifindex = (int)if_nametoindex(argv[1]);
    /* More than the system allows is cut by it. */
    if (setsockopt(heard, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(heard, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (bind(heard, (struct sockaddr *)&at, sizeof at) != 0) {
        perror("bind");
        return 1;
    }
    fprintf(stderr, "listening\n");
    for (;;) {
        ssize_t got = recv(heard, frame, sizeof frame, 0);
        unsigned char length[4];

        if (got < 0)
            continue;
        for (int i = 0; i < 4; i++)
            length[i] = (unsigned char)((size_t)got >> (8 * i));
        if (fwrite(length, 1, 4, stdout) != 4 || fwrite(frame, 1, (size_t)got, stdout) != (size_t)got)
            return 1;
        fflush(stdout);
    }
}
