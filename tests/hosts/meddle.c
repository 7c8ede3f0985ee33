/* meddle FROM TO - every UDP datagram and raw frame that comes in at the first
 * interface leaves by the second one too, with one bit of what it carries
 * changed: somebody at the switch. Says "meddling" once it hears, and goes on
 * until a signal ends it. */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ETHER = 14, IP = 20, UDP = 8, OURS = 10, LONGEST = 1514, POMBO = 0x88b5 };

static unsigned char frame[1 << 16];

/* Where what it carries begins; 0: it is of no interest. */
static int carried(int got)
{
    int type = frame[12] << 8 | frame[13];

    if (got > LONGEST)
        return 0;
    if (type == POMBO && got > ETHER + OURS)
        return ETHER + OURS;
    if (type != ETHERTYPE_IP || got <= ETHER + IP + UDP || frame[ETHER] != 0x45 ||
        frame[ETHER + 9] != IPPROTO_UDP)
        return 0;
    /* No checksum, which nobody looks at then. */
    memset(frame + ETHER + IP + 6, 0, 2);
    return ETHER + IP + UDP;
}

int main(int argc, char **argv)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    struct sockaddr_ll from;
    int heard = socket(AF_PACKET, SOCK_RAW, 0);

    if (argc != 3 || heard < 0) {
        perror("meddle FROM TO");
        return 1;
    }
    at.sll_ifindex = (int)if_nametoindex(argv[1]);
    if (bind(heard, (struct sockaddr *)&at, sizeof at) != 0) {
        perror("bind");
        return 1;
    }
    at.sll_ifindex = (int)if_nametoindex(argv[2]);
    srand(1);
    fprintf(stderr, "meddling\n");
    for (;;) {
        socklen_t size = sizeof from;
        int got = (int)recvfrom(heard, frame, sizeof frame, 0, (struct sockaddr *)&from, &size);
        int begin = got > ETHER && from.sll_pkttype != PACKET_OUTGOING ? carried(got) : 0;

        if (begin == 0)
            continue;
        /* Mostly in the headers, which stand first. */
        int bits = 8 * (got - begin);
        int bit = rand() % (rand() % 4 && bits > 512 ? 512 : bits);
        frame[begin + bit / 8] ^= (unsigned char)(1 << bit % 8);
        sendto(heard, frame, (size_t)got, 0, (struct sockaddr *)&at, sizeof at);
    }
}
